r"""Speed, MTU and state of interfaces as read from sysfs, by cat or grep.

$ cat /sys/class/net/ens4/speed
10000
/sys/class/net/bond0/mtu:9000
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._net import Reader

NAME = "sysfs network attributes"
TRIGGERS = ("/sys/class/net/",)
VERSIONS = "/sys/class/net and /sys/class/infiniband of Linux 3.10 to 6.14"

_ASKED = re.compile(r"/sys/class/net/(?P<dev>[\w.-]+)/(?P<what>speed|mtu|carrier)\b(?:[:= ]+(?P<value>-?\d+)\s*$)?")


def parse(document: Document) -> Iterable[Fact]:
    reader = Reader(document)
    waiting: list[tuple[str, str]] = []
    for index, text in enumerate(document.messages):
        asked = list(_ASKED.finditer(text))
        if asked:
            waiting = []
            for found in asked:
                inside = "container " if re.search(r"\b(?:docker|podman|kubectl|crictl|nerdctl) exec\b", text) else ""
                if found["value"]:
                    yield from _fact(reader, index, inside + found["dev"], found["what"], int(found["value"]))
                else:
                    waiting.append((inside + found["dev"], found["what"]))
            continue
        if waiting and re.fullmatch(r"\s*\d+\s*", text):
            yield from _fact(reader, index, *waiting.pop(0), int(text))
        elif text.strip():
            waiting = []


def _fact(reader: Reader, index: int, device: str, what: str, value: int) -> Iterator[Fact]:
    if what == "mtu" and value > 0:
        yield reader.nic(index, "nic.mtu", value, device)
    elif what == "speed" and value > 0:
        yield reader.nic(index, "nic.speed_gbps", value / 1000, device)
    elif what == "carrier":
        yield reader.nic(index, "nic.link", value == 1, device)
