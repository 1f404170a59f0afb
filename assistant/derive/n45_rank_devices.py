"""Ranks of one host that chose the same GPU."""

from __future__ import annotations

import re
from collections.abc import Iterable

from assistant.facts import CaseFile, Fact, Origin


def derive(case: CaseFile) -> Iterable[Fact]:
    yield from _one_visible(case)
    for key in ("rank.device_local", "rank.device"):
        by_place: dict[tuple[str | None, int], dict[int, Fact]] = {}
        for fact in case.about(key):
            if isinstance(fact.value, int):
                by_place.setdefault((fact.origin.host, fact.value), {})[int(fact.subject.name)] = fact
        if key == "rank.device" and not _one_host(case):
            continue
        for (_, device), ranks in by_place.items():
            if len(ranks) > 1:
                names = ", ".join(str(r) for r in sorted(ranks)[:8])
                origin = ranks[max(ranks)].origin
                text = f"ranks {names} on device {device}"
                yield Fact(
                    "gpu.same_device_ranks",
                    text,
                    Origin("derived", origin.file, origin.line, origin.host, None, origin.quote, origin.time),
                )
                return


def _one_visible(case: CaseFile) -> Iterable[Fact]:
    """CUDA_VISIBLE_DEVICES names one device in a script that starts several processes on a node."""
    visible = case.best("env.CUDA_VISIBLE_DEVICES")
    if visible is None or visible.origin.kind != "config" or not re.fullmatch(r"\d", str(visible.value)):
        return
    counts = [
        f.value
        for key in ("launch.ntasks_per_node", "launch.nproc")
        for f in case.about(key)
        if isinstance(f.value, int)
    ]
    if max(counts, default=1) > 1:
        o = visible.origin
        yield Fact("launch.one_visible_device", True, Origin("derived", o.file, o.line, o.host, None, o.quote, o.time))


def _one_host(case: CaseFile) -> bool:
    """Whether global ranks may be compared: nothing says that the job spans several hosts."""
    counts = [
        f.value
        for key in ("nodes", "launch.nnodes", "launch.sbatch_nodes")
        for f in case.about(key)
        if isinstance(f.value, int)
    ]
    return max(counts, default=1) == 1
