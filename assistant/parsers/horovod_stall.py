"""Horovod's stall inspector -> missing ranks, and which tensors they did not submit.

Sample (0.19 and later; 0.16 to 0.18; before 0.14, which names those that are ready):

    [2020-05-06 10:11:12.345: W horovod/common/stall_inspector.cc:105] One or more tensors were submitted to be reduced, gathered or
    broadcasted by subset of ranks and are waiting for remainder of ranks for more than 60 seconds. ...
    Missing ranks:
    1: [DistributedAdamOptimizer_Allreduce/HorovodAllreduce_grads_0, metric_avg ...]
    Stalled ranks:
    0: [HorovodAllreduce]
    Stalled ops:HorovodBroadcast_dense_1_bias_0 [missing ranks: 1]
    [2019-04-13 13:57:31.866068: W horovod/common/operations.cc:588] HorovodBroadcast_dense_1_kernel_0 [missing ranks: 2, 3]
    allreduce.conv1.weight [ready ranks: 5, 1, 4, 7, 2, 3], allreduce.bn1.weight [ready ranks: 5, 1, 4, 7, 2, 3]
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from assistant.facts import Fact, Subject
from assistant.intake.document import Document
from assistant.parsers._find import lines_with

NAME = "Horovod stall inspector"
TRIGGERS = (
    "submitted to be reduced, gathered or broadcasted",
    "Missing ranks",
    "Stalled ops",
    "missing ranks:",
    "[ready ranks:",
)
VERSIONS = "Horovod 0.15 to 0.28"

_HEADS = (
    "submitted to be reduced",
    "Missing ranks",
    "Stalled ranks",
    "Stalled ops",
    "[missing ranks:",
    "[ready ranks:",
)
_RANK_ROW = re.compile(
    r"(?:^|>:|-- |\] )\s*(?P<rank>\d+)!?: ?\[(?P<tensors>(?!INFO|WARN|ERROR|DEBUG)[A-Za-z_][^\]\n]*)\]?"
)
_OLD = re.compile(r"(?P<tensor>[^\s,:]\S{0,120}) \[(?P<which>missing|ready) ranks:? ?(?P<ranks>[\d, ]+)", re.IGNORECASE)
_NAME = re.compile(r"[^\s,\[\]]+")
#: Rows of a block of missing ranks, lines that are read of one document, ranks that are named one by one.
_ROWS = 200
_LINES = 4000
_NAMED = 64


def parse(document: Document) -> Iterable[Fact]:
    missing: dict[int, int] = {}
    tensors: set[str] = set()
    by_rank: dict[int, set[str]] = {}
    heads = list(lines_with(document, _HEADS, _LINES))
    read: set[int] = set()
    for head in heads:
        for index in range(head, min(head + _ROWS, len(document.lines))):
            if index in read:
                continue
            if len(read) > 4 * _LINES:
                break
            read.add(index)
            line = document.lines[index]
            row = _RANK_ROW.search(line) if "[" in line and "ranks:" not in line else None
            if row is not None:
                rank = int(row["rank"])
                missing.setdefault(rank, index)
                named = {t for t in _NAME.findall(row["tensors"]) if t != "..."}
                by_rank.setdefault(rank, set()).update(named)
                tensors |= named
            for old in _OLD.finditer(line):
                ranks = {int(r) for r in re.findall(r"\d+", old["ranks"])}
                tensors.add(old["tensor"])
                absent = ranks if old["which"].lower() == "missing" else set(range(max(ranks, default=0) + 1)) - ranks
                for rank in sorted(absent):
                    missing.setdefault(rank, index)
    if not heads:
        return
    origin = document.origin(heads[0])
    if missing:
        yield Fact("horovod.missing_ranks", ",".join(map(str, sorted(missing))), origin)
        for rank, index in sorted(missing.items())[:_NAMED]:
            yield Fact("horovod.missing_rank", rank, document.origin(index), Subject("rank", str(rank)))
    if tensors:
        yield Fact("horovod.stalled_tensors", len(tensors), origin)
        yield Fact("horovod.stalled_kind", _kind(tensors), origin)
    if any(a and b and not a & b for a in by_rank.values() for b in by_rank.values()):
        yield Fact("horovod.tensors_differ", True, origin)


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
