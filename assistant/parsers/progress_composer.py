"""Console logger of Composer (LLM Foundry) -> the course of the step time.

[batch=50/50]: Train throughput/batches_per_sec: 1.2936  memory/peak_reserved_mem: 27.2940
[batch=1/1000]:
         Train loss/train/total: 8.4213
         Train throughput/batches_per_sec: 0.0027
         Train throughput/device/batches_per_sec: 0.0002
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._series import matched_lines, series_facts
from assistant.parsers._steps import Step

NAME = "Composer console log"
TRIGGERS = ("throughput/batches_per_sec",)
VERSIONS = "Composer 0.10 to 0.32, LLM Foundry 0.1 to 0.22"
SERIES = ("[batch=", "throughput/batches_per_sec")

_PART = re.compile(
    r"\[batch=(\d+)/\d+\]|throughput/batches_per_sec: *(\d+\.?\d*)|device_batches_per_second: *(\d+\.?\d*)"
)


def parse(document: Document) -> Iterable[Fact]:
    steps: list[Step] = []
    number = 0
    for index, found in matched_lines(document, ((m.start(), m) for m in _PART.finditer(document.text))):
        if found[1]:
            number = int(found[1])
        elif (rate := float(found[2] or found[3])) > 0:
            steps.append(Step(number or len(steps) + 1, 1 / rate, index))
    yield from series_facts(document, "composer", steps)
