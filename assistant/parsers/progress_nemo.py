"""Iteration lines of NeMo -> step times.

Training epoch 0, iteration 28/99 | lr: 5.6e-06 | global_step: 28 | reduced_train_loss: 2.778 | train_step_timing in s: 0.189 | consumed_samples: 928
Epoch 0:   1%| | 10/1000 [00:50<1:20:00, v_num=0, reduced_train_loss=7.1, global_step=10.0, train_step_timing in s=4.71]
[NeMo I 2025-03-04 02:58:29 perf_metrics_utils:56] train_step_timing in s: [11.85, 6.98, 2.18, 2.18]
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._series import matched_lines, series_facts
from assistant.parsers._steps import Step

NAME = "NeMo iteration lines"
TRIGGERS = ("train_step_timing in s", "train_step_timing:")
VERSIONS = "NeMo 1.20 to 2.6"
SERIES = ("train_step_timing",)

_TIMING = re.compile(r"train_step_timing(?: in s)?[=:] ?(\d+\.?\d*)")
_STEP = re.compile(r"global_step[=:] ?(\d+)")
_ITERATION = re.compile(r"iteration +(\d+)/\d+")
_LIST = re.compile(r"train_step_timing in s: \[([\d., ]+)\]")


def parse(document: Document) -> Iterable[Fact]:
    text = document.text
    steps: list[Step] = []
    for index, found in matched_lines(document, ((m.start(), m) for m in _TIMING.finditer(text))):
        start = text.rfind("\n", 0, found.start()) + 1
        number = _STEP.search(text, start, found.start()) or _ITERATION.search(text, start, found.start())
        steps.append(Step(int(number[1]) if number else len(steps) + 1, float(found[1]), index))
    listed = None if steps else _LIST.search(text)
    if listed is not None:
        index = text.count("\n", 0, listed.start())
        steps = [Step(n, float(v), index) for n, v in enumerate(re.findall(r"\d+\.?\d*", listed[1]), 1)]
    yield from series_facts(document, "nemo", steps)
