"""CPUs against the processes that need them, drivers against their parts, copies between GPUs against each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from assistant.facts import CaseFile, Fact


def derive(case: CaseFile) -> Iterable[Fact]:
    yield from _cpus(case)
    yield from _driver(case)
    yield from _matrix(case)


def _cpus(case: CaseFile) -> Iterator[Fact]:
    cpus = (
        case.best("cpu.quota_cores")
        or case.best("launch.cpu_limit")
        or case.best("cpu.affinity_count")
        or case.best("cpu.count")
    )
    gpus = case.best("gpus_per_node") or case.best("launch.nproc") or case.best("gpu.count")
    sockets, ports = case.best("port.tcp_sockets"), case.best("port.range_size")
    if (
        sockets
        and ports
        and isinstance(sockets.value, int | float)
        and isinstance(ports.value, int | float)
        and ports.value > 0
    ):
        waiting = case.best("port.timewait")
        used = max(sockets.value, waiting.value if waiting and isinstance(waiting.value, int | float) else 0)
        yield Fact("port.range_used", round(used / ports.value, 2), sockets.origin.derived(), sockets.subject)
    of_ranks = {f.subject.name: f for f in case.about("cpu.local_rank_cpus")}
    own = len(of_ranks) > 1 and cpus is not None and cpus.key == "cpu.affinity_count"
    load, count = case.best("cpu.load1"), case.best("cpu.count")
    if (
        cpus is not None
        and gpus is not None
        and isinstance(cpus.value, int | float)
        and isinstance(gpus.value, int | float)
        and gpus.value > 0
    ):
        yield Fact(
            "cpu.per_gpu", round(cpus.value / (1 if own else gpus.value), 2), cpus.origin.derived(), cpus.subject
        )
    if (
        load is not None
        and count is not None
        and isinstance(load.value, int | float)
        and isinstance(count.value, int | float)
        and count.value
    ):
        yield Fact("cpu.load_per_cpu", round(load.value / count.value, 2), load.origin.derived(), load.subject)


def _driver(case: CaseFile) -> Iterator[Fact]:
    kernel, user = case.best("driver.kernel_version"), case.best("driver.user_version")
    fabric, driver = (
        case.best("fabric_manager_version"),
        case.best("driver_version") or case.best("driver.kernel_version"),
    )
    if (
        kernel
        and user
        and str(user.value).count(".") >= 1
        and not str(kernel.value).startswith(str(user.value))
        and case.best("driver.mismatch") is None
    ):
        yield Fact("driver.mismatch", True, user.origin.derived(), user.subject)
    if (
        fabric
        and driver
        and str(fabric.value).split("-")[0] != str(driver.value)
        and driver.origin.kind in ("tool", "log")
    ):
        yield Fact("fabric_manager", "mismatch", fabric.origin.derived(), fabric.subject)


def _matrix(case: CaseFile) -> Iterator[Fact]:
    low, high = case.best("gpu.p2p_bw_min_gbs"), case.best("gpu.p2p_bw_max_gbs")
    if low and high and isinstance(low.value, int | float) and isinstance(high.value, int | float):
        yield Fact("gpu.p2p_bw_uneven", low.value < 0.6 * high.value, low.origin.derived(), low.subject)
    off = case.best("gpu.p2p_off_bw_max_gbs")
    if off and high and isinstance(off.value, int | float) and isinstance(high.value, int | float) and off.value > 0:
        yield Fact("gpu.p2p_on_share", round(high.value / off.value, 2), high.origin.derived(), high.subject)
