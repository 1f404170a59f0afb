"""limits.conf and what systemd grants: limits that every login gets, before any process has started.

*    soft    memlock    unlimited
*    hard    nofile     1048576
LimitMEMLOCK=infinity
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from assistant.facts import Fact
from assistant.intake.document import Document

NAME = "limits of logins and services"
TRIGGERS = (" memlock", "\tmemlock", " nofile ", "\tnofile", "LimitMEMLOCK=", "LimitNOFILE=")
VERSIONS = "pam_limits of Linux-PAM 1.x, systemd units"

_LINE = re.compile(
    r"^\s*(?:\*|[@%]?\w[\w.:-]*)\s+(?P<type>soft|hard|-)\s+(?P<item>memlock|nofile|nproc|stack)\s+(?P<value>unlimited|infinity|-?\d+)\s*(?:#.*)?$"
)
_UNIT = re.compile(r"^Limit(?P<item>MEMLOCK|NOFILE|NPROC)=(?P<value>infinity|\d+)(?P<unit>[KMGT]?)\s*$")
_KEYS = {"memlock": "limit.memlock_kb", "nofile": "limit.nofile", "nproc": "limit.nproc"}
_SCALE = {"": 1 / 1024, "K": 1, "M": 1024, "G": 1024**2, "T": 1024**3}


def parse(document: Document) -> Iterable[Fact]:
    granted: dict[str, tuple[int, int]] = {}
    for index, line in enumerate(document.lines):
        if not line or line[0] == "#" or len(line) > 200:
            continue
        found = _LINE.match(line) if "soft" in line or "hard" in line or " - " in line else None
        if found is not None:
            item, value = found["item"], -1 if found["value"] in ("unlimited", "infinity") else int(found["value"])
        else:
            unit = _UNIT.match(line) if line.startswith("Limit") else None
            if unit is None:
                continue
            item = unit["item"].lower()
            value = -1 if unit["value"] == "infinity" else int(unit["value"])
            if item == "memlock" and value > 0:
                value = int(value * _SCALE[unit["unit"]])
        known = granted.get(item)
        if known is None or (value >= 0 and (known[1] < 0 or value < known[1])):
            granted[item] = (index, value)
    for item, (index, value) in granted.items():
        if item in _KEYS:
            yield Fact(_KEYS[item], value, document.origin(index, "config"))
