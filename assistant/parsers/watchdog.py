"""What PyTorch says of a collective that did not finish: watchdog, desync report, monitored barrier, DETAIL mode.

Sample:

    [rank4]:[E1129 11:56:57.2 ProcessGroupNCCL.cpp:616] [Rank 4] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=28956,
        OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600001 milliseconds before timing out.
    [rank7]:[E...] [PG ID 0 PG GUID 0(default_pg) Rank 7] Timeout at NCCL work: 28956, last enqueued NCCL work: 28956, last completed NCCL work: 28955.
    - [2] finished collective #13, but didn't join collective #14 (count from 1)
    [Rank 0]: Ranks 1, 2 failed to pass monitoredBarrier in 30000 ms
    RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running collective: CollectiveFingerPrint(...), but Rank 1 is ...
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from assistant.facts import Fact, Subject
from assistant.intake.document import Document
from assistant.parsers._phase import last_phase, progress_before

NAME = "PyTorch watchdog"
TRIGGERS = (
    "collective operation timeout",
    "monitoredBarrier",
    "mismatch between collectives",
    "last enqueued",
    "but didn't join collective",
    "lagging",
    "timed out in blocking wait",
)

_TIMEOUT = re.compile(
    r"(?:\[Rank (?P<rank>\d+)\] )?(?:Watchdog caught collective operation timeout: |Work )WorkNCCL\((?:SeqNum=(?P<seq>\d+), )?OpType=(?P<op>\w+)"
    r"(?:, TensorShape=\[(?P<shape>[^\]]*)\])?(?:, NumelIn=(?P<numel>\d+), NumelOut=(?P<out>\d+))?, Timeout\(ms\)=(?P<timeout>\d+)\)"
)
_STATUS = re.compile(
    r"(?:\[PG (?:ID )?(?P<pg>\d+)[^\]]*?Rank (?P<rank>\d+)\].{0,80}?)?last enqueued (?:NCCL )?work: (?P<enq>-?\d+),.{0,60}?last completed (?:NCCL )?work: (?P<done>-?\d+)"
)
_BARRIER = re.compile(r"\[Rank 0\]: Ranks? (?P<ranks>\d+(?:, ?\d+)*) (?:timed out in|failed to pass) monitoredBarrier")
_DESYNC_LATE = re.compile(r"\[(?P<ranks>\d+(?:, ?\d+)*)\] finished collective #\d+, but didn't join collective #\d+")
_DESYNC_LAG = re.compile(r"ranks \[(?P<ranks>[\d, ]+)\] are the lagging ranks")
_MISMATCH = re.compile(
    r"Detected mismatch between collectives on ranks\. Rank (?P<a>\d+) is running (?:inconsistent )?collective: (?P<fa>.*?)(?:, but Rank (?P<b>\d+) is running collective: (?P<fb>.*?))?(?:\.?Collectives differ|$)"
)
_PRINT_OP = re.compile(r"OpType=(\w+)")
_PRINT_SHAPE = re.compile(r"TensorShape=\[([^\]]*)\]")
_PRINT_DTYPE = re.compile(r"TensorDtypes=(\w+)")
_PRINT_SEQ = re.compile(r"SequenceNumber=(\d+)")
_WORLD = re.compile(r"\b(?:world[_ ]?size|WORLD_SIZE|num_processes|nranks)\W{1,3}(\d+)")


@dataclass(slots=True)
class Reports:
    """What the lines of one document say of each rank."""

    ranks: dict[int, tuple[int | None, str, int | None, str]] = field(default_factory=dict)
    """Sequence number, operation, elements and shape of the first timeout of each rank."""
    first_line: int | None = None
    lagging: set[int] = field(default_factory=set)
    lagging_line: int = 0


def parse(document: Document) -> Iterable[Fact]:
    reports = Reports()
    facts: list[Fact] = []
    status: dict[int, tuple[int, int, int]] = {}
    named: set[int] = set()
    halves: list[tuple[str, str]] = []
    for index, message in enumerate(document.messages):
        if "orkNCCL(" in message:
            found = _TIMEOUT.search(message)
            if found is not None:
                _timeout(document, index, found, reports, facts)
        if "last enqueued" in message:
            state = _STATUS.search(message)
            rank = _rank(document, index, state["rank"] if state else None)
            if state is not None and rank is not None and rank not in status and (state["pg"] or "0") == "0":
                status[rank] = (int(state["enq"]), int(state["done"]), index)
        for pattern, mark in (
            (_BARRIER, "monitoredBarrier"),
            (_DESYNC_LATE, "didn't join"),
            (_DESYNC_LAG, "lagging ranks"),
        ):
            if mark in message:
                late = pattern.search(message)
                if late is not None:
                    reports.lagging |= {int(r) for r in re.findall(r"\d+", late["ranks"])}
                    reports.lagging_line = index
        if "mismatch between collectives" in message and not any(f.key == "fingerprint.differs_in" for f in facts):
            facts += _fingerprint(document, index, message, halves)
        if ("orld" in message or "WORLD" in message or "num_processes" in message) and len(named) < 4:
            named |= {int(n) for n in _WORLD.findall(message)}
    facts += _across(document, reports, status, named)
    return facts


def _rank(document: Document, index: int, named: str | None) -> int | None:
    return int(named) if named is not None else document.line(index).rank


def _timeout(document: Document, index: int, found: re.Match[str], reports: Reports, facts: list[Fact]) -> None:
    origin = document.origin(index)
    if reports.first_line is None:
        reports.first_line = index
        facts.append(Fact("watchdog.op", found["op"], origin))
        facts.append(Fact("watchdog.timeout_ms", int(found["timeout"]), origin))
        numel = found["numel"]
        if numel is None and found["shape"]:
            numel = str(_product(found["shape"]))
        if numel is not None:
            facts.append(Fact("watchdog.numel", int(numel), origin))
        if found["op"] == "BARRIER" or (found["op"] == "ALLREDUCE" and numel == "1"):
            facts.append(Fact("watchdog.barrier_like", True, origin))
    rank = _rank(document, index, found["rank"])
    if rank is not None and rank not in reports.ranks:
        seq = int(found["seq"]) if found["seq"] else None
        reports.ranks[rank] = (seq, found["op"], int(found["numel"]) if found["numel"] else None, found["shape"] or "")
        if seq is not None:
            facts.append(Fact("watchdog.seq", seq, origin, Subject("rank", str(rank))))


def _product(shape: str) -> int:
    result = 1
    for number in re.findall(r"\d+", shape):
        result *= int(number)
    return result


def _fingerprint(document: Document, index: int, message: str, halves: list[tuple[str, str]]) -> Iterator[Fact]:
    """In what two ranks differ. Old versions print one line a rank: `halves` keeps what earlier lines said."""
    found = _MISMATCH.search(message)
    origin = document.origin(index)
    if found is None:
        return
    first, second = found["fa"], found["fb"]
    if not second:
        other = next((text for rank, text in halves if rank != found["a"]), None)
        halves.append((found["a"], first))
        if other is None:
            return
        first, second = other, first
    differs = []
    for name, pattern in (
        ("op", _PRINT_OP),
        ("shape", _PRINT_SHAPE),
        ("dtype", _PRINT_DTYPE),
        ("sequence", _PRINT_SEQ),
    ):
        a, b = pattern.search(first), pattern.search(second)
        if (a[1] if a else None) != (b[1] if b else None):
            differs.append(name)
    ops = [m[1] if (m := _PRINT_OP.search(p)) else "?" for p in (first, second)]
    if differs:
        yield Fact("fingerprint.differs_in", ",".join(differs), origin)
    yield Fact("fingerprint.ops", " vs ".join(ops), origin)


def _across(
    document: Document, reports: Reports, status: dict[int, tuple[int, int, int]], named: set[int]
) -> Iterator[Fact]:
    """What follows from several ranks side by side."""
    if reports.lagging:
        yield Fact("watchdog.lagging_ranks", _join(reports.lagging), document.origin(reports.lagging_line))
    for rank, (enqueued, completed, index) in status.items():
        yield Fact("watchdog.enqueued", enqueued, document.origin(index), Subject("rank", str(rank)))
        yield Fact("watchdog.completed", completed, document.origin(index), Subject("rank", str(rank)))
    if reports.first_line is None:
        return
    origin = document.origin(reports.first_line)
    ranks = set(reports.ranks)
    if ranks:
        yield Fact("watchdog.ranks", _join(ranks), origin)
        everyone = set(range(max([*ranks, *(n - 1 for n in named if max(ranks) < n <= 2 * len(ranks) + 1)]) + 1))
        silent = everyone - ranks
        if len(ranks) >= 2 and silent and len(silent) < len(ranks):
            yield Fact("watchdog.silent_ranks", _join(silent), origin)
        if len(ranks) >= 2 and silent == {0}:
            yield Fact("watchdog.rank0_silent", True, origin, Subject("rank", "0"))
        works = list(reports.ranks.values())
        if len({w[0] for w in works}) > 1:
            yield Fact("watchdog.seq_differs", True, origin)
        if len({(w[1], w[2], w[3]) for w in works}) > 1:
            yield Fact("watchdog.ops_differ", True, origin)
    yield from last_phase(document, reports.first_line)
    yield from progress_before(document, reports.first_line)


def _join(ranks: set[int]) -> str:
    return ",".join(str(r) for r in sorted(ranks))
