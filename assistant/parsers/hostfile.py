"""Host files of DeepSpeed, Open MPI and MPICH: hosts with their slots.

worker-1 slots=8
worker-2 slots=8 max_slots=8
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from assistant.facts import Fact
from assistant.intake.document import Document

NAME = "host file"
TRIGGERS = (" slots=", "\tslots=")
VERSIONS = "host files of DeepSpeed, Open MPI and Intel MPI"

_LINE = re.compile(
    r"^(?P<host>[A-Za-z0-9][\w.:-]*)\s+slots\s*=\s*(?P<slots>\d{1,4})\b(?:\s+max[_-]slots\s*=\s*\d+)?\s*(?:#.*)?$"
)


def parse(document: Document) -> Iterable[Fact]:
    found: dict[str, tuple[int, int]] = {}
    for index, line in enumerate(document.lines):
        matched = _LINE.match(line) if "slots" in line else None
        if matched:
            found.setdefault(matched["host"], (index, int(matched["slots"])))
    if not found:
        return
    origin = document.origin(min(i for i, _ in found.values()), "config")
    yield Fact("hostfile.hosts", len(found), origin)
    yield Fact("hostfile.slots", sum(s for _, s in found.values()), origin)
    yield Fact("hostfile.slots_max", max(s for _, s in found.values()), origin)
