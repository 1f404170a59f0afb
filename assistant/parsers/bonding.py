r"""Links of a bond, from /proc/net/bonding.

Slave Interface: ens2f1
MII Status: down
Speed: Unknown
Link Failure Count: 93
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._net import Reader

NAME = "bonding"
TRIGGERS = ("Slave Interface:",)
VERSIONS = "Linux 3.10 to 6.12: /proc/net/bonding/*, 802.3ad and other modes"

#: Links fail a few times while a host boots or is cabled.
_FEW = 3


def parse(document: Document) -> Iterable[Fact]:
    reader = Reader(document)
    device = ""
    for index, text in enumerate(document.messages):
        found = re.match(r"\s*(?P<key>Slave Interface|MII Status|Link Failure Count|Speed): (?P<value>\S+)", text)
        if not found:
            continue
        key, value = found["key"], found["value"]
        if key == "Slave Interface":
            device = value
        elif device and key == "MII Status":
            yield reader.nic(index, "nic.link", value == "up", device)
            if value != "up":
                yield reader.nic(index, "net.bond_link_down", device, device)
        elif device and key == "Speed" and value.isdecimal():
            yield reader.nic(index, "nic.speed_gbps", int(value) / 1000, device)
        elif device and key == "Link Failure Count" and value.isdecimal() and int(value) > _FEW:
            yield reader.nic(index, "nic.error_counter", "Link Failure Count", device, int(value))
