r"""Round trips, loss and path MTU, from ping.

PING 10.0.0.2 (10.0.0.2) 8972(9000) bytes of data.
ping: local error: message too long, mtu=1500
20 packets transmitted, 19 received, 5% packet loss, time 19021ms
rtt min/avg/max/mdev = 0.081/0.112/0.208/0.021 ms
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._lines import lines_with
from assistant.parsers._net import Reader

NAME = "ping"
TRIGGERS = ("pmtu ", "packets transmitted", "min/avg/max", "message too long", "Frag needed", "bytes from ")
VERSIONS = "ping of iputils and BusyBox, fping, hping3"

#: Of these one stands in every line that is read.
_HINTS = (
    "pmtu ",
    "PING ",
    "message too long",
    "Frag needed",
    "needs to be fragmented",
    "packets transmitted",
    "bytes from ",
    "min/avg/max",
)


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "pmtu": re.compile(r"\s*\d+[?:]+ .*\bpmtu (?P<mtu>\d+)"),
        "head": re.compile(
            r"^PING \S+ (?:\([^)]*\) )?(?:from \S+ (?:\S+: )?)?(?P<size>\d+)(?:\(\d+\))? (?:data )?bytes"
        ),
        "loss": re.compile(
            r"\d+ packets transmitted, \d+ (?:packets )?received,(?: \+\d+ errors,)? (?:\+\d+ duplicates, )?(?P<pct>\d+(?:\.\d+)?)% packet loss"
        ),
        "rtt": re.compile(
            r"(?:rtt|round-trip) min/avg/max(?:/(?:mdev|stddev))? = (?P<min>\d+(?:\.\d+)?)/(?P<avg>\d+(?:\.\d+)?)/(?P<max>\d+(?:\.\d+)?)(?:/(?P<dev>\d+(?:\.\d+)?))? ms"
        ),
        "long": re.compile(r"message too long|Frag needed and DF set|Packet needs to be fragmented"),
    }


def parse(document: Document) -> Iterable[Fact]:
    reader = Reader(document)
    patterns = _patterns()
    size = 56
    small_ok, too_long = False, False
    vanished: int | None = None
    path = 0
    for index in lines_with(document, _HINTS):
        text = document.messages[index]
        pmtu = patterns["pmtu"].match(text) if "pmtu " in text else None
        if pmtu:
            if path and int(pmtu["mtu"]) < path:
                yield reader.job(index, "net.path_mtu_drops", f"{path} to {pmtu['mtu']}")
            path = int(pmtu["mtu"])
            continue
        head = patterns["head"].match(text)
        if head:
            size, too_long = int(head["size"]), False
            continue
        if patterns["long"].search(text):
            too_long = True
            yield reader.job(index, "net.ping_too_long", True)
            continue
        loss = patterns["loss"].search(text)
        if loss:
            lost = float(loss["pct"])
            if size <= 1472:
                small_ok = small_ok or lost < 50
                yield reader.job(index, "net.ping_loss_pct", lost)
            elif lost == 100 and (small_ok or too_long):
                yield reader.job(index, "net.big_ping_lost", True)
            elif lost == 100:
                vanished = index
            else:
                yield reader.job(index, "net.ping_loss_pct", lost)
            continue
        if size <= 1472 and "bytes from " in text:
            small_ok = True
            continue
        rtt = patterns["rtt"].search(text)
        if rtt:
            yield reader.job(index, "net.rtt_ms", float(rtt["avg"]))
            yield reader.job(index, "net.rtt_max_ms", float(rtt["max"]))
            if rtt["dev"]:
                yield reader.job(index, "net.rtt_mdev_ms", float(rtt["dev"]))
    if vanished is not None and small_ok:
        yield reader.job(vanished, "net.big_ping_lost", True)
