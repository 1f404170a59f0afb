"""Which rank runs on which host, as launchers and programs print it -> whether neighbouring ranks sit on different hosts.

Samples:

    [Rank 1] host node-b local_rank 0
    rank 3: gpu-07
    Data for node: n01 ... Process OMPI jobid: [1,1] App: 0 Process rank: 2
    Hello from rank 5 of 16 on node n02, device 1
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._lines import lines_with

NAME = "placement of ranks"
TRIGGERS = ("Process rank:", "ank 0", "ank 1", "ank: 0", "ank=0", "RANK=0", "RANK: 0")
VERSIONS = "Open MPI's job map, lines of rank and host of launchers and programs"

_BOTH = re.compile(
    r"(?i)(?<![a-z_])(?:global[_ -])?rank[ =:#]{1,3}(?P<rank>\d{1,5})\b[^\n]{0,60}?\b(?:host(?:name)?|node(?:name)?)[ =:]{1,3}(?P<host>[A-Za-z][\w.-]*\d[\w.-]*|[\w-]+-[a-z])\b"
)
_SHORT = re.compile(r"^\s*(?i:rank) (?P<rank>\d{1,5}) ?(?::|->|=>|on|@) ?(?P<host>[a-z][\w.-]*\d)\s*$")
_NODE = re.compile(r"Data for node: (?P<host>\S+)")
_PROCESS = re.compile(r"Process rank: (?P<rank>\d+)")
_FEWEST = 4
_HINTS = ("rank ", "rank:", "rank=", "rank#", "RANK", "Rank", "Data for node: ")
_LONGEST_SHORT = 80


def _named(line: str) -> bool:
    """Whether a line can name a host."""
    return "host" in line or "node" in line or "Host" in line or "Node" in line or "HOST" in line or "NODE" in line


def parse(document: Document) -> Iterable[Fact]:
    hosts: dict[int, str] = {}
    first = 0
    node = ""
    for index in lines_with(document, _HINTS):
        line = document.lines[index]
        if len(line) > _LONGEST_SHORT and not _named(line):
            continue
        heading = _NODE.search(line)
        if heading is not None:
            node = heading["host"]
        process = _PROCESS.search(line)
        found = _BOTH.search(line) or _SHORT.match(line)
        if process is not None and node:
            hosts.setdefault(int(process["rank"]), node)
        elif found is not None:
            first = first if hosts else index
            hosts.setdefault(int(found["rank"]), found["host"])
    ranks = sorted(hosts)
    if len(ranks) < _FEWEST or ranks[-1] - ranks[0] + 1 != len(ranks) or len(set(hosts.values())) * 2 > len(ranks):
        return []
    changes = sum(hosts[a] != hosts[b] for a, b in pairwise(ranks))
    if changes >= (len(ranks) - 1) * 0.7:
        return [Fact("launch.cyclic", True, document.origin(first))]
    return []
