"""Settings of the training itself that cost time on any network or on this one, and packages that do not go together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from assistant.derive._setup import before_the_run, fabric, note, number, only, several_nodes
from assistant.derive.n67_setup_fabric import TORCH_NCCL
from assistant.facts import CaseFile, Fact

#: Facts of a configuration, the figures that are remarkable (from, to), and the fact that tells of them.
_FIGURES = (
    ("config.save_steps", 1, 25, "setup.saves_often"),
    ("config.logging_steps", 1, 1, "setup.logs_each_step"),
    ("config.timeout_s", 0.1, 60, "setup.short_timeout"),
    ("config.bucket_mb", 0.001, 5, "setup.small_bucket"),
    ("config.gather_bucket_mb", 0.001, 5, "setup.small_bucket"),
    ("dataloader_workers", 0, 0, "setup.no_workers"),
)
_FLAGS = (
    ("config.overlap", False, "setup.overlap_off"),
    ("config.pin_memory", False, "setup.pageable_batches"),
    ("config.sync_bn", True, "setup.batchnorm_synced"),
)


def derive(case: CaseFile) -> Iterable[Fact]:
    if not before_the_run(case):
        return
    for key, low, high, name in _FIGURES:
        few = next((f for f in case.about(key) if _within(f, low, high)), None)
        if few is not None:
            yield note(name, few.value, few)
    for key, value, name in _FLAGS:
        flag = next((f for f in case.about(key) if f.value is value), None)
        if flag is not None:
            yield note(name, value, flag)
    yield from _unused(case)
    yield from _volume(case)
    yield from _backend(case)
    yield from _limits(case)
    yield from _packages(case)


def _within(fact: Fact, low: float, high: float) -> bool:
    return isinstance(fact.value, int | float) and not isinstance(fact.value, bool) and low <= fact.value <= high


def _unused(case: CaseFile) -> Iterator[Fact]:
    search = next((f for f in case.about("config.find_unused") if f.value is True), None)
    if search is None:
        return
    again = any(f.value is True for f in case.about("config.checkpointing"))
    yield note("setup.unused_with_checkpointing" if again else "setup.unused_search", True, search)


def _volume(case: CaseFile) -> Iterator[Fact]:
    """Weights sharded over all ranks where the nodes have no RDMA between them."""
    kind = fabric(case)
    if kind is None or kind.value != "tcp" or not several_nodes(case) or case.value("config.hybrid_shard") is True:
        return
    sharded = next((f for f in case.about("config.zero_stage") if f.value == 3), None)
    sharded = sharded or next((f for f in case.about("sharding") if f.value in ("fsdp", "zero3")), None)
    if sharded is not None:
        yield note("setup.sharded_over_tcp", str(case.value("setup.rate_said") or "no RDMA"), sharded)


def _backend(case: CaseFile) -> Iterator[Fact]:
    gpus = any(
        case.about(k)
        for k in ("launch.sbatch_gpus", "launch.gpu_request", "launch.container_gpus", "gpus_per_node", "gpu")
    )
    for fact in case.about("launch.backend_arg") if gpus else ():
        if fact.value in ("gloo", "mpi"):
            yield note("setup.backend_without_gpus", str(fact.value), fact)
            return


def _limits(case: CaseFile) -> Iterator[Fact]:
    lock = next(
        (f for f in case.about("limit.memlock_kb") if f.origin.kind == "config" and isinstance(f.value, int)), None
    )
    if lock is not None and 0 <= int(lock.value) <= 1048576:
        yield note("setup.memlock_small", f"{lock.value} kB", lock)
    passed = next((f for f in case.about("slurm.conf_passes_memlock") if f.value is True), None)
    if passed is not None:
        yield note("setup.slurm_passes_memlock", True, passed)
    ports = only(case.about("port.range_size"))
    if ports is not None and (number(ports) or 1 << 16) < 5000:
        yield note("setup.few_ports", int(ports.value), ports)


def _packages(case: CaseFile) -> Iterator[Fact]:
    wheels: dict[str, Fact] = {}
    versions: dict[str, str] = {}
    for fact in case.about("package.version"):
        name, _, version = str(fact.value).partition(" ")
        versions.setdefault(name, version)
        if name.startswith("nvidia-nccl-cu"):
            wheels.setdefault(name, fact)
    if len(wheels) > 1:
        odd = min(wheels)
        yield note("setup.nccl_wheels", ", ".join(sorted(wheels)), wheels[odd])
    torch = re.match(r"\d+\.\d+", versions.get("torch", ""))
    usual = TORCH_NCCL.get(torch[0]) if torch else None
    if usual and len(wheels) == 1 and not case.about("versions.differ"):
        (wheel,) = wheels.values()
        mine = _two(str(wheel.value).partition(" ")[2])
        if mine < _two(usual):
            yield note(
                "setup.nccl_older_than_torch",
                f"NCCL {'.'.join(map(str, mine))} where torch {versions['torch']} brings {usual}",
                wheel,
            )
    if torch is not None:
        built = re.search(r"\+cu(\d\d)", versions["torch"])
        toolkit = next((n for n in wheels if n.endswith(("11", "12", "13"))), "")
        if built and toolkit and not toolkit.endswith(built[1]) and len(wheels) == 1:
            yield note("setup.nccl_wheels", f"{toolkit} with torch {versions['torch']}", wheels[toolkit])
    cpu = next((f for f in case.about("torch.cpu_build") if f.value is True), None)
    if cpu is not None and not any(f.value is False for f in case.about("torch.cpu_build")):
        yield note("setup.cpu_build", (cpu.origin.quote or "torch").strip("- "), cpu)


def _two(version: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", version)[:2])
