"""Megatron's timers -> how unequal the ranks are, how long they wait for a batch.

Sample:

    (min, max) time across ranks (ms):
        forward-backward ...............................: (6042.11, 6050.88)
        forward-compute ................................: (1210.40, 3805.17)
        batch-generator ................................: (12.40, 410.02)
        save-checkpoint ................................: (312410.21, 312411.93)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from statistics import median

from assistant.facts import Fact
from assistant.intake.document import Document

NAME = "Megatron timers"
TRIGGERS = ("time across ranks (ms)", "forward-compute", "batch-generator")

_TIMER = re.compile(r"^\s*(?P<name>[a-z][\w-]+) \.*: \((?P<low>[\d.]+), (?P<high>[\d.]+)\)")


def parse(document: Document) -> Iterable[Fact]:
    seen: dict[str, list[tuple[float, float, int]]] = {}
    for index, line in enumerate(document.messages):
        found = _TIMER.match(line)
        if found is not None:
            seen.setdefault(found["name"], []).append((float(found["low"]), float(found["high"]), index))
    facts = []
    compute = [t for name in ("forward-compute", "backward-compute") for t in seen.get(name, ()) if t[0] > 0]
    if compute:
        ratio = median(high / low for low, high, _ in compute)
        facts.append(Fact("step.skew", round(ratio, 2), document.origin(compute[-1][2])))
    batch, whole = seen.get("batch-generator"), seen.get("forward-backward")
    if batch and whole:
        wait, total = median(h for _, h, _ in batch) / 1000, median(h for _, h, _ in whole) / 1000
        facts.append(Fact("step.data_time_s", round(wait, 4), document.origin(batch[-1][2])))
        if total > 0:
            facts.append(Fact("step.data_share", round(min(wait / total, 1.0), 3), document.origin(batch[-1][2])))
    return facts
