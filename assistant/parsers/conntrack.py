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

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._device import host_subject, hosts_by_line

NAME = "connection tracking"
TRIGGERS = ("nf_conntrack_count", "insert_failed=", "ListenOverflows", "listen queue of a socket overflowed")
VERSIONS = "Linux 3.10 to 6.12: /proc/sys/net/netfilter, conntrack -S, nstat"


def parse(document: Document) -> Iterable[Fact]:
    hosts = hosts_by_line(document)
    asked: list[str] = []
    found: dict[str, int] = {}
    for index, text in enumerate(document.lines):
        line = text.strip()
        origin, subject = document.origin(index, "tool"), host_subject(hosts[index])
        named = re.findall(r"nf_conntrack_(count|max)\b", line)
        value = re.match(r"^\S*nf_conntrack_(?P<name>count|max)\s*[:=]\s*(?P<n>\d+)$", line)
        if value:
            found[value["name"]] = int(value["n"])
        elif named:
            asked = named
        elif asked and line.isdecimal():
            found[asked.pop(0)] = int(line)
        if found.get("max") and found.get("count", 0) >= 0.97 * found["max"]:
            yield Fact("kernel.table_full", "conntrack", origin, subject)
            found = {}
        dropped = re.search(r"\binsert_failed=(?P<n>\d+) drop=(?P<d>\d+)", line)
        if dropped and int(dropped["d"]) > 100:
            yield Fact("kernel.table_full", "conntrack", origin, subject)
        overflow = re.match(r"^TcpExtListenOverflows\s+(?P<n>\d+)", line) or re.match(
            r"^(?P<n>\d+) times the listen queue of a socket overflowed", line
        )
        if overflow and int(overflow["n"]) > 0:
            yield Fact("port.listen_overflows", int(overflow["n"]), origin, subject)
