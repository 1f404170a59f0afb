"""Which host a part of a pasted text is about: headings and shell prompts that name it.

== node1                      node1$ pip list
2.3.1+cu121                   torch   2.3.1
== node2                      [u@node2 ~]$ pip list
"""

from __future__ import annotations

import re
from functools import cache

from assistant.intake.document import Document


@cache
def _heading() -> re.Pattern[str]:
    return re.compile(
        r"^\s*(?:={2,}|-{2,}|#{1,4}|\*{2,}|>{2,})[\s:]*(?:(?:host|node|on)[: ]*)?(?P<host>[A-Za-z][\w.-]*\d[\w.-]*|head|master|worker)\s*(?::\s*)?(?:(?:={2,}|-{2,}|#+|\*{2,}|<{2,})\s*)?$"
    )


@cache
def _prompt() -> re.Pattern[str]:
    return re.compile(
        r"^\s*(?:\[?(?:[\w.-]+@)(?P<at>[A-Za-z][\w.-]*)[: ][^$#\]]{0,80}\]?[$#]|(?P<plain>[A-Za-z][\w.-]*\d[\w.-]*)(?::[^$#\s]{0,60})?[$#>])\s+\S"
    )


def section_hosts(document: Document) -> list[str | None]:
    """For each line the host whose heading or prompt stands above it; all None unless two hosts are named so."""
    known: list[str | None] | None = document.shared.get("sections.hosts")
    if known is not None:
        return known
    current: str | None = None
    hosts: list[str | None] = []
    named: set[str] = set()
    for message in document.messages:
        if len(message) < 200:
            found = _heading().match(message)
            if found:
                current = found["host"]
                named.add(current)
            else:
                prompt = _prompt().match(message)
                if prompt:
                    current = prompt["at"] or prompt["plain"]
                    named.add(current)
        hosts.append(current)
    if len(named) < 2:
        hosts = [None] * len(hosts)
    document.shared["sections.hosts"] = hosts
    return hosts
