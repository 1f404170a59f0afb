"""Which process is which rank: NCCL's lines carry host and pid, and a few of them tell the rank of that process.

n1:3063028:3066033 [3] NCCL INFO comm 0x55d0 rank 3 nranks 16 cudaDev 3 busId 4b000 - Init COMPLETE
n1:3063028:3066033 [3] NCCL INFO Channel 00/0 : 3[3] -> 2[2] via P2P/IPC
n1:3063028:3066152 [3] proxy.cc:1519 NCCL WARN [Proxy Service 3] Failed to execute operation Setup from rank 3, retcode 1
"""

from __future__ import annotations

import re

Process = tuple[str, str]
"""Host and pid."""

HEAD = re.compile(r"(?:^|[\s>:|\]])([A-Za-z0-9][\w.-]*):(\d+):\d+ \[\d+\] ")
_COMM = re.compile(r"\brank (\d+) nranks (\d+)\b", re.IGNORECASE)
_CHANNEL = re.compile(r"Channel \d+(?:/\d+)? ?: (\d+)\[\w+\] -> (\d+)\[\w+\](?: \[(receive|send)\])?")
_PROXY = re.compile(r"from rank (\d+), retcode")
#: Lines that are looked at, of each kind; the first ones of a log tell.
MOST = 200_000


def process_of(line: str) -> Process | None:
    """Host and pid at the head of an NCCL line."""
    found = HEAD.search(line[:200])
    return (found[1], found[2]) if found else None


def ranks_of(text: str) -> dict[Process, int]:
    """The rank of each process, from the largest communicator that its lines name, else from its channels."""
    if "NCCL " not in text:
        return {}
    by_comm: dict[Process, tuple[int, int]] = {}
    by_channel: dict[Process, int] = {}
    for number, found in enumerate(_lines_with(text)):
        if number > MOST:
            break
        process = process_of(found)
        if process is None:
            continue
        comm = _COMM.search(found)
        if comm:
            size = int(comm[2])
            if size > by_comm.get(process, (0, 0))[0]:
                by_comm[process] = (size, int(comm[1]))
            continue
        channel = _CHANNEL.search(found)
        if channel:
            by_channel.setdefault(process, int(channel[2] if channel[3] == "receive" else channel[1]))
            continue
        proxy = _PROXY.search(found)
        if proxy:
            by_channel.setdefault(process, int(proxy[1]))
    return {**by_channel, **{process: rank for process, (_, rank) in by_comm.items()}}


_TELLING = re.compile(
    r"^.*(?:\bnranks \d|Channel \d+(?:/\d+)? ?: \d|from rank \d+, retcode).*$", re.MULTILINE | re.IGNORECASE
)


def _lines_with(text: str) -> list[str]:
    return [found[0] for found in _TELLING.finditer(text)]
