r"""Connection tests to a port, from nc, telnet, ncat, nmap and bash's /dev/tcp.

nc: connect to 10.0.0.2 port 29500 (tcp) failed: Connection timed out
Connection to 10.0.0.2 29500 port [tcp/*] succeeded!
telnet: Unable to connect to remote host: Connection refused
29500/tcp filtered unknown
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._net import Reader

NAME = "port test"
TRIGGERS = (
    "nc: connect",
    "Ncat: ",
    "succeeded!",
    "telnet",
    "/tcp filtered",
    "/tcp  filtered",
    "/tcp closed",
    "/tcp open",
    "(UNKNOWN) [",
)
VERSIONS = "nc of OpenBSD and nmap (ncat), telnet, nmap 7, bash /dev/tcp"


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "nc": re.compile(
            r"nc: connect to (?P<host>\S+)(?: \(\S+\))? port (?P<port>\d+) \(tcp\) (?:failed: |timed out: )(?P<why>.+)$"
        ),
        "ok": re.compile(r"Connection to (?P<host>\S+)(?: \(\S+\))? (?P<port>\d+) port \[tcp/\S+\] succeeded"),
        "nmap": re.compile(r"^(?P<port>\d+)/tcp\s+(?P<state>filtered|open)\b"),
        "ncat": re.compile(r"^Ncat: (?P<why>Connection timed out|No route to host|TIMEOUT)\."),
        "telnet": re.compile(
            r"telnet: Unable to connect to remote host: (?P<why>Connection timed out|No route to host)"
        ),
    }


def parse(document: Document) -> Iterable[Fact]:
    reader = Reader(document)
    patterns = _patterns()
    for index, text in enumerate(document.messages):
        found = patterns["nc"].search(text)
        if found:
            if "refused" not in found["why"]:
                yield reader.job(index, "net.port_blocked", f"{found['host']}:{found['port']}")
            continue
        found = patterns["ok"].search(text)
        if found:
            yield reader.job(index, "net.port_open", f"{found['host']}:{found['port']}")
            continue
        found = patterns["nmap"].match(text)
        if found:
            yield reader.job(
                index, "net.port_blocked" if found["state"] == "filtered" else "net.port_open", f":{found['port']}"
            )
            continue
        found = patterns["ncat"].match(text) or patterns["telnet"].search(text)
        if found:
            yield reader.job(index, "net.port_blocked", found["why"])
