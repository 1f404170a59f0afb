"""Launch commands, wherever they stand in a text: in a script, behind a prompt, echoed in a log.

torchrun --nnodes=2 --nproc_per_node=8 --node_rank=0 --master_addr=10.0.0.1 --master_port=29500 train.py
accelerate launch --num_machines 2 --num_processes 16 --machine_rank 0 --main_process_ip 10.0.0.1 train.py
$ mpirun -np 16 -H a:8,b:8 -x NCCL_DEBUG=INFO python train.py
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from assistant.facts import Fact, Value
from assistant.intake.document import Document
from assistant.parsers._container_options import docker
from assistant.parsers._launch_lines import SETTINGS, assigned, line_of
from assistant.parsers._shell import Logical, Options, integer, logical_lines, options, resolve, variables, words

NAME = "launch command"
TRIGGERS = (
    "torchrun ",
    "torchrun\n",
    '"torchrun"',
    '"accelerate", "launch"',
    "- deepspeed\n",
    "- mpirun\n",
    "- mpiexec\n",
    "- torchrun\n",
    "torch.distributed.launch",
    "torch.distributed.run ",
    "accelerate launch",
    "accelerate-launch",
    "deepspeed ",
    "srun ",
    "mpirun ",
    "mpiexec ",
    "horovodrun ",
    "colossalai run",
    "docker run",
    "podman run",
    "ray start",
    "ray job submit",
    "FORCE_TORCHRUN",
)
VERSIONS = (
    "torchrun, torch.distributed.launch, srun, mpirun, deepspeed, accelerate, horovodrun, ray, pdsh and their options"
)

_KINDS = {
    "torchrun": "torchrun",
    "torch.distributed.run": "torchrun",
    "torch.distributed.launch": "torch.distributed.launch",
    "accelerate launch": "accelerate",
    "accelerate-launch": "accelerate",
    "deepspeed": "deepspeed",
    "srun": "srun",
    "mpirun": "mpirun",
    "mpiexec": "mpirun",
    "horovodrun": "horovodrun",
    "colossalai run": "colossalai",
    "docker run": "docker",
    "podman run": "docker",
    "nvidia-docker run": "docker",
    "ray start": "ray",
    "ray job submit": "ray",
    "FORCE_TORCHRUN=1": "torchrun",
}


#: Of these one stands in every command.
_WORDS = (
    "torchrun",
    "torch.distributed",
    "accelerate",
    "deepspeed",
    "srun",
    "mpirun",
    "mpiexec",
    "horovodrun",
    "colossalai",
    "docker",
    "podman",
    "ray ",
    "TORCHRUN",
)


@cache
def _program() -> re.Pattern[str]:
    return re.compile(
        r"""(?:^|[\s"'`(=;&|/]|\$ )(?P<program>torchrun|torch\.distributed\.(?:launch|run)|accelerate[ -]launch|deepspeed|srun|mpirun|mpiexec|"""
        r"""horovodrun|colossalai run|(?:nvidia-)?docker run|podman run|ray start|ray job submit|FORCE_TORCHRUN=1)(?=\s+["']?[-\w./$<{])(?P<rest>.*)"""
    )


@cache
def _arguments() -> re.Pattern[str]:
    """What follows a launcher's name in a command; in prose other words follow."""
    return re.compile(
        r"""\s*["']?(?:[-/$.{<]\S|\S+\.(?:py|sh)\b|(?:python[\d.]*|bash|sh|env|uv|singularity|apptainer|enroot|torchrun|accelerate|deepspeed|nsys|numactl|"""
        r"""hostname|nvidia-smi|stdbuf|shifter|podman-hpc|\w+_perf|llamafactory-cli)\s)|[^.,;]{0,120}\s-{1,2}[A-Za-z][\w-]*[= ]"""
    )


class Command(NamedTuple):
    """A launch command: index of its first line, launcher, rest of the joined line, index of its last line."""

    first: int
    kind: str
    rest: str
    last: int


def commands(document: Document) -> Iterator[Command]:
    """Every launch command; one line can hold several (srun torchrun)."""
    for logical in (*logical_lines(document, _WORDS), *_listed(document)):
        text, start = logical.text, 0
        if len(text) > 20_000:
            continue
        while True:
            found = _program().search(text, start)
            if not found:
                break
            rest = found["rest"]
            if found["program"] == "FORCE_TORCHRUN=1":
                rest = " ".join(f"--{SETTINGS[n]}={v}" for n, v in assigned().findall(text)) + rest
            if _arguments().match(rest):
                yield Command(logical.index, _KINDS[found["program"]], rest, logical.last)
            start = found.start("rest")


def _listed(document: Document) -> Iterator[Logical]:
    """Commands written as lists: ["torchrun", "--nnodes=2", ...] on one line, or one `- word` a line below command: or args:."""
    if not any(mark in document.text for mark in ('", "', "command:", "args:", "entrypoint:")):
        return
    open_at, last, parts = -1, -1, list[str]()
    for index, line in enumerate(document.messages):
        if open_at < 0 and '"' not in line and not line.rstrip().endswith(":"):
            continue
        if '", "' in line and re.search(r'\[\s*"(?:torchrun|accelerate|deepspeed|python3?|mpirun|ray)"', line):
            yield Logical(index, re.sub(r'"\s*,\s*"', " ", line.split("[", 1)[1].rsplit("]", 1)[0]).strip(' "'))
            continue
        word = re.match(r"""\s*-\s+(?:"([^"]*)"|'([^']*)'|(\S.*?))\s*$""", line)
        if open_at >= 0 and word:
            parts.append(next(g for g in word.groups() if g is not None))
            last = index
            continue
        if len(parts) > 1:
            yield Logical(open_at, " ".join(parts), last)
        header = re.match(r"\s*(?:- )?(?:command|args|entrypoint):\s*$", line)
        # args: goes on with the command above it
        parts = parts if header and open_at >= 0 and parts else []
        open_at = index if header else -1
    if len(parts) > 1:
        yield Logical(open_at, " ".join(parts), last)


def parse(document: Document) -> Iterable[Fact]:
    if not any(word in document.text for word in _WORDS):
        return []
    known = {**_allocation(document), **variables(document)}
    facts: list[Fact] = []
    times: dict[tuple[str, str], int] = {}
    origin_kind = "config" if document.origin_kind == "log" else document.origin_kind
    for command in commands(document):
        kind, rest = command.kind, command.rest
        times[kind, rest] = times.get((kind, rest), 0) + 1
        if times[kind, rest] > 1 or len(times) > 64:
            continue

        def say(key: str, value: Value | None, command: Command = command) -> None:
            if value is not None and value != "":
                facts.append(
                    Fact(
                        key,
                        value,
                        document.origin(line_of(document.messages, command.first, command.last, key), origin_kind),
                    )
                )

        given = options(words(rest))
        say("launch.kind", kind)
        say("launcher", kind)
        say("launch.command", f"{kind}{rest}"[:300].strip())
        for key, value in _READERS.get(kind, _torch)(given, known):
            say(key, value)
        script = next((w for w in given.rest if w.endswith(".py")), None) if kind not in ("docker", "ray") else None
        say("launch.script", script)
    most = max(times.values(), default=0)
    if most > 1:
        again = next(c for c in commands(document) if times.get((c.kind, c.rest)) == most)
        facts.append(Fact("launch.command_times", most, document.origin(again.first, origin_kind)))
    return facts


def _allocation(document: Document) -> dict[str, str]:
    """Variables that Slurm sets from the job script's own directives."""
    known: dict[str, str] = {}
    for line in document.messages:
        found = (
            re.match(r"\s*#SBATCH\s+(--nodes|--ntasks-per-node|--ntasks|-N|-n)[= ]\s*(\d+)\b", line)
            if "#SBATCH" in line
            else None
        )
        if found:
            names = {
                "--nodes": ("SLURM_NNODES", "SLURM_JOB_NUM_NODES"),
                "--ntasks-per-node": ("SLURM_NTASKS_PER_NODE",),
            }
            names["-N"], names["-n"], names["--ntasks"] = names["--nodes"], ("SLURM_NTASKS",), ("SLURM_NTASKS",)
            known.update(dict.fromkeys(names[found[1]], found[2]))
    return known


Pairs = Iterator[tuple[str, Value | None]]


def _value(given: Options, known: dict[str, str], *names: str) -> str | None:
    value = given.first(*names)
    return None if value is None else resolve(value, known)


def _count(given: Options, known: dict[str, str], *names: str) -> int | None:
    """A number, or the larger one of a range (1:4)."""
    value = _value(given, known, *names)
    return None if value is None else integer(value.rsplit(":", 1)[-1])


def _torch(given: Options, known: dict[str, str]) -> Pairs:
    yield "launch.nnodes", _count(given, known, "nnodes", "num_nodes", "nnode", "num_machines")
    yield "launch.nproc", _count(given, known, "nproc_per_node", "num_gpus", "num_proc_per_node", "nproc")
    yield "launch.node_rank", _value(given, known, "node_rank", "machine_rank")
    yield "launch.rdzv_endpoint", _value(given, known, "rdzv_endpoint")
    yield "launch.rdzv_backend", _value(given, known, "rdzv_backend")
    yield "launch.rdzv_id", _value(given, known, "rdzv_id")
    yield "launch.master_addr", _value(given, known, "master_addr", "main_process_ip")
    yield "launch.master_port", _value(given, known, "master_port", "main_process_port")
    if "standalone" in given:
        yield "launch.standalone", True


def _accelerate(given: Options, known: dict[str, str]) -> Pairs:
    yield from _torch(given, known)
    yield "launch.num_processes", _count(given, known, "num_processes")


def _deepspeed(given: Options, known: dict[str, str]) -> Pairs:
    yield from _torch(given, known)
    hosts = given.first("hostfile", "H", "include", "i")
    yield "launch.hosts", hosts
    yield "launch.uses_srun", True if hosts and "no_ssh" not in given else None


def _mpi(given: Options, known: dict[str, str]) -> Pairs:
    yield "launch.num_processes", _count(given, known, "np", "n", "num_proc")
    hosts = _value(given, known, "H", "host", "hosts")
    yield "launch.hosts", hosts
    if hosts and "$" not in hosts and "/" not in hosts:
        names = {h.partition(":")[0] for h in hosts.split(",") if h}
        yield "launch.nnodes", len(names)
    yield "launch.nproc", _count(given, known, "npernode", "ppn", "N")
    if "x" in given or "genv" in given or "env" in given:
        yield "launch.env_exported", True


def _srun(given: Options, known: dict[str, str]) -> Pairs:
    yield "launch.nnodes", _count(given, known, "nodes", "N")
    yield "launch.ntasks_per_node", _count(given, known, "ntasks_per_node")
    yield "launch.num_processes", _count(given, known, "ntasks", "n")
    export = given.first("export")
    if export is not None:
        yield "launch.env_exported", export.split(",")[0].upper() == "ALL"


def _colossalai(given: Options, known: dict[str, str]) -> Pairs:
    yield from _torch(given, known)
    hosts = given.first("host", "hostfile", "H")
    yield "launch.hosts", hosts
    if hosts and "," in hosts:
        yield "launch.nnodes", len([h for h in hosts.split(",") if h])


def _ray(given: Options, known: dict[str, str]) -> Pairs:
    address = given.first("address")
    yield "launch.hosts", address
    if address and "head" not in given and ":" in address:
        yield "launch.rdzv_endpoint", address


_READERS = {
    "accelerate": _accelerate,
    "deepspeed": _deepspeed,
    "mpirun": _mpi,
    "horovodrun": _mpi,
    "srun": _srun,
    "colossalai": _colossalai,
    "docker": docker,
    "ray": _ray,
}
