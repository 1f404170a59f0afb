"""What PyTorch's NCCL watchdog says of a collective that did not finish. Ranks are set side by side in derive.

Sample:

    [rank4]:[E1129 11:56:57.2 ProcessGroupNCCL.cpp:616] [Rank 4] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=28956,
        OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600001 milliseconds before timing out.
    [rank7]:[E...] [PG ID 0 PG GUID 0(default_pg) Rank 7] Timeout at NCCL work: 28956, last enqueued NCCL work: 28956, last completed NCCL work: 28955.
    [rank7]:[E...] [PG 0 Rank 7] Exception (either an error or timeout) detected by watchdog at work: 4, last enqueued NCCL work: 4, last completed NCCL work: 3.
    Timeout at NCCL work: 12, last enqueued NCCL work: 12, last started NCCL work: 12, last completed NCCL work: 11.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from assistant.facts import Fact, Subject
from assistant.intake.document import Document
from assistant.intake.runs import run_of_name
from assistant.parsers._find import lines_with
from assistant.parsers._phase import last_phase, progress_before

NAME = "PyTorch watchdog"
TRIGGERS = ("collective operation timeout", "last enqueued", "timed out in blocking wait")
LINES = ("orkNCCL(", "last enqueued", "timed out in blocking wait")
VERSIONS = (
    "PyTorch 1.5 to 2.9: watchdog of ProcessGroupNCCL, desync report, monitoredBarrier, TORCH_DISTRIBUTED_DEBUG=DETAIL"
)

_TIMEOUT = re.compile(
    r"(?:\[(?:PG [^\]]*?)?Rank (?P<rank>\d+)\] )?(?:Watchdog caught collective operation timeout: |Work )WorkNCCL\((?:SeqNum=(?P<seq>\d+), )?OpType=(?P<op>\w+)"
    r"(?:, TensorShape=\[(?P<shape>[^\]]*)\])?(?:, NumelIn=(?P<numel>\d+), NumelOut=(?P<out>\d+))?, Timeout\(ms\)=(?P<timeout>\d+)\)"
)
_GROUP = re.compile(r"\[PG (?:ID )?(?P<pg>\d+)(?P<name>[^\]]*?) Rank (?P<rank>\d+)\]")
_STATUS = re.compile(
    r"last enqueued (?:NCCL )?work: (?P<enq>-?\d+),(?:.{0,12}?last started (?:NCCL )?work: (?P<started>-?\d+),)?.{0,60}?last completed (?:NCCL )?work: (?P<done>-?\d+)"
)
_WORLD = re.compile(r"\b(?:world[_ ]?size|WORLD_SIZE|num_processes|nranks)\W{1,3}(\d+)")
#: The group of all ranks, and a group of which the line does not tell which it is.
DEFAULT = "0"
UNKNOWN = "?"
#: Ranks and groups of one document, at most.
_RANKS = 4096


def parse(document: Document) -> Iterable[Fact]:
    first: int | None = None
    works: dict[tuple[str, int], tuple[int, re.Match[str]]] = {}
    states: dict[tuple[str, int], tuple[int, re.Match[str]]] = {}
    for index in lines_with(document, ("orkNCCL(", "last enqueued")):
        line = document.messages[index]
        for literal, pattern, last in (("orkNCCL(", _TIMEOUT, works), ("last enqueued", _STATUS, states)):
            found = pattern.search(line) if literal in line else None
            if found is None:
                continue
            if first is None and pattern is _TIMEOUT:
                first = index
                yield from _first(document, index, found)
            group = _group(line)
            rank = _rank(document, index, found, group)
            if rank is not None and ((group, rank) in last or len(last) < _RANKS):
                # The last report counts: earlier ones are of an attempt before.
                last[group, rank] = (index, found)
    run = run_of_name(document.name)
    for (group, rank), (index, found) in works.items():
        yield from _work(document, index, found, _Place(group, rank, run))
    for (group, rank), (index, found) in states.items():
        yield from _state(document, index, found, _Place(group, rank, run))
    if first is None:
        return
    yield from _named_worlds(document, first)
    yield from last_phase(document, first)
    yield from progress_before(document, first)


@dataclass(frozen=True, slots=True)
class _Place:
    group: str
    rank: int
    run: str

    @property
    def end(self) -> str:
        return f" run={self.run}" if self.run else ""


def _rank(document: Document, index: int, found: re.Match[str], group: str) -> int | None:
    """The rank of the process. The rank in brackets counts within the group, so that only the default one tells it."""
    marked = _GROUP.search(document.messages[index])
    if group == DEFAULT and marked is not None:
        return int(marked["rank"])
    own = document.line(index).rank
    if own is not None or group != DEFAULT:
        return own
    named = found.groupdict().get("rank")
    return int(named) if named is not None else None


def _group(line: str) -> str:
    """The process group of a line. Old versions name no number for the default one; without a GUID the number counts within the process."""
    found = _GROUP.search(line)
    if found is None:
        return DEFAULT
    name = found["name"]
    guid = name.partition("GUID ")[2].strip()
    if "default_pg" in name or guid == "0" or (not guid and found["pg"] == "0"):
        return DEFAULT
    return re.sub(r"\s+", "_", guid) if guid else UNKNOWN


def _first(document: Document, index: int, found: re.Match[str]) -> Iterator[Fact]:
    origin = document.origin(index)
    yield Fact("watchdog.op", found["op"], origin)
    yield Fact("watchdog.timeout_ms", int(found["timeout"]), origin)
    numel = found["numel"]
    if numel is None and found["shape"]:
        numel = str(_product(found["shape"]))
    if numel is not None:
        yield Fact("watchdog.numel", int(numel), origin)
    if found["op"] == "BARRIER" or (found["op"] == "ALLREDUCE" and numel == "1"):
        yield Fact("watchdog.barrier_like", True, origin)


def _product(shape: str) -> int:
    result = 1
    for number in re.findall(r"\d+", shape):
        result *= int(number)
    return result


def _work(document: Document, index: int, found: re.Match[str], place: _Place) -> Iterator[Fact]:
    origin, subject = document.origin(index), Subject("rank", str(place.rank))
    if found["seq"] and place.group == DEFAULT:
        yield Fact("watchdog.seq", int(found["seq"]), origin, subject)
    size = f"{found['numel']}:{found['out']}" if found["numel"] else (found["shape"] or "").replace(" ", "")
    yield Fact(
        "watchdog.work",
        f"pg={place.group} seq={found['seq'] or '?'} op={found['op']} size={size or '?'}{place.end}",
        origin,
        subject,
    )


def _state(document: Document, index: int, state: re.Match[str], place: _Place) -> Iterator[Fact]:
    origin, subject = document.origin(index), Subject("rank", str(place.rank))
    if place.group == DEFAULT:
        yield Fact("watchdog.enqueued", int(state["enq"]), origin, subject)
        yield Fact("watchdog.completed", int(state["done"]), origin, subject)
    yield Fact(
        "watchdog.state",
        f"pg={place.group} enqueued={state['enq']} started={state['started'] or '?'} completed={state['done']}{place.end}",
        origin,
        subject,
    )


def _named_worlds(document: Document, first: int) -> Iterator[Fact]:
    """Numbers of ranks that the text names."""
    named: dict[int, int] = {}
    for index in lines_with(document, ("orld size", "orld_size", "WORLD_SIZE", "num_processes", "nranks"), 64):
        for number in _WORLD.findall(document.lines[index][:2000]):
            named.setdefault(int(number), index)
    for number, index in list(named.items())[:4]:
        yield Fact("watchdog.named_world", number, document.origin(index))
