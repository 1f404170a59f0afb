r"""TCP retransmissions of a host, from netstat -s and nstat.

Tcp:
    18233412 segments sent out
    412233 segments retransmitted

TcpOutSegs                      18233412           0.0
TcpRetransSegs                  412233             0.0
IpFragFails                     41233              0.0
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._net import Reader

NAME = "TCP statistics"
TRIGGERS = ("segments retransmit", "TcpRetransSegs", "retransmitted", "IpFragFails", "fragments failed")
VERSIONS = "netstat -s of net-tools, nstat of iproute2 3 to 6"


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "sent": re.compile(r"^\s*(?:(?P<a>\d+) segments (?:sent|send) out|TcpOutSegs\s+(?P<b>\d+))"),
        "again": re.compile(r"^\s*(?:(?P<a>\d+) segments retrans\w+|TcpRetransSegs\s+(?P<b>\d+))"),
    }


def parse(document: Document) -> Iterable[Fact]:
    reader = Reader(document)
    sent: dict[str | None, int] = {}
    for index, text in enumerate(document.messages):
        out = _patterns()["sent"].match(text)
        if out:
            sent[reader.hosts[index]] = int(out["a"] or out["b"])
            continue
        failed = re.match(r"\s*(?:IpFragFails\s+(\d+)|(\d+) fragments failed)", text)
        if failed and int(failed[1] or failed[2]) > 100:
            yield reader.host(index, "net.frag_fails", int(failed[1] or failed[2]))
            continue
        again = _patterns()["again"].match(text)
        if not again:
            continue
        count = int(again["a"] or again["b"])
        yield reader.host(index, "net.tcp_retrans", count)
        total = sent.get(reader.hosts[index], 0)
        if total > 1000:
            yield reader.host(index, "net.tcp_retrans_pct", round(100 * count / total, 3))
