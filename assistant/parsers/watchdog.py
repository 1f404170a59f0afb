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

from assistant.facts import Fact, Subject
from assistant.intake.document import Document
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
#: Ranks and groups of one document, at most.
_RANKS = 4096


def parse(document: Document) -> Iterable[Fact]:
    first: int | None = None
    timed: set[tuple[str, int]] = set()
    told: set[tuple[str, int]] = set()
    for index in lines_with(document, ("orkNCCL(", "last enqueued")):
        line = document.messages[index]
        found = _TIMEOUT.search(line) if "orkNCCL(" in line else None
        if found is not None:
            if first is None:
                first = index
                yield from _first(document, index, found)
            rank = _rank(document, index, found["rank"])
            group = _group(line)
            if rank is not None and (group, rank) not in timed and len(timed) < _RANKS:
                timed.add((group, rank))
                yield from _work(document, index, found, group, rank)
        state = _STATUS.search(line) if "last enqueued" in line else None
        if state is not None:
            named = _GROUP.search(line)
            rank = _rank(document, index, named["rank"] if named else None)
            group = _group(line)
            if rank is not None and (group, rank) not in told and len(told) < _RANKS:
                told.add((group, rank))
                yield from _state(document, index, state, group, rank)
    if first is None:
        return
    yield from _named_worlds(document, first)
    yield from last_phase(document, first)
    yield from progress_before(document, first)


def _rank(document: Document, index: int, named: str | None) -> int | None:
    """The rank of the process. In a group other than the default one the named rank counts within the group."""
    own = document.line(index).rank
    return own if own is not None else int(named) if named is not None else None


def _group(line: str) -> str:
    """The process group of a line: 0 is the default group, of which old versions name no number."""
    found = _GROUP.search(line)
    return found["pg"] if found else "0"


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


def _work(document: Document, index: int, found: re.Match[str], group: str, rank: int) -> Iterator[Fact]:
    origin, subject = document.origin(index), Subject("rank", str(rank))
    if found["seq"] and group == "0":
        yield Fact("watchdog.seq", int(found["seq"]), origin, subject)
    size = f"{found['numel']}:{found['out']}" if found["numel"] else (found["shape"] or "").replace(" ", "")
    yield Fact(
        "watchdog.work", f"pg={group} seq={found['seq'] or '?'} op={found['op']} size={size or '?'}", origin, subject
    )


def _state(document: Document, index: int, state: re.Match[str], group: str, rank: int) -> Iterator[Fact]:
    origin, subject = document.origin(index), Subject("rank", str(rank))
    if group == "0":
        yield Fact("watchdog.enqueued", int(state["enq"]), origin, subject)
        yield Fact("watchdog.completed", int(state["done"]), origin, subject)
    yield Fact(
        "watchdog.state",
        f"pg={group} enqueued={state['enq']} started={state['started'] or '?'} completed={state['done']}",
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
