"""Iteration lines of DeepSpeed -> step times, the course of the throughput, skipped steps, where the time of a step goes.

[2023-08-02 00:41:17,935] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=10, lr=[0.0001], mom=[(0.9, 0.999)]
[2023-08-02 00:41:17,936] [INFO] [timer.py:215:stop] epoch=0/micro_step=10/global_step=10, RunningAvgSamplesPerSec=220.6, CurrSamplesPerSec=222.8, MemAllocated=0.07GB
[2024-03-20 16:22:19,683] [INFO] [logging.py:96:log_dist] [Rank 0] time (ms) | fwd: 38.59 | bwd: 112.67 | bwd_inner: 105.08 | bwd_allreduce: 7.59 | step: 8.29
[deepspeed] rank=0 time (ms) | forward: 2112.33 | backward: 4224.66 | step: 31.10
0/20, RunningAvgSamplesPerSec=232.7, CurrSamplesPerSec=227.4
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from statistics import median

from assistant.facts import Fact, Subject
from assistant.intake.document import Document
from assistant.parsers._clock import clocked
from assistant.parsers._series import by_rank, matched_lines, series_facts
from assistant.parsers._steps import Step

NAME = "DeepSpeed iteration lines"
TRIGGERS = ("CurrSamplesPerSec=", "skipped=", "time (ms) | fwd", "time (ms) | forward", "| bwd_allreduce: ")
VERSIONS = "DeepSpeed 0.3 to 0.18"
SERIES = ("CurrSamplesPerSec=", "skipped=", "time (ms) | f")

_STEP = re.compile(r"step=(\d+), skipped=(\d+), lr=")
_RATE = re.compile(r"CurrSamplesPerSec=(\d+\.?\d*)")
_NUMBER = re.compile(r"(?:global_step=|\b\d+/)(\d+), (?:Running|Curr)")
_BREAKDOWN = re.compile(
    r"time \(ms\) \| f(?:wd|orward): (\d+\.?\d*) \| b(?:wd|ackward): (\d+\.?\d*)(?: \| bwd_inner: (\d+\.?\d*))?(?: \| bwd_allreduce: (\d+\.?\d*))? \| step: (\d+\.?\d*)"
)


def parse(document: Document) -> Iterable[Fact]:
    text = document.text
    stepped = list(matched_lines(document, ((m.start(), m) for m in _STEP.finditer(text))))
    rates = list(_rates(document)) if "CurrSamplesPerSec=" in text else []
    timed = [(m.start(), int(m[1]), i) for i, m in stepped]
    if len(rates) > len(timed):
        timed = [(position, number, i) for number, _, i, position in rates]
    steps = clocked(document, timed)
    yield from series_facts(document, "clock", steps)
    if not steps:
        yield from series_facts(document, "rate", [Step(n, 1 / v, i) for n, v, i, _ in rates if v > 0], absolute=False)
    if stepped and int(stepped[-1][1][2]):
        yield Fact("step.skipped", int(stepped[-1][1][2]), document.origin(stepped[-1][0]))
    if "time (ms) | f" in text:
        yield from _breakdown(document)


def _rates(document: Document) -> Iterator[tuple[int, float, int, int]]:
    """Number of the step, samples a second, index of the line, position in the text."""
    text = document.text
    for index, found in matched_lines(document, ((m.start(), m) for m in _RATE.finditer(text))):
        position = found.start()
        number = _NUMBER.search(text, text.rfind("\n", 0, position) + 1, position + 16)
        if number is not None:
            yield int(number[1]), float(found[1]), index, position


def _breakdown(document: Document) -> Iterator[Fact]:
    """Forward, backward and optimizer of each step; the waits of the exchange are not in forward and inner backward."""
    found = list(matched_lines(document, ((m.start(), m) for m in _BREAKDOWN.finditer(document.text))))
    whole: list[Step] = []
    own: list[Step] = []
    shares: dict[str, list[float]] = {}
    for number, (index, m) in enumerate(found, 1):
        forward, backward, inner, exchange, step = (float(v) if v else None for v in m.groups())
        total = (forward or 0.0) + (backward or 0.0) + (step or 0.0)
        if total <= 0:
            continue
        whole.append(Step(number, total / 1000, index))
        if inner is not None and forward is not None:
            own.append(Step(number, forward + inner, index))
        for key, value in (
            ("step.forward_share", forward),
            ("step.optimizer_share", step),
            ("step.exchange_share", exchange),
        ):
            if value is not None:
                shares.setdefault(key, []).append(value / total)
    yield from series_facts(document, "breakdown", whole)
    for key, values in shares.items():
        yield Fact(key, round(median(values), 3), document.origin(whole[-1].line))
    for rank, steps in by_rank(document, own).items() if own else ():
        if rank is not None and len(steps) >= 3:
            value = round(median(s.seconds for s in steps), 3)
            yield Fact("rank.compute_ms", value, document.origin(steps[-1].line), Subject("rank", str(rank)))
