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
from assistant.parsers._lines import lines_with
from assistant.parsers._net import Reader

NAME = "fi_info"
TRIGGERS = ("provider: ", "fi_getinfo: ")
VERSIONS = "libfabric 1.6 to 2.2: fi_info short and with -v"

_PROVIDER = re.compile(r"^\s*provider: (\S+)")
_DOMAIN = re.compile(r"^\s+domain: (\S+)")
_FAILED = re.compile(r"fi_getinfo: -\d+")


def parse(document: Document) -> Iterable[Fact]:
    reader = Reader(document)
    domains: dict[str | None, set[str]] = {}
    first: dict[str | None, int] = {}
    provider = ""
    for index in lines_with(document, ("provider: ", "domain: ", "fi_getinfo: -")):
        text = document.messages[index]
        head = _PROVIDER.match(text)
        domain = _DOMAIN.match(text)
        host = reader.hosts[index]
        if head:
            provider = head[1]
            first.setdefault(host, index)
            domains.setdefault(host, set())
        elif domain and provider == "efa":
            domains.setdefault(host, set()).add(re.sub(r"-(?:rdm|dgrm)$", "", domain[1]))
        elif _FAILED.search(text):
            first.setdefault(host, index)
            domains.setdefault(host, set())
    for host, names in domains.items():
        if host in first:
            yield reader.host(first[host], "net.efa_providers", len(names))
