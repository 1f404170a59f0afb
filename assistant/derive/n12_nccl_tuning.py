"""NCCL's choice of algorithm beside the size of the job: a ring's latency grows with every rank, a tree's with their logarithm."""

from __future__ import annotations

from collections.abc import Iterable

from assistant.facts import CaseFile, Fact, Origin

MANY_NODES = 8


def derive(case: CaseFile) -> Iterable[Fact]:
    small = case.best("tuning.ring_at_small")
    nodes = max(
        (int(f.value) for key in ("nccl.nnodes", "nodes") for f in case.about(key) if isinstance(f.value, int)),
        default=0,
    )
    if small is not None and nodes >= MANY_NODES:
        o = small.origin
        yield Fact("tuning.ring_on_many_nodes", nodes, Origin("derived", o.file, o.line, o.host, o.rank, o.quote))
