"""Iteration lines of Megatron-LM, Megatron-DeepSpeed and Megatron Bridge -> step times and the rate of computing.

 iteration      100/    5000 | consumed samples:  25600 | elapsed time per iteration (ms): 1234.5 | throughput per GPU (TFLOP/s/GPU): 402.1 | ...
Step Time : 12.31s GPU utilization: 512.4MODEL_TFLOP/s/GPU
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from statistics import median

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._series import matched_lines, series_facts
from assistant.parsers._steps import Step

NAME = "Megatron iteration lines"
TRIGGERS = ("elapsed time per iteration (", "Step Time : ")
VERSIONS = "Megatron-LM 2 and 3, Megatron Core 0.4 to 0.14, Megatron-DeepSpeed, Megatron Bridge 0.1 and later"
SERIES = ("elapsed time per iteration (", "Step Time : ")

_TIME = re.compile(r"elapsed time per iteration \((m?)s\): *(\d+\.?\d*)")
_NUMBER = re.compile(r"iteration:? +(\d+)/ *\d+")
_BRIDGE = re.compile(r"Step Time : (\d+\.?\d*)s GPU utilization")
_RATES = (
    re.compile(r"TFLOP/s/GPU\): *(\d+\.?\d*)"),
    re.compile(r"TFLOPs(?: per GPU)?: *(\d+\.?\d*)"),
    re.compile(r"GPU utilization: *(\d+\.?\d*) ?MODEL_TFLOP"),
)
_SKIPPED = re.compile(r"skipped iterations: +([1-9]\d*)")


def parse(document: Document) -> Iterable[Fact]:
    text = document.text
    steps: list[Step] = []
    for index, found in matched_lines(document, ((m.start(), m) for m in _TIME.finditer(text))):
        number = _NUMBER.search(text, text.rfind("\n", 0, found.start()) + 1, found.start())
        if number is not None:
            steps.append(Step(int(number[1]), float(found[2]) * (1e-3 if found[1] else 1.0), index))
    if not steps and "Step Time : " in text:
        lines = matched_lines(document, ((m.start(), m) for m in _BRIDGE.finditer(text)))
        steps = [Step(n, float(m[1]), i) for n, (i, m) in enumerate(lines, 1)]
    if not steps:
        return
    yield from series_facts(document, "megatron", steps)
    rates = next((found for pattern in _RATES if (found := pattern.findall(text))), None)
    if rates:
        yield Fact("step.tflops_per_gpu", round(median(map(float, rates)), 2), document.origin(steps[-1].line))
    skipped = sum(int(n) for n in _SKIPPED.findall(text))
    if skipped:
        yield Fact("step.skipped", skipped, document.origin(steps[-1].line))
