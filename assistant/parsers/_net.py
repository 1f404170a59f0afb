"""What the network parsers share: which host a piece of output belongs to, rates, subjects."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache, cached_property

from assistant.facts import Fact, Origin, Subject, Value
from assistant.intake.document import Document

_UNIT = {"": 1e-9, "k": 1e-6, "m": 1e-3, "g": 1.0, "t": 1e3}


@cache
def _markers() -> tuple[re.Pattern[str], ...]:
    return (
        # == node7 ==, ### node7, ---- node7 ----, [node7], >>> node7
        re.compile(
            r"^(?:={2,}|#{1,4}|-{3,}|>{2,}) ?(?:host:? |node:? |on )?([A-Za-z][\w.-]*\d[\w.-]*|[A-Za-z]+-[\w.-]+):? ?[=#-]*$"
        ),
        # user@node7:~$ command, [user@node7 ~]$ command, node7:~$ command, node7$ command
        re.compile(r"^(?:\([\w.-]+\) )?\[?[\w.-]+@([A-Za-z0-9][\w.-]*)[: ][^$#]*[$#] "),
        re.compile(r"^([A-Za-z][\w.-]*):[~/][^ $#]*[$#] "),
        re.compile(r"^(?!(?:bash|sh|zsh|root|user|sudo|admin)[$#]|(?:sh|bash)-\d)([A-Za-z][\w.-]*)[$#] [a-z./]"),
        # node7 | CHANGED | rc=0 >>
        re.compile(r"^([A-Za-z][\w.-]*) \| (?:CHANGED|SUCCESS|FAILED|UNREACHABLE)\b.*>>"),
        # [node7]$ command
        re.compile(r"^\[([A-Za-z][\w.-]*)\][$#] "),
        # ssh node7 command
        re.compile(r"^(?:[$#] )?ssh (?:-\w+ )*(?:\w+@)?([A-Za-z][\w.-]*) \w"),
    )


def hosts(document: Document) -> list[str | None]:
    """For every line the host whose output it is, where a heading or a prompt before it tells."""
    known: list[str | None] | None = document.shared.get("net.hosts")
    if known is not None:
        return known
    found: list[str | None] = []
    document.shared["net.hosts"] = found
    current = document.host
    for text in document.messages:
        if text and _may_name(text):
            for marker in _markers():
                match = marker.match(text)
                if match:
                    current = match[1]
                    break
        found.append(current)
    return found


def _may_name(text: str) -> bool:
    """Whether one of the markers can stand here."""
    first = text[0]
    if first in "=#->" or text.endswith(" >>") or text.startswith("ssh "):
        return True
    if "$ " in text or "# " in text:
        return first in "[($" or "$ " in text[:80] or "# " in text[:80]
    return False


class Reader:
    """Makes facts of one document's tool output, with the host filled in."""

    def __init__(self, document: Document) -> None:
        self.document = document

    @cached_property
    def hosts(self) -> list[str | None]:
        """The host of each line: not looked for before there is a fact."""
        return hosts(self.document)

    def origin(self, index: int) -> Origin:
        origin = self.document.origin(index, "tool")
        host = self.hosts[index]
        return replace(origin, host=host) if host is not None and origin.host is None else origin

    def nic(self, index: int, key: str, value: Value, device: str, count: int = 1) -> Fact:
        origin = self.origin(index)
        name = f"{origin.host}/{device}" if origin.host else device
        return Fact(key, value, origin, Subject("nic", name), count)

    def host(self, index: int, key: str, value: Value, count: int = 1) -> Fact:
        origin = self.origin(index)
        subject = Subject("host", origin.host) if origin.host else Subject("job")
        return Fact(key, value, origin, subject, count)

    def job(self, index: int, key: str, value: Value, count: int = 1) -> Fact:
        return Fact(key, value, self.origin(index), count=count)


def gbps(number: str, unit: str) -> float:
    """Gbit/s of a figure such as 95.2 Mbits/sec, 1.1 GBytes/sec or 40Gbit."""
    rate = float(number) * _UNIT.get(unit[:1].lower() if unit[:1].lower() in "kmgt" else "", 1.0)
    return round(rate * 8 if re.match(r"[kKmMgGtT]?i?(?:B|Byte)", unit) else rate, 6)
