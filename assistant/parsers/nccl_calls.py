"""Collectives that NCCL logs with the subsystem COLL: what each rank called last, and what at certain numbers.

gpu-a07:184233:184633 [3] NCCL INFO AllReduce: opCount 1f sendbuff 0x7f2b6c003e00 recvbuff 0x7f2b6e003e00 count 26214400 datatype 9 op 0 root 0 comm 0x55d0c8003000 [nranks=16] stream 0x55d0c1f0

All ranks of a communicator must call the same at the same opCount. Of the thousands of lines of a rank only a few facts are kept, which
`derive.n17_calls` sets side by side: the last calls, those at the numbers of `MARKED`, and up to each of these a sum over all
calls where all were read. Point-to-point calls differ between ranks by nature; a communicator that has them is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b

from assistant.facts import Fact, Subject
from assistant.intake.document import Document
from assistant.parsers._nccl_lines import nccl_lines

NAME = "NCCL collectives"
TRIGGERS = (" opCount ",)
VERSIONS = "NCCL 2.4 to 2.29 and RCCL with NCCL_DEBUG_SUBSYS=COLL"
#: Numbers of collectives that are compared over all ranks, also in logs that are too large to be read whole.
MARKED = (0x8, 0x10, 0x40, 0x100, 0x400, 0x1000, 0x4000, 0x10000, 0x40000, 0x100000)
LINES = (*(f"opCount {number:x} " for number in MARKED), "Init START")

#: Calls at the end of a log that are kept, and communicators of a process.
LAST = 4
_COMMUNICATORS = 16
#: Processes of one document.
_PROCESSES = 4096
_OWN = ("Send", "Recv", "AllToAll", "AlltoAll", "Gather", "Scatter", "AllToAllv", "AlltoAllv")


@cache
def _call() -> re.Pattern[str]:
    return re.compile(
        r"(?P<name>\w+): opCount (?P<n>[0-9a-f]+) sendbuff \S+ recvbuff \S+ (?:acc \S+ )?count (?P<count>\d+) datatype (?P<type>\d+)"
        r" op (?P<op>\d+) root (?P<root>\d+) comm (?P<comm>\S+) \[nranks=(?P<size>\d+)\]"
    )


@cache
def _begun() -> re.Pattern[str]:
    return re.compile(r"comm (0x[0-9a-f]+) rank \d+ nranks \d+ .*commId (0x[0-9a-f]+)")


@dataclass(slots=True)
class _Calls:
    """What one process called in one communicator."""

    size: int
    known: str = "?"
    """The identity that all its ranks log, where this log has it."""
    at: dict[int, tuple[list[str], int]] = field(default_factory=dict)
    """Of the last and the marked numbers: the calls and the line of the first."""
    sums: dict[int, tuple[str, int]] = field(default_factory=dict)
    total: bytes = b""
    last: int = -1
    whole: bool = True
    own: bool = False


def parse(document: Document) -> Iterable[Fact]:
    ids: dict[tuple[tuple[str, str], str], str] = {}
    found: dict[tuple[str, str], dict[str, _Calls]] = {}
    processes: set[tuple[str, str]] = set()
    for line in nccl_lines(document):
        text = line.text
        process = (line.host or "", line.pid)
        processes.add(process)
        if "Init START" in text:
            begun = _begun().search(text)
            if begun:
                ids[process, begun[1]] = begun[2]
            continue
        if " opCount " not in text:
            continue
        call = _call().match(text)
        if call is None or call["size"] == "1":
            continue
        of = found.get(process)
        if of is None:
            if len(found) >= _PROCESSES:
                continue
            of = found[process] = {}
        calls = of.get(call["comm"])
        if calls is None:
            if len(of) >= _COMMUNICATORS:
                continue
            calls = of[call["comm"]] = _Calls(int(call["size"]))
            calls.known = ids.get((process, call["comm"]), "?")
        _add(calls, call, line.index)
    skimmed = bool(document.shifts)
    ends = document.first_line == 1 and (len(processes) == 1 or not skimmed)
    for of in found.values():
        for calls in of.values():
            yield from _facts(document, calls, skimmed, ends)


def _add(calls: _Calls, call: re.Match[str], index: int) -> None:
    if call["name"] in _OWN:
        calls.own = True
        return
    number = int(call["n"], 16)
    said = f"{call['name']} {call['count']} type {call['type']}" + (
        f" root {call['root']}" if call["name"] in ("Broadcast", "Reduce") else ""
    )
    if number != calls.last:
        if number != calls.last + 1:
            calls.whole = False
        if calls.whole and number in MARKED:
            calls.sums[number] = (calls.total.hex(), index)
        old = calls.last - LAST
        if old not in MARKED:
            calls.at.pop(old, None)
        calls.last = number
    said_before = calls.at.setdefault(number, ([], index))[0]
    if len(said_before) < LAST:
        said_before.append(said)
    if calls.whole:
        calls.total = blake2b(calls.total + said.encode(), digest_size=6).digest()


def _facts(document: Document, calls: _Calls, skimmed: bool, ends: bool) -> Iterable[Fact]:
    """`skimmed`: lines were left out. `ends`: the last call of the process was not."""
    if calls.own or calls.last < 0:
        return
    index = calls.at[calls.last][1]
    rank = document.line(index).rank
    if rank is None:
        return
    subject, who = Subject("rank", str(rank)), f"{calls.known}/{calls.size}"
    if ends:
        yield Fact("nccl.call_last", f"{who} #{calls.last}", document.origin(index), subject)
    for number, (said, at) in sorted(calls.at.items()):
        complete = not skimmed or number - 1 in calls.at
        if number in MARKED or (number > calls.last - LAST and complete):
            yield Fact("nccl.call", f"{who} #{number} {', '.join(said)}", document.origin(at), subject)
    if calls.whole and not skimmed:
        calls.sums[calls.last + 1] = (calls.total.hex(), index)
        for number, (total, at) in sorted(calls.sums.items()):
            yield Fact("nccl.calls_until", f"{who} #{number} {total}", document.origin(at), subject)
