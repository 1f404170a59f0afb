r"""Libfabric providers, from fi_info.

provider: efa
    fabric: efa
    domain: rdmap16s27-rdm

fi_getinfo: -61 (No data available)
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._net import Reader

NAME = "fi_info"
TRIGGERS = ("provider: ", "fi_getinfo: ")
VERSIONS = "libfabric 1.6 to 2.2: fi_info short and with -v"


def parse(document: Document) -> Iterable[Fact]:
    reader = Reader(document)
    domains: dict[str | None, set[str]] = {}
    first: dict[str | None, int] = {}
    provider = ""
    for index, text in enumerate(document.messages):
        head = re.match(r"^\s*provider: (\S+)", text)
        domain = re.match(r"^\s+domain: (\S+)", text)
        host = reader.hosts[index]
        if head:
            provider = head[1]
            first.setdefault(host, index)
            domains.setdefault(host, set())
        elif domain and provider == "efa":
            domains.setdefault(host, set()).add(re.sub(r"-(?:rdm|dgrm)$", "", domain[1]))
        elif re.search(r"fi_getinfo: -\d+", text):
            first.setdefault(host, index)
            domains.setdefault(host, set())
    for host, names in domains.items():
        if host in first:
            yield reader.host(first[host], "net.efa_providers", len(names))
