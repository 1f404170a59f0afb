"""PyTorch's reports on collectives that do not match: TORCH_DISTRIBUTED_DEBUG=DETAIL, the desync report, monitoredBarrier.

Sample:

    [rank1]:[I...] ProcessGroupWrapper.cpp:710] [Rank 1] Running collective: CollectiveFingerPrint(SequenceNumber=1, OpType=ALLREDUCE, TensorShape=[4], ...)
    RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running collective: CollectiveFingerPrint(...), but Rank 1 is running collective: ...
     - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:
       - [1] joined but didn't finish collective #7 (count from 1)
         [2] finished collective #13, but didn't join collective #14 (count from 1)
     - To our best knowledge, ranks [47] are the lagging ranks that caused this timeout. They never joined any collectives
       #7 started ranks:
         [0] started ALLREDUCE
    [Rank 0]: Ranks 1, 2 failed to pass monitoredBarrier in 30000 ms
    Rank 2 successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from assistant.facts import Fact, Subject
from assistant.intake.document import Document
from assistant.parsers._find import lines_with
from assistant.parsers._series import matched_lines

NAME = "PyTorch collective debugging"
TRIGGERS = (
    "monitoredBarrier",
    "mismatch between collectives",
    "didn't join collective",
    "didn't finish collective",
    "lagging ranks",
    "CollectiveFingerPrint(",
)
VERSIONS = "PyTorch 1.10 to 2.9: TORCH_DISTRIBUTED_DEBUG=DETAIL, desync report, monitoredBarrier"

_LISTS: tuple[tuple[str, str, re.Pattern[str]], ...] = (
    (
        "monitoredBarrier",
        "barrier",
        re.compile(r"\[Rank 0\]: Ranks? (\d+(?:, ?\d+)*) (?:timed out in|failed to pass) monitoredBarrier"),
    ),
    (
        "monitoredBarrier",
        "barrier",
        re.compile(r"^\W*(?:RuntimeError: )?Ranks? (\d+(?:, ?\d+)*) failed to pass monitoredBarrier"),
    ),
    (
        "didn't join",
        "not-joined",
        re.compile(r"\[(\d+(?:, ?\d+)*)\] finished collective #\d+, but didn't join collective #\d+"),
    ),
    ("didn't finish", "not-finished", re.compile(r"\[(\d+(?:, ?\d+)*)\] joined but didn't finish collective #\d+")),
    ("lagging ranks", "never-joined", re.compile(r"ranks \[([\d, ]+)\] are the lagging ranks")),
)
_STATE = re.compile(r"\[(?P<ranks>\d+(?:, ?\d+)*)\] (?P<what>started|finished) (?P<op>[A-Z_][\w:]+)")
_NUMBER = re.compile(r"#(\d+) (?:started|finished) ranks:")
_MISMATCH = re.compile(
    r"Detected mismatch between collectives on ranks\. Rank (?P<a>\d+) is running (?:inconsistent )?collective: (?P<fa>.*?)(?:,? ?but Rank (?P<b>\d+) is running collective: (?P<fb>.*?))?(?:\.?Collectives differ|$)"
)
_RUNNING = re.compile(r"Rank (\d+)\] Running collective: CollectiveFingerPrint\(([^\n]{0,400})")
_PARTS = (
    ("seq", re.compile(r"SequenceNumber=(\d+?)(?:,|\)|O|$)")),
    ("op", re.compile(r"OpType=(\w+?)(?=TensorShape|\W|$)")),
    ("shape", re.compile(r"TensorShape=\[([^\[\]]*)\]")),
    ("dtype", re.compile(r"TensorDtypes=(\w+)")),
    ("device", re.compile(r"device=(\w+)")),
)
_NAMES = {"seq": "sequence"}
_RANKS = 4096


def parse(document: Document) -> Iterable[Fact]:
    yield from _lagging(document)
    yield from _mismatches(document)
    if "] Running collective: CollectiveFingerPrint(" in document.text:
        yield from _last_running(document)


def _numbers(text: str) -> list[int]:
    return [int(n) for n in re.findall(r"\d+", text)]


def _lagging(document: Document) -> Iterator[Fact]:
    """Ranks that a report names as late, with what it says of them."""
    named: dict[int, tuple[str, int]] = {}
    last = 0
    for index in lines_with(document, tuple(dict.fromkeys(mark for mark, _, _ in _LISTS)), 2000):
        line = document.messages[index]
        for mark, how, pattern in _LISTS:
            found = pattern.search(line) if mark in line else None
            if found is None:
                continue
            last = index
            for rank in _numbers(found[1]):
                named.setdefault(rank, (how, index))
    if not named:
        return
    yield Fact("watchdog.lagging_ranks", ",".join(map(str, sorted(named))), document.origin(last))
    for rank, (how, index) in sorted(named.items())[:64]:
        yield Fact("desync.late", how, document.origin(index), Subject("rank", str(rank)))
    yield from _snapshot(document)


def _snapshot(document: Document) -> Iterator[Fact]:
    """The table of the desync report: at which collective each rank stands."""
    number: int | None = None
    told: set[int] = set()
    for index in lines_with(document, ("started ranks:", "finished ranks:", "] started ", "] finished "), 2000):
        line = document.messages[index]
        head = _NUMBER.search(line)
        if head is not None:
            number = int(head[1])
        row = _STATE.search(line)
        if row is None or number is None:
            continue
        for rank in _numbers(row["ranks"])[:_RANKS]:
            if rank not in told:
                told.add(rank)
                value = f"#{number} {row['what']} {row['op']}"
                yield Fact("desync.state", value, document.origin(index), Subject("rank", str(rank)))


def _print(text: str) -> dict[str, str]:
    return {name: found[1].replace(" ", "") for name, pattern in _PARTS if (found := pattern.search(text))}


def _words(parts: dict[str, str]) -> str:
    return " ".join(f"{name}={parts[name]}" for name in ("seq", "op", "shape", "dtype", "device") if name in parts)


def _mismatches(document: Document) -> Iterator[Fact]:
    """Who runs what. Versions before 1.11 print one rank a line: what earlier lines said is kept."""
    seen: dict[int, dict[str, str]] = {}
    judged = False
    for index in lines_with(document, ("mismatch between collectives",), _RANKS):
        message = document.messages[index]
        if "but Rank" not in message and index + 2 < len(document.lines) and "but Rank" in document.messages[index + 2]:
            message = " ".join(document.messages[index : index + 3])
        found = _MISMATCH.search(message)
        if found is None:
            continue
        origin = document.origin(index)
        sides = [(int(found["a"]), _print(found["fa"]))]
        if found["fb"]:
            sides.append((int(found["b"]), _print(found["fb"])))
        for rank, parts in sides:
            if rank not in seen and len(seen) < _RANKS:
                seen[rank] = parts
                yield Fact("fingerprint.of", _words(parts), origin, Subject("rank", str(rank)))
        other = sides[1][1] if len(sides) > 1 else next((p for r, p in seen.items() if r != sides[0][0]), None)
        if other is not None and not judged:
            judged = True
            yield from _differs(
                document, index, sides[0][1] if len(sides) > 1 else other, other if len(sides) > 1 else sides[0][1]
            )


def _differs(document: Document, index: int, first: dict[str, str], second: dict[str, str]) -> Iterator[Fact]:
    names = ("op", "shape", "dtype", "device", "seq")
    differs = [_NAMES.get(n, n) for n in names if first.get(n) != second.get(n)]
    if differs:
        yield Fact("fingerprint.differs_in", ",".join(differs), document.origin(index))
    yield Fact("fingerprint.ops", f"{first.get('op', '?')} vs {second.get('op', '?')}", document.origin(index))


def _last_running(document: Document) -> Iterator[Fact]:
    """The last collective that each rank called, of the lines that DETAIL prints before every one."""
    last: dict[int, tuple[str, int]] = {}
    found = _RUNNING.finditer(document.text)
    for index, match in matched_lines(document, ((m.start(), m) for m in found)):
        rank = int(match[1])
        if rank in last or len(last) < _RANKS:
            last[rank] = (match[2], index)
    for rank, (text, index) in last.items():
        yield Fact("fingerprint.last", _words(_print(text)), document.origin(index), Subject("rank", str(rank)))
