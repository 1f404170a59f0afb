"""Sizes that a configuration names in several places and that must fit each other: nodes, processes, slots, batches, groups."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from math import prod

from assistant.derive._launches import Launches
from assistant.derive._setup import Shape, before_the_run, env_text, note, number, only, shape
from assistant.facts import CaseFile, Fact

_LAUNCHERS = ("torchrun", "torch.distributed.launch", "accelerate", "colossalai")
KEY = "setup.sizes_contradict"


def derive(case: CaseFile) -> Iterable[Fact]:
    if not before_the_run(case):
        return
    size = shape(case)
    yield from _launcher_nodes(case)
    yield from _each_task_launches(case)
    yield from _pods(case)
    yield from _devices(case)
    yield from _slots(case)
    yield from _accelerate(case)
    yield from _lightning(case)
    yield from _batch(case, size)
    yield from _groups(case, size)
    yield from _ranks(case)
    yield from _slurm_conf(case)


def _launcher_nodes(case: CaseFile) -> Iterator[Fact]:
    """Nodes of the job script against those of the launcher that srun starts on each."""
    asked = only(case.about("launch.sbatch_nodes"))
    uses = case.best("launch.uses_srun")
    nodes = number(asked)
    if asked is None or nodes is None or nodes < 2:
        return
    if uses is not None and uses.value is False:
        alone = case.best("launch.multi_node_without_srun")
        if alone is not None:
            yield note("setup.one_node_starts", f"{nodes} nodes are asked for, the launcher is started on one", alone)
        return
    launches = Launches(case)
    commands, given = launches.by_place("launch.command"), launches.by_place("launch.nnodes")
    alone_at = launches.by_place("launch.standalone")
    for place, command in commands.items():
        text = str(command.value)
        if text.split(" ", 1)[0] not in _LAUNCHERS or place[0] != asked.origin.file or place in alone_at:
            continue
        fact = given.get(place)
        if re.search(r"srun\b[^|;&]{0,300}?(?:-N ?1|--nodes[= ]1|--ntasks[= ]1|-n ?1)\b", command.origin.quote or ""):
            continue
        if fact is None and (
            text.startswith("accelerate") or case.about("env.PET_NNODES") or "$" in text.split(".py")[0]
        ):
            continue
        value = 1 if fact is None else number(fact)
        if value is not None and value != nodes:
            yield note(KEY, f"{nodes} nodes in the job script, {value} for the launcher", fact or command)
            return


def _each_task_launches(case: CaseFile) -> Iterator[Fact]:
    both, tasks = case.best("launch.tasks_and_launcher"), only(case.about("launch.ntasks_per_node"))
    each = only(case.about("launch.nproc"))
    if both is not None and both.value is True and tasks is not None and (number(each) or 2) > 1:
        yield note("setup.double_start", f"{tasks.value} tasks a node, and each starts a launcher of its own", both)


def _pods(case: CaseFile) -> Iterator[Fact]:
    """Pods of a manifest against the nodes that its command waits for."""
    pods = only(case.about("launch.pods"))
    if pods is None:
        return
    mine = [f for f in case.about("launch.nnodes") if f.origin.file == pods.origin.file]
    wanted = only(mine)
    if wanted is not None and wanted.value != pods.value:
        yield note(KEY, f"{pods.value} pods run the program, {wanted.value} nodes for the launcher", wanted)


def _devices(case: CaseFile) -> Iterator[Fact]:
    """More processes on a node than GPUs are asked for."""
    each = only(case.about("launch.nproc"))
    for key in ("launch.sbatch_gpus", "launch.gpu_request"):
        found = [f.value for f in case.about(key) if isinstance(f.value, int)]
        there = next((f for f in case.about(key) if found and f.value == max(found)), None)
        if each is not None and there is not None and isinstance(each.value, int) and each.value > max(found):
            text = f"{each.value} processes a node, {there.value} GPUs asked for"
            yield note("setup.more_processes_than_gpus", text, there)
            yield note("setup.more_processes_than_gpus", text, each)
            return
    visible = {env_text(f) for f in case.about("env.CUDA_VISIBLE_DEVICES")}
    few = re.fullmatch(r"\d+(?:,\d+)*", next(iter(visible))) if len(visible) == 1 else None
    if each is not None and few is not None and int(each.value) > len(few[0].split(",")):
        text = f"{each.value} processes a node, CUDA_VISIBLE_DEVICES={few[0]}"
        yield note("setup.more_processes_than_gpus", text, case.about("env.CUDA_VISIBLE_DEVICES")[0])
        return
    tasks, gpus = only(case.about("launch.ntasks_per_node")), only(case.about("launch.sbatch_gpus"))
    alone = not any(f.value in (*_LAUNCHERS, "deepspeed", "ray", "mpirun") for f in case.about("launch.kind"))
    if tasks is not None and gpus is not None and alone and int(tasks.value) > int(gpus.value):
        text = f"{tasks.value} tasks a node, {gpus.value} GPUs asked for"
        yield note("setup.more_processes_than_gpus", text, tasks)


def _slots(case: CaseFile) -> Iterator[Fact]:
    """Processes of mpirun, horovodrun and deepspeed against the slots of their hosts."""
    launches = Launches(case)
    hosts = launches.by_place("launch.hosts")
    kinds = launches.by_place("launch.kind")
    pods, each = only(case.about("launch.pods")), only(case.about("launch.mpi_slots"))
    slots_file = only(case.about("hostfile.slots"))
    for place, wanted in launches.by_place("launch.num_processes").items():
        kind = kinds.get(place)
        if kind is None or kind.value not in ("mpirun", "horovodrun") or not isinstance(wanted.value, int):
            continue
        named = hosts.get(place)
        slots = _named_slots(str(named.value)) if named is not None else None
        if slots is None and pods is not None and each is not None:
            slots = int(pods.value) * int(each.value)
        elif slots is None and named is not None and slots_file is not None:
            slots = int(slots_file.value)
        if slots is not None and wanted.value > slots:
            yield note(KEY, f"{wanted.value} processes, {slots} slots on the hosts", wanted)
    listed, most = only(case.about("hostfile.hosts")), only(case.about("hostfile.slots_max"))
    for key, there, what in (("launch.nnodes", listed, "nodes"), ("launch.nproc", most, "processes a node")):
        for place, fact in launches.by_place(key).items():
            kind = kinds.get(place)
            if kind is None or kind.value != "deepspeed" or there is None or not isinstance(fact.value, int):
                continue
            if fact.value > int(there.value):
                yield note(KEY, f"{fact.value} {what} are asked for, the host file has {there.value}", fact)


def _named_slots(hosts: str) -> int | None:
    """Slots of a list a:4,b:4; None where a host has none."""
    parts = [h.rpartition(":")[2] for h in hosts.split(",") if h]
    return sum(map(int, parts)) if parts and all(p.isdigit() for p in parts) and ":" in hosts else None


def _accelerate(case: CaseFile) -> Iterator[Fact]:
    launches = Launches(case)
    kinds = launches.by_place("launch.kind")
    machines = launches.by_place("launch.nnodes")
    for place, total in launches.by_place("launch.num_processes").items():
        kind = kinds.get(place)
        if (kind is not None and kind.value != "accelerate") or place not in machines:
            continue
        nodes = number(machines[place])
        if nodes and isinstance(total.value, int) and total.value % nodes and "num" in (total.origin.quote or ""):
            yield note(KEY, f"{total.value} processes cannot be spread evenly over {nodes} machines", total)


def _lightning(case: CaseFile) -> Iterator[Fact]:
    """Devices and nodes of a Trainer against the tasks that Slurm starts."""
    for own, slurm, what in (
        ("config.devices", "launch.ntasks_per_node", "processes a node"),
        ("config.num_nodes", "launch.sbatch_nodes", "nodes"),
    ):
        mine, theirs = only(case.about(own)), only(case.about(slurm))
        if mine is None or theirs is None or mine.value == theirs.value:
            continue
        if any(f.value in (*_LAUNCHERS, "deepspeed", "ray") for f in case.about("launch.kind")):
            continue
        yield note(KEY, f"{mine.value} {what} for the Trainer, {theirs.value} in the job script", mine)


def _batch(case: CaseFile, size: Shape) -> Iterator[Fact]:
    """DeepSpeed's rule: batch = micro-batch x accumulation x replicas; Megatron's: batch divides by micro-batch x replicas."""
    model = prod(_group(case, key) for key in ("config.tp", "config.pp", "config.cp"))
    replicas = size.world // model if size.world and size.world % model == 0 else None
    for total in case.about("config.global_batch"):
        quote = total.origin.quote or ""
        mine = {
            k: only(f for f in case.about(k) if f.origin.file == total.origin.file)
            for k in ("batch_per_gpu", "accumulation")
        }
        micro, steps = number(mine["batch_per_gpu"]), number(mine["accumulation"])
        batch = number(total)
        if not batch or not micro:
            continue
        if "train_batch_size" in quote and steps and "micro" in ((mine["batch_per_gpu"] or total).origin.quote or ""):
            product = micro * steps
            least = (number(size.each) or 1) if replicas is None and model == 1 else 1
            if batch % (product * least) or (replicas and batch != product * replicas):
                over = f" x {replicas} replicas" if replicas else f" x {least} processes of a node" if least > 1 else ""
                yield note(KEY, f"a batch of {batch} is not {micro} x {steps} steps{over}", total)
        elif re.search(r"global[-_]batch[-_]size", quote) and replicas and batch % (micro * replicas):
            yield note(KEY, f"a batch of {batch} does not divide by {micro} x {replicas} replicas", total)


def _group(case: CaseFile, key: str) -> int:
    return number(only(case.about(key))) or 1


def _groups(case: CaseFile, size: Shape) -> Iterator[Fact]:
    """Model-parallel groups against the ranks there are, and tensor parallelism against a node."""
    parts = {k: f for k in ("config.tp", "config.pp", "config.cp") if (f := only(case.about(k))) is not None}
    world = size.world
    if world and parts:
        shown = max(parts.values(), key=lambda f: int(f.value))
        model = prod(int(f.value) for f in parts.values())
        if world % model:
            for fact in parts.values():
                yield note(
                    KEY, f"{world} ranks do not divide by {model} of tensor, pipeline and context parallelism", fact
                )
        shard = only(case.about("config.dp_shard"))
        if shard is not None and int(shard.value) > 0 and not world % model:
            data = int(shard.value) * max(_group(case, "config.dp_replicate"), 1)
            if data * model != world:
                yield note(KEY, f"{data} x {model} of data and model parallelism are not {world} ranks", shard or shown)
    tensor, each = parts.get("config.tp"), number(size.each)
    if tensor is not None and each and (number(size.nodes) or 0) > 1 and int(tensor.value) > each:
        yield note(
            "setup.tensor_group_over_nodes", f"tensor parallelism over {tensor.value} ranks, {each} on a node", tensor
        )


def _ranks(case: CaseFile) -> Iterator[Fact]:
    """RANK and WORLD_SIZE of one environment."""
    for name, total in (("RANK", "WORLD_SIZE"), ("LOCAL_RANK", "LOCAL_WORLD_SIZE"), ("NODE_RANK", "NNODES")):
        for rank in case.about(f"env.{name}"):
            sizes = [f for f in case.about(f"env.{total}") if f.origin.file == rank.origin.file]
            given = len(sizes) == 1 and str(rank.value).isdigit() and str(sizes[0].value).isdigit()
            if given and int(rank.value) >= int(sizes[0].value):
                yield note(KEY, f"{name}={rank.value} with {total}={sizes[0].value}: ranks count from 0", rank)


def _slurm_conf(case: CaseFile) -> Iterator[Fact]:
    asked, there = only(case.about("launch.sbatch_gpus")), only(case.about("slurm.conf_gpus"))
    files = only(case.about("slurm.conf_gpu_files"))
    if asked is not None and there is not None and int(asked.value) > int(there.value):
        yield note(KEY, f"{asked.value} GPUs a node are asked for, slurm.conf gives a node {there.value}", asked)
    if files is not None and there is not None and files.value != there.value:
        yield note(KEY, f"slurm.conf gives a node {there.value} GPUs, gres.conf lists {files.value}", files)
