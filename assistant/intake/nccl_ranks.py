"""Which process is which rank: NCCL's lines carry host and pid, and a few of them tell the rank of that process.

n1:3063028:3066033 [3] NCCL INFO comm 0x55d0 rank 3 nranks 16 cudaDev 3 busId 4b000 - Init COMPLETE
n1:3063028:3066033 [3] NCCL INFO Channel 00/0 : 3[3] -> 2[2] via P2P/IPC
n1:3063028:3066152 [3] proxy.cc:1519 NCCL WARN [Proxy Service 3] Failed to execute operation Setup from rank 3, retcode 1
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator

Process = tuple[str, str]
"""Host and pid."""

HEAD = re.compile(r"(?:^|[\s>:|\]])([A-Za-z0-9][\w.-]*):(\d+):\d+ \[\d+\] ")
_COMM = re.compile(r"\brank (\d+) nranks (\d+)\b", re.IGNORECASE)
_CHANNEL = re.compile(r"Channel \d+(?:/\d+)? ?: (\d+)\[\w+\] -> (\d+)\[\w+\](?: \[(receive|send)\])?")
_PROXY = re.compile(r"from rank (\d+), retcode")
#: Lines that are looked at, of each kind; the first ones of a log tell.
MOST = 200_000
#: Heads of lines whose process is remembered.
_HEADS = 10_000


def process_of(line: str) -> Process | None:
    """Host and pid at the head of an NCCL line."""
    found = HEAD.search(line[:200])
    return (found[1], found[2]) if found else None


def ranks_of(text: str) -> dict[Process, int]:
    """The rank of each process, from the largest communicator that its lines name, else from its channels."""
    if "NCCL " not in text:
        return {}
    sizes: dict[Process, int] = {}
    ranks: dict[Process, int] = {}
    for literal in ("nranks ", "nRanks "):
        for process, line in _lines_with(text, literal):
            comm = _COMM.search(line)
            if comm and int(comm[2]) > sizes.get(process, 0):
                sizes[process], ranks[process] = int(comm[2]), int(comm[1])
    for process, line in _lines_with(text, "Channel ", ranks):
        channel = _CHANNEL.search(line)
        if channel:
            ranks[process] = int(channel[2] if channel[3] == "receive" else channel[1])
    for process, line in _lines_with(text, "from rank ", ranks):
        proxy = _PROXY.search(line)
        if proxy:
            ranks[process] = int(proxy[1])
    return ranks


def _lines_with(text: str, literal: str, known: Container[Process] = ()) -> Iterator[tuple[Process, str]]:
    """Lines with this literal of processes that are not yet known, with their process."""
    processes: dict[str, Process | None] = {}
    at = text.find(literal)
    for _ in range(MOST):
        if at == -1:
            return
        start = text.rfind("\n", 0, at) + 1
        end = text.find("\n", at)
        if end == -1:
            end = len(text)
        stop = text.find("] ", start, min(at, start + 200))
        while stop != -1 and not text.startswith("NCCL", stop + 2):
            # The head ends at the device: a launcher's mark and a time may stand before it.
            later = text.find("] ", stop + 2, min(at, start + 200))
            if later == -1:
                break
            stop = later
        head = text[start : stop + 2] if stop != -1 else text[start : start + 200]
        if head not in processes:
            if len(processes) >= _HEADS:
                processes.clear()
            processes[head] = process_of(head)
        process = processes[head]
        if process is not None and process not in known:
            yield process, text[start:end]
        at = text.find(literal, end)
