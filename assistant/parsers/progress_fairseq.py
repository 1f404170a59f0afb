"""Iteration lines of fairseq -> step times, from the clock of the run where it is fine enough, else from updates a second.

2021-01-01 12:00:00 | INFO | train_inner | epoch 001:    100 / 5000 loss=12.3, ppl=5043, wps=12345, ups=1.23, wpb=10036, bsz=340, num_updates=100, lr=1e-05, gnorm=2.1, train_wall=80, gb_free=9.1, wall=95
{"epoch": 1, "update": 0.02, "loss": "12.3", "wps": "12345", "ups": "1.23", "num_updates": "100", "train_wall": "80", "wall": "95"}
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._series import matched_lines, series_facts
from assistant.parsers._steps import Step

NAME = "fairseq iteration lines"
TRIGGERS = ("num_updates=", '"num_updates"')
VERSIONS = "fairseq 0.9 to 0.12: simple and JSON log format"
SERIES = ("num_updates=", '"num_updates"')

_TEXT = re.compile(r"\bups=(\d+\.?\d*),[^\n]{0,120}?\bnum_updates=(\d+)(?:[^\n]{0,160}?[ ,]wall=(\d+))?")
_JSON = re.compile(r'"ups": "(\d+\.?\d*)"[^\n]{0,160}?"num_updates": "(\d+)"(?:[^\n]{0,240}?"wall": "(\d+)")?')
#: The clock counts whole seconds: from this many on it is good to 5 %.
_CLOCK = 20


def parse(document: Document) -> Iterable[Fact]:
    text = document.text
    steps: list[Step] = []
    for pattern in (_TEXT, _JSON):
        if (SERIES[0] if pattern is _TEXT else SERIES[1]) not in text:
            continue
        before: tuple[int, int] | None = None
        for index, found in matched_lines(document, ((m.start(), m) for m in pattern.finditer(text))):
            number, rate = int(found[2]), float(found[1])
            wall = int(found[3]) if found[3] else None
            if before is not None and wall is not None and number > before[0] and wall - before[1] >= _CLOCK:
                steps.append(Step(number, (wall - before[1]) / (number - before[0]), index))
            elif rate > 0:
                steps.append(Step(number, 1 / rate, index))
            before = (number, wall) if wall is not None else None
        if steps:
            break
    yield from series_facts(document, "fairseq", steps)
