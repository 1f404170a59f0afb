"""Progress lines of training programs in many forms -> step times, their course, waiting for data.

Reads, among others (frameworks with a form of their own have their own modules, progress_*.py):

    Epoch: [0][ 10/5005]  Time  0.424 ( 0.498)  Data  0.372 ( 0.070)  Loss 6.9065 (6.9074)
    Train: 0 [  50/1251 (  4%)]  Loss: 6.92 (6.93)  Time: 0.362s, 2829.27/s  (0.411s, 2490.66/s)  Data: 0.011 (0.060)
    [06/01 12:00:00 d2.utils.events]:  eta: 1:00  iter: 99  total_loss: 1.2  time: 0.5120  data_time: 0.0120  lr: 0.02
    iter 83588: loss 1.8702, time: 4377.60ms
    steps: 10 loss: 10.9 iter time (s): 1.234 samples/sec: 12.97
    completed step: 10, seconds: 12.310, TFLOP/s/device: 402.113, Tokens/s/device: 9912.3, loss: 8.1

The first lines of a text are tried against all forms; the rest only against those that were found there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from statistics import median

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._clock import clocked
from assistant.parsers._series import line_rank, series_facts
from assistant.parsers._step_forms import Form, forms
from assistant.parsers._steps import Step

NAME = "training progress"
TRIGGERS = (
    "Time",
    "time",
    "dt:",
    "sec/step",
    "s/step",
    "samples/sec",
    "step",
    "Step",
    "iter",
    "Iter",
    "epoch",
    "Epoch",
)
VERSIONS = "lines of progress of PyTorch's examples, timm, Megatron-LM, torchtitan, litgpt, tqdm, own programs"
SERIES = (
    " time: ",
    " time ",
    "Time: ",
    "Time ",
    "(s): ",
    " dt: ",
    "seconds: ",
    "/step",
    "aving checkpoint",
    "aving model checkpoint",
    "unning Evaluation",
    "alidation loss",
)

_LEARN = 3000
"""Lines that are tried against all forms."""
_EMPTY = 60_000
"""Lines looked at while nothing is found."""
_MATCHES = 60_000
"""Lines of one form that are read of one document."""


_COLOUR = re.compile(r"\x1b?\[[\d;]*m")
_DATA = re.compile(
    r"\bdata(?:[_ ]?(?:time|load(?:ing)?|wait))?s?:? *=? *(?P<t>\d+\.\d+)s?(?: \( *(?P<avg>\d+\.\d+)s?\))?",
    re.IGNORECASE,
)
_WORDS = ("step", "Step", "iter", "Iter", "batch", "Batch", "STEP", "Time", "data_time")
#: What stands on the lines that the modules of single frameworks read.
_FRAMEWORKS = re.compile(
    r"%\||elapsed time per iteration|train_step_timing|SamplesPerSec=|, skipped=|\btps: |throughput/|num_updates|time \(ms\)"
)

Waits = dict[int | None, list[tuple[float, float, int]]]
"""Wait for data, time of the step and index of the line, for each rank."""


@dataclass(slots=True)
class _Read:
    """What was found in one document."""

    steps: dict[str, list[Step]] = field(default_factory=dict)
    rates: list[Step] = field(default_factory=list)
    plain: list[tuple[int, int, int]] = field(default_factory=list)
    waits: Waits = field(default_factory=dict)
    means: list[tuple[float, float, int]] = field(default_factory=list)


def parse(document: Document) -> Iterable[Fact]:
    read = _Read()
    used, after = _learn(document, read)
    if after is not None and used:
        _rest(document, read, used, after)
    for kind, steps in read.steps.items():
        yield from series_facts(document, kind, steps)
    if not read.steps and read.rates:
        yield from series_facts(document, "rate", read.rates, absolute=False)
    if not read.steps and len(read.plain) >= 8:
        yield from series_facts(document, "clock", clocked(document, read.plain))
    yield from _mean(document, read.means)
    yield from _waits(document, read.waits)


def _learn(document: Document, read: _Read) -> tuple[list[Form], int | None]:
    """Reads the first lines. Returns the forms found there, most used first, and where the rest begins."""
    used: Counter[int] = Counter()
    tried = position = 0
    every = forms()
    for index, line in enumerate(document.lines):
        if tried >= _LEARN or (index >= _EMPTY and not used):
            return [every[i] for i, _ in used.most_common(3)], position
        position += len(line) + 1
        if not any(word in line for word in _WORDS) or _FRAMEWORKS.search(line):
            continue
        tried += 1
        line = _COLOUR.sub("", line[-4000:]) if "[" in line else line[-4000:]
        for at, form in enumerate(every):
            found = form.pattern.search(line)
            if found is not None:
                used[at] += 1
                _take(document, read, form, found, index, line[found.end() :], position - 1)
                break
    return [], None


def _rest(document: Document, read: _Read, used: list[Form], begin: int) -> None:
    """Reads the rest of a long text, by the forms that its start has."""
    text = document.text
    first = text.count("\n", 0, begin)
    for form in used:
        at, index = begin, first
        for number, found in enumerate(form.pattern.finditer(text, begin)):
            if number >= _MATCHES:
                break
            index += text.count("\n", at, found.start())
            at = found.start()
            end = text.find("\n", found.end())
            rest = text[found.end() : end if end != -1 else len(text)] if form.kind == "meter" else found[0]
            _take(document, read, form, found, index, rest, at)


def _take(
    document: Document, read: _Read, form: Form, found: re.Match[str], index: int, rest: str, position: int
) -> None:
    number = int(found["n"])
    if form.kind == "plain":
        read.plain.append((position, number, index))
        return
    try:
        value = float(found["t"].replace(",", "").rstrip(".")) * form.factor
    except ValueError:
        return
    if value <= 0:
        return
    if form.kind == "rate":
        read.rates.append(Step(number, 1 / value, index))
        return
    read.steps.setdefault(form.kind, []).append(Step(number, value, index))
    if form.kind == "meter":
        read.means.append((float(found["avg"]), value, index))
        if "ata" in rest:
            _note_wait(read.waits, line_rank(document, index), rest, value, float(found["avg"]), index)
    elif form.kind == "detection":
        read.waits.setdefault(document.line(index).rank, []).append((float(found["d"]), value, index))
    elif "ata" in found[0] or "ata" in rest:
        wait = _DATA.search(found.string if len(found.string) <= 4000 else found[0])
        if wait is not None:
            read.waits.setdefault(document.line(index).rank, []).append((float(wait["t"]), value, index))


def _note_wait(
    waits: dict[int | None, list[tuple[float, float, int]]],
    rank: int | None,
    rest: str,
    now: float,
    avg: float,
    index: int,
) -> None:
    """The wait for data of a meter line: its running mean where the line has one."""
    found = _DATA.search(rest)
    if found is None:
        return
    if found["avg"]:
        waits.setdefault(rank, []).append((float(found["avg"]), avg, index))
    else:
        waits.setdefault(rank, []).append((float(found["t"]), now, index))


def _mean(document: Document, means: list[tuple[float, float, int]]) -> Iterator[Fact]:
    """Running mean over the usual step: far above 1 where slow steps stand between those that the log shows."""
    late = means[len(means) // 2 :]
    usual = median(now for _, now, _ in late) if late else 0.0
    if len(means) >= 4 and usual > 0:
        yield Fact("step.mean_ratio", round(late[-1][0] / usual, 2), document.origin(late[-1][2]))


def _waits(document: Document, waits: dict[int | None, list[tuple[float, float, int]]]) -> Iterator[Fact]:
    """The wait for data: the rank that waits longest (running means: their last value; single values: the mean)."""
    by_rank: dict[int | None, tuple[float, float, int]] = {}
    for rank, values in waits.items():
        data, total, index = values[-1]
        running = len(values) < 3 or all(
            abs(b[1] - a[1]) <= 0.2 * max(a[1], 1e-9) for a, b in zip(values[-4:], values[-3:], strict=False)
        )
        if not running:
            data, total = sum(v[0] for v in values) / len(values), sum(v[1] for v in values) / len(values)
        if total > 0:
            by_rank[rank] = (data, total, index)
    if not by_rank:
        return
    data, total, index = max(by_rank.values(), key=lambda v: v[0] / v[1])
    origin = document.origin(index)
    yield Fact("step.data_time_s", round(data, 4), origin)
    yield Fact("step.data_share", round(min(data / total, 1.0), 3), origin)
    shares = [v[0] / v[1] for v in by_rank.values()]
    if len(shares) > 1 and max(shares) > 0.1:
        yield Fact("step.data_ranks_differ", max(shares) > 2 * min(shares), origin)
