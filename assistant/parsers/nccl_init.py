"""The life of NCCL's communicators: which ranks began to initialise, which completed, how many nodes.

What follows over all ranks (how many, who is missing) is derived: `derive.n15_ranks`.

gpu-a07:184233:184310 [3] NCCL INFO ncclCommInitRankConfig comm 0x55d0c8a01230 rank 3 nranks 16 cudaDev 3 nvmlDev 3 busId 4b000 commId 0x9bb27e3ad0a1b2c3 - Init START
gpu-a07:184233:184310 [3] NCCL INFO comm 0x55d0c8a01230 rank 3 nRanks 16 nNodes 2 localRanks 8 localRank 3 MNNVL 0
gpu-a07:184233:184310 [3] NCCL INFO comm 0x7f6e14001060 rank 3 nranks 16 cudaDev 3 busId 4b000 - Init COMPLETE
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache

from assistant.facts import Fact, Subject
from assistant.intake.document import Document
from assistant.parsers._nccl_lines import Collected, nccl_lines

NAME = "NCCL communicators"
TRIGGERS = ("NCCL INFO", "NCCL WARN")
VERSIONS = "NCCL 2.10 to 2.28: begin and end of ncclCommInitRank"
LINES = (
    "Init START",
    "Init COMPLETE",
    "- COMPLETE",
    "nNodes ",
    "Bootstrap",
)


@cache
def _re(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


@dataclass(slots=True)
class _Communicator:
    size: int
    first: int
    started: dict[int, int] = field(default_factory=dict)
    completed: dict[int, int] = field(default_factory=dict)


def parse(document: Document) -> Iterable[Fact]:
    out = Collected(document)
    known: dict[tuple[str, int], _Communicator] = {}
    where: dict[tuple[str, str, int], int] = {}
    hosts: dict[str, int] = {}
    addresses: dict[str, int] = {}
    nodes: dict[int, int] = {}
    local: dict[int, int] = {}
    for line in nccl_lines(document):
        text = line.text
        if line.host:
            hosts.setdefault(line.host, line.index)
        if "nranks" in text and ("START" in text or "COMPLETE" in text):
            found = _re(
                r"comm 0x[0-9a-f]+ rank (\d+) nranks (\d+)(?:.*?commId (0x[0-9a-f]+))?.*?- ?(Init START|(?:Init )?COMPLETE)"
            ).search(text)
            if found and "Destroy" not in text and "Abort" not in text:
                rank, size = int(found[1]), int(found[2])
                comm = known.setdefault((found[3] or "", size), _Communicator(size, line.index))
                (comm.started if found[4] == "Init START" else comm.completed).setdefault(rank, line.index)
                if found[3] and line.host:
                    where.setdefault((found[3], line.host, size), line.index)
        elif "nNodes" in text:
            found = _re(r"nRanks (\d+) nNodes (\d+) localRanks (\d+)").search(text)
            if found:
                nodes.setdefault(int(found[2]), line.index)
                local.setdefault(int(found[3]), line.index)
        elif "Bootstrap" in text:
            found = _re(r"Using ?(?:\[0\])?[\w.@-]+:(\d+\.\d+\.\d+\.\d+)<").search(text)
            if found and not found[1].startswith("127."):
                addresses.setdefault(found[1], line.index)
    if hosts:
        out.add("nccl.hosts_seen", max(len(hosts), len(addresses)), min(hosts.values()))
    if nodes:
        out.add("nccl.nnodes", max(nodes), nodes[max(nodes)])
    if local:
        out.add("nccl.local_ranks", max(local), local[max(local)])
    if known:
        _largest(out, known)
        size = max(c.size for c in known.values())
        for (ident, host, ranks), index in where.items():
            if ranks == size:
                out.add("nccl.comm", f"{ident} of {size}", index, Subject("host", host))
    elif hosts and document.rank is not None and (own := document.own_rank) is not None:
        last = max((i for i, message in enumerate(document.messages) if message.strip()), default=0)
        out.add("nccl.log_without_init", document.messages[last].strip()[:160], last, Subject("rank", str(own)))
    return out.facts()


def _largest(out: Collected, known: dict[tuple[str, int], _Communicator]) -> None:
    size = max(c.size for c in known.values())
    comm = max(
        (c for c in known.values() if c.size == size), key=lambda c: (len(c.started) + len(c.completed), -c.first)
    )
    out.add("nccl.nranks", size, comm.first)
    for state, ranks in (("started", comm.started), ("completed", comm.completed)):
        for rank, index in ranks.items():
            out.add("nccl.init_rank", f"{state} of {size}", index, Subject("rank", str(rank)))
