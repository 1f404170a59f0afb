"""Iteration lines of TorchTitan -> the course of the throughput, step times from the clock, use of the GPU's peak.

[titan] 2025-01-12 08:31:02,114 - root - INFO - step: 10  loss:  8.0123  grad_norm: 1.2  memory: 29.16GiB(36.87%)  tps: 2,456  tflops: 142.22  mfu: 14.38%
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from statistics import median

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._clock import clocked
from assistant.parsers._series import matched_lines, series_facts
from assistant.parsers._steps import Step

NAME = "TorchTitan iteration lines"
TRIGGERS = ("tps: ",)
VERSIONS = "TorchTitan 0.1 and 0.2"
SERIES = ("tps: ",)

_LINE = re.compile(
    r"step: *(\d+)[^\n]{0,200}?tps: *(\d[\d,]*(?:\.\d+)?)(?:[^\n]{0,60}?tflops: *(\d[\d,]*(?:\.\d+)?))?(?:[^\n]{0,40}?mfu: *(\d+\.?\d*)%)?"
)


def parse(document: Document) -> Iterable[Fact]:
    found = list(matched_lines(document, ((m.start(), m) for m in _LINE.finditer(document.text))))
    rates = [(int(m[1]), float(m[2].replace(",", "")), i) for i, m in found]
    timed = clocked(document, [(m.start(), int(m[1]), i) for i, m in found])
    yield from series_facts(document, "clock", timed)
    if not timed:
        yield from series_facts(document, "rate", [Step(n, 1 / v, i) for n, v, i in rates if v > 0], absolute=False)
    steady = [m for _, m in found[len(found) // 4 :]]
    for key, group in (("step.tflops_per_gpu", 3), ("step.mfu_pct", 4)):
        values = [float(m[group].replace(",", "")) for m in steady if m[group]]
        if values:
            yield Fact(key, round(median(values), 2), document.origin(found[-1][0]))
