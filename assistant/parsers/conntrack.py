r"""Connection tracking and listen queues: fill of the conntrack table, `conntrack -S`, listen overflows of `nstat`.

$ cat /proc/sys/net/netfilter/nf_conntrack_count /proc/sys/net/netfilter/nf_conntrack_max
262144
262144
cpu=0 found=11 invalid=9912 insert=0 insert_failed=20112 drop=20112 early_drop=0 error=0
TcpExtListenOverflows           21877              0.0
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from assistant.facts import Fact, Value
from assistant.intake.document import Document
from assistant.parsers._device import host_subject, hosts_by_line
from assistant.parsers._lines import lines_with, with_next

NAME = "connection tracking"
TRIGGERS = ("nf_conntrack_count", "insert_failed=", "ListenOverflows", "listen queue of a socket overflowed")
VERSIONS = "Linux 3.10 to 6.12: /proc/sys/net/netfilter, conntrack -S, nstat"

_NAMED = re.compile(r"nf_conntrack_(count|max)\b")
_VALUE = re.compile(r"^\S*nf_conntrack_(?P<name>count|max)\s*[:=]\s*(?P<n>\d+)$")
_DROPPED = re.compile(r"\binsert_failed=(?P<n>\d+) drop=(?P<d>\d+)")
_OVERFLOWS = re.compile(
    r"^TcpExtListenOverflows\s+(?P<a>\d+)|^(?P<b>\d+) times the listen queue of a socket overflowed"
)


def parse(document: Document) -> Iterable[Fact]:
    asked: list[str] = []
    found: dict[str, int] = {}
    asking = ("nf_conntrack_",)
    indices = lines_with(document, (*asking, "insert_failed=", "ListenOverflows", "listen queue of a socket"))
    for index in with_next(document, indices, asking):
        line = document.lines[index].strip()
        named = _NAMED.findall(line)
        value = _VALUE.match(line)
        if value:
            found[value["name"]] = int(value["n"])
        elif named:
            asked = named
        elif asked and line.isdecimal():
            found[asked.pop(0)] = int(line)
        if found.get("max") and found.get("count", 0) >= 0.97 * found["max"]:
            yield _fact(document, index, "kernel.table_full", "conntrack")
            found = {}
        dropped = _DROPPED.search(line)
        if dropped and int(dropped["d"]) > 100:
            yield _fact(document, index, "kernel.table_full", "conntrack")
        overflow = _OVERFLOWS.match(line)
        if overflow and (count := int(overflow["a"] or overflow["b"])) > 0:
            yield _fact(document, index, "port.listen_overflows", count)


def _fact(document: Document, index: int, key: str, value: Value) -> Fact:
    return Fact(key, value, document.origin(index, "tool"), host_subject(hosts_by_line(document)[index]))
