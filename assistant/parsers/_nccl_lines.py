"""The head of NCCL's log lines, shared by the parsers of this source.

gpu-a07:184233:184310 [3] NCCL INFO Using network IB
[2026-02-11 10:15:42] gpu-a07:184233:184402 [0] transport/net_ib.cc:93 NCCL WARN NET/IB : Got async event : port error
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from assistant.facts import JOB, Fact, OriginKind, Subject, Value
from assistant.intake.document import Document


@dataclass(slots=True)
class NcclLine:
    """One line of NCCL's log: `level` is INFO, WARN or BARE (the version line without a head)."""

    index: int
    level: str
    text: str
    host: str | None
    pid: str
    device: str


@cache
def _heads() -> tuple[re.Pattern[str], ...]:
    """With host, process and device; without. A mark of a launcher may stand before either."""
    level = r"(?P<level>INFO|WARN) (?P<text>.*)$"
    return (
        re.compile(
            r"(?P<host>[A-Za-z0-9][\w.-]*):(?P<pid>\d+):(?P<tid>\d+) \[(?P<dev>-?\d+)\] (?:.*?NCCL |\S+:\d+ )?" + level
        ),
        re.compile(r"(?P<host>(?!))?(?P<pid>(?!))?(?P<dev>(?!))?^.*?NCCL " + level),
    )


@cache
def _banner() -> re.Pattern[str]:
    return re.compile(r"NCCL version \d+\.\d+")


def nccl_lines(document: Document) -> list[NcclLine]:
    """All lines of NCCL, whatever a launcher put before them; read once for all parsers."""
    found: list[NcclLine] | None = document.shared.get("nccl_lines")
    if found is None:
        found = document.shared["nccl_lines"] = list(_lines(document))
    return found


def _lines(document: Document) -> Iterator[NcclLine]:
    full, bare = _heads()
    for index, line in enumerate(document.lines):
        if "NCCL" not in line and " INFO " not in line and " WARN " not in line:
            continue
        found = full.search(line) or bare.search(line)
        if found:
            yield NcclLine(
                index,
                found["level"],
                found["text"].rstrip(),
                found["host"] or document.line(index).host,
                found["pid"] or "",
                found["dev"] or "",
            )
        elif _banner().search(line):
            yield NcclLine(index, "BARE", line.strip(), document.line(index).host, "", "")


@lru_cache(maxsize=8192)
def host_subject(host: str | None) -> Subject:
    return Subject("host", host) if host else JOB


class Collected:
    """Facts of a document, each (key, value, subject) once with a count and the first origin."""

    def __init__(self, document: Document, kind: OriginKind = "log") -> None:
        self.document = document
        self.kind: OriginKind = kind
        self._found: dict[tuple[str, Value, str, str], list[Any]] = {}

    def add(self, key: str, value: Value, index: int, subject: Subject = JOB) -> None:
        mark = (key, value, subject.kind, subject.name)
        found = self._found.get(mark)
        if found is None:
            self._found[mark] = [self.document.origin(index, self.kind), subject, 1]
        else:
            found[2] += 1

    def facts(self) -> list[Fact]:
        return [
            Fact(key, value, origin, subject, count)
            for (key, value, _, _), (origin, subject, count) in self._found.items()
        ]
