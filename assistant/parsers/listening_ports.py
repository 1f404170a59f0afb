"""Which process listens on a port: ss, netstat, lsof and fuser.

LISTEN 0 2048 *:29500 *:* users:(("python",pid=88213,fd=11))
tcp6   0 0    :::29500 :::* LISTEN 88213/python
python 88213 u 11u IPv6 112233 0t0 TCP *:29500 (LISTEN)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from assistant.facts import Fact
from assistant.intake.document import Document

NAME = "listening ports"
TRIGGERS = ("LISTEN", "/tcp:")
VERSIONS = "ss -ltnp of iproute2 3 to 6, netstat -ltnp, lsof -i, fuser"


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    return (
        re.compile(
            r"^\s*(?:tcp\s+)?LISTEN\s+\d+\s+\d+\s+\S+?:(?P<port>\d+)\s+\S+(?:\s+users:\(\(\"(?P<program>[^\"]+)\")?"
        ),
        re.compile(
            r"^\s*tcp6?\s+\d+\s+\d+\s+\S+?:(?P<port>\d+)\s+\S+\s+LISTEN(?:\s+\d+\s+\d+)?(?:\s+(?:\d+/(?P<program>[^\s:]+)|-))?"
        ),
        re.compile(r"^\s*(?P<program>\S+)\s+\d+\s+\S+\s+\d+u\s+IPv[46]\s+.*TCP \S*:(?P<port>\d+) \(LISTEN\)"),
        re.compile(r"^\s*(?P<port>\d+)/tcp:\s+(?P<program>\d+)"),
    )


def parse(document: Document) -> Iterable[Fact]:
    for index, message in enumerate(document.messages):
        if "LISTEN" not in message and "/tcp:" not in message:
            continue
        for pattern in _patterns():
            found = pattern.match(message)
            if found:
                yield Fact(
                    "port.listener", f"{found['port']} {found['program'] or '?'}", document.origin(index, "tool")
                )
                break
