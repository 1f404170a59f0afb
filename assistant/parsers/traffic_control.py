r"""Rate limits and artificial delay or loss on an interface, from tc qdisc, tc class and the commands that set them.

qdisc tbf 8001: dev eth0 root refcnt 2 rate 1Gbit burst 32Kb lat 50ms
qdisc netem 8002: dev eth0 root refcnt 2 limit 1000 delay 20ms loss 1%
class htb 1:10 root prio 0 rate 10Gbit ceil 10Gbit burst 0b cburst 0b
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._lines import lines_with
from assistant.parsers._net import Reader, gbps

NAME = "tc"
TRIGGERS = ("qdisc ", "class htb", "wondershaper")
VERSIONS = "tc of iproute2 3 to 6 (tbf, htb, netem, fq), wondershaper"

_RATE = re.compile(r"(?:qdisc .{0,200}?\btbf\b|class htb).{0,300}?\brate (?P<n>\d+(?:\.\d+)?)(?P<unit>[KMGkmg]?bit)")
_DEVICE = re.compile(r"\bdev (?P<dev>[\w.@-]+)")
_NETEM = re.compile(r"\bnetem\b.{0,300}?(?P<what>(?:delay|loss|reorder|rate) \S+(?: .*)?)$")


def parse(document: Document) -> Iterable[Fact]:
    reader = Reader(document)
    device = "interface"
    for index in lines_with(document, ("qdisc ", "class htb", "netem", "dev ")):
        text = document.messages[index]
        named = _DEVICE.search(text)
        if named:
            device = named["dev"]
        rate = _RATE.search(text)
        if rate:
            yield reader.nic(index, "net.shaper_gbps", gbps(rate["n"], rate["unit"]), device)
        netem = _NETEM.search(text)
        if netem:
            yield reader.nic(index, "net.netem", netem["what"][:60], device)
