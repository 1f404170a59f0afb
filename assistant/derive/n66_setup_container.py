"""What a container of a configuration lacks: shared memory, the RDMA device, the right to lock memory, CPUs and memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from assistant.derive._setup import before_the_run, env_text, fabric, note, number, only, several_nodes
from assistant.facts import CaseFile, Fact

#: A container's /dev/shm up to this size runs out with several ranks (GB).
SMALL_SHM = 0.6
VERBS = ("infiniband", "roce", "rdma")


def derive(case: CaseFile) -> Iterable[Fact]:
    if not before_the_run(case):
        return
    yield from _shm(case)
    yield from _fabric(case)
    yield from _cpus(case)
    yield from _memory(case)
    yield from _sidecar(case)


def _processes(case: CaseFile) -> int:
    """GPUs or processes that share one container, as far as is known; 0 where nothing tells."""
    found = [
        number(only(case.about(key))) or 0 for key in ("launch.gpu_request", "launch.nproc", "launch.ntasks_per_node")
    ]
    return max(found)


def _shm(case: CaseFile) -> Iterator[Fact]:
    several = _processes(case)
    for fact in case.about("launch.container_shm"):
        loader = any(isinstance(f.value, int) and f.value > 0 for f in case.about("dataloader_workers"))
        if fact.value == "none" and (several > 1 or (loader and several != 1)):
            yield note("setup.shm_default", "64 MB, the default", fact)
            return
    for fact in case.about("launch.shm_size_gb"):
        if isinstance(fact.value, int | float) and fact.value <= SMALL_SHM and several != 1:
            yield note("setup.shm_small", f"{round(fact.value * 1000)} MB", fact)
            return


def _fabric(case: CaseFile) -> Iterator[Fact]:
    kind = fabric(case)
    if kind is None or several_nodes(case) is False:
        return
    in_container = case.about("launch.rdma_device")
    if not in_container or several_nodes(case) is None:
        return
    passed = any(f.value is True for f in in_container) or bool(case.about("launch.rdma_request"))
    pod = any(f.value == "kubernetes-pod" for f in case.about("container"))
    where = next((f for f in case.about("launch.kind") if f.value == "docker"), in_container[0])
    if not passed and kind.value in (*VERBS, "efa") and not _switched_off(case):
        yield note("setup.rdma_not_passed", str(kind.value), kind if pod else where)
    lifted = case.about("launch.memlock_lifted")
    if passed and kind.value in VERBS and lifted and not any(f.value is True for f in lifted):
        shown = only(case.about("launch.gpu_request")) if pod else where
        shown = next(iter(case.about("launch.rdma_request")), shown) if pod else where
        yield note("setup.memlock_in_pod" if pod else "setup.memlock_in_container", str(kind.value), shown or where)


def _switched_off(case: CaseFile) -> bool:
    off = any(env_text(f) == "1" for f in case.about("env.NCCL_IB_DISABLE"))
    return off or any(re.fullmatch("socket", env_text(f), re.IGNORECASE) for f in case.about("env.NCCL_NET"))


def _cpus(case: CaseFile) -> Iterator[Fact]:
    cpus, each = only_number(case, "launch.cpu_limit"), _processes(case)
    gpus = number(only(case.about("launch.sbatch_gpus"))) or 0
    ranks = max(each, gpus if not number(only(case.about("launch.ntasks_per_node"))) else each)
    if cpus is not None and ranks and float(cpus.value) / ranks < 2:
        yield note("setup.few_cpus", f"{cpus.value:g} CPUs for {ranks} ranks of a node", cpus)
    unset = case.best("launch.no_cpus_asked")
    if unset is not None and not any(env_text(f) for f in case.about("env.SRUN_CPUS_PER_TASK")):
        yield note("setup.no_cpus_asked", True, unset)
    if ranks > 1:
        for fact in case.about("env.OMP_NUM_THREADS"):
            text = env_text(fact)
            if text.isdigit() and int(text) * ranks >= max(256, 2 * float(cpus.value) if cpus else 0):
                yield note("setup.threads_oversubscribed", f"{text} threads for each of {ranks} ranks", fact)
                return


def only_number(case: CaseFile, key: str) -> Fact | None:
    """The fact with the smallest figure."""
    found = [f for f in case.about(key) if isinstance(f.value, int | float)]
    return min(found, key=lambda f: float(f.value), default=None)


def _memory(case: CaseFile) -> Iterator[Fact]:
    ranks = _processes(case)
    limits = [f for f in case.about("launch.memory_limit_gb") if isinstance(f.value, int | float)]
    if not limits or ranks < 1:
        return
    most = max(limits, key=lambda f: float(f.value))
    sizes = [float(f.value) for f in case.about("launch.shm_size_gb") if isinstance(f.value, int | float)]
    if float(most.value) / ranks < 3:
        yield note("setup.little_memory", f"{most.value:g} GB for {ranks} ranks of a node", most)
    elif sizes and max(sizes) >= float(most.value):
        yield note(
            "setup.little_memory", f"{most.value:g} GB, of which /dev/shm alone may take {max(sizes):g} GB", most
        )


def _sidecar(case: CaseFile) -> Iterator[Fact]:
    mesh = case.best("launch.sidecar")
    if mesh is not None and mesh.value is True:
        yield note("setup.mesh_sidecar", True, mesh)
    if not several_nodes(case):
        return
    proxies = [
        f
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY")
        for f in case.about(f"env.{name}")
        if env_text(f)
    ]
    if proxies and not case.about("env.no_proxy") and not case.about("env.NO_PROXY"):
        yield note("setup.proxy_without_exception", env_text(proxies[0]), proxies[0])
