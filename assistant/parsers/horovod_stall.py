"""Horovod's stall inspector -> missing ranks, and which tensors they did not submit.

Sample:

    [2020-05-06 10:11:12.345: W horovod/common/stall_inspector.cc:105] One or more tensors were submitted to be reduced, gathered or
    broadcasted by subset of ranks and are waiting for remainder of ranks for more than 60 seconds. ...
    Missing ranks:
    1: [DistributedAdamOptimizer_Allreduce/HorovodAllreduce_grads_0, metric_avg ...]
    Stalled ops:allreduce.noname.12 [missing ranks: 2, 3]
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from assistant.facts import Fact
from assistant.intake.document import Document

NAME = "Horovod stall inspector"
TRIGGERS = ("submitted to be reduced, gathered or broadcasted", "Missing ranks", "Stalled ops", "missing ranks:")

_RANK_ROW = re.compile(r"^(?:\[\d+,\d+\]<std\w+>:)?\s*(?P<rank>\d+)!?: ?\[(?P<tensors>[^\]\n]*)\]?")
_OLD = re.compile(r"(?P<tensor>\S+) \[(?:missing|ready) ranks:? ?(?P<ranks>[\d, ]+)", re.IGNORECASE)
_NAME = re.compile(r"[^\s,\[\]]+")


def parse(document: Document) -> Iterable[Fact]:
    missing: set[int] = set()
    tensors: set[str] = set()
    by_rank: dict[int, set[str]] = {}
    first: int | None = None
    inside = 0
    for index, line in enumerate(document.lines):
        if (
            "submitted to be reduced" in line
            or "Missing ranks" in line
            or "Stalled ops" in line
            or "issing ranks:" in line
        ):
            inside = 200
            first = index if first is None else first
        if inside <= 0:
            continue
        inside -= 1
        row = _RANK_ROW.match(line)
        if row is not None:
            missing.add(int(row["rank"]))
            named = {t for t in _NAME.findall(row["tensors"]) if t != "..."}
            by_rank.setdefault(int(row["rank"]), set()).update(named)
            tensors |= named
        for old in _OLD.finditer(line):
            if "missing" in old[0].lower():
                missing |= {int(r) for r in re.findall(r"\d+", old["ranks"])}
            tensors.add(old["tensor"])
    if first is None:
        return []
    origin = document.origin(first)
    facts: list[Fact] = []
    if missing:
        facts.append(Fact("horovod.missing_ranks", ",".join(map(str, sorted(missing))), origin))
    if tensors:
        facts.append(Fact("horovod.stalled_tensors", len(tensors), origin))
        facts.append(Fact("horovod.stalled_kind", _kind(tensors), origin))
    if any(a and b and not a & b for a in by_rank.values() for b in by_rank.values()):
        facts.append(Fact("horovod.tensors_differ", True, origin))
    return facts


def _kind(tensors: set[str]) -> str:
    """What most of the stalled tensors are for."""
    for name, pattern in (
        ("metrics", r"metric|loss|acc|avg|eval|val_"),
        ("broadcast", r"broadcast|bcast|parameters|optimizer_state"),
        ("gradients", r"grad|allreduce|Optimizer"),
    ):
        if sum(
            1
            for t in tensors
            if re.search(pattern, t, re.IGNORECASE) and not (name == "metrics" and "grad" in t.lower())
        ) * 2 > len(tensors):
            return name
    return "other"
