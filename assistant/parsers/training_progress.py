"""Progress lines of training programs -> step times, their course, waiting for data.

Reads, among others:

    Epoch: [0][ 10/5005]  Time  0.424 ( 0.498)  Data  0.372 ( 0.070)  Loss 6.9065 (6.9074)
    Train: 0 [  50/1251 (  4%)]  Loss: 6.92 (6.93)  Time: 0.362s, 2829.27/s  (0.411s, 2490.66/s)  Data: 0.011 (0.060)
     iteration   42776/  115311 | consumed samples: 71447472 | elapsed time per iteration (ms): 10519.0 | ...
    step: 10  loss:  8.0  memory: 29.16GiB(36.87%)  tps: 2,456  tflops: 142.22  mfu: 14.38%
    iter 83588: loss 1.8702, time: 4377.60ms
     46%|####6     | 58/125 [00:11<00:13, 5.10it/s, train_loss=0.697]
    steps: 10 loss: 10.9 iter time (s): 1.234 samples/sec: 12.97
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from statistics import median

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._steps import Step, step_facts

NAME = "training progress"
TRIGGERS = ("Time", "time", "it/s", "s/it", "tps:", "dt:", "sec/step", "SamplesPerSec", "samples/sec", "step", "iter")

_PLAIN = 200_000
"""Lines read at most."""


@cache
def _forms() -> tuple[tuple[re.Pattern[str], float], ...]:
    """Forms of a line with a step time and what a value is multiplied with to get seconds (0: a rate per second)."""
    number = r"(?P<n>\d+)"
    return tuple(
        (re.compile(pattern, re.IGNORECASE), factor)
        for pattern, factor in (
            (rf"\biteration:?\s+{number}\s*/.*?elapsed time per iteration \(ms\): (?P<t>[\d.]+)", 1e-3),
            (rf"\biteration:?\s+{number}\s*/.*?elapsed time per iteration \(s\): (?P<t>[\d.]+)", 1.0),
            (rf"\bsteps?:? {number} .*?iter time \(s\): (?P<t>[\d.]+)", 1.0),
            (r"train_step_timing in s[=:] ?(?P<t>[\d.]+)", 1.0),
            (
                rf"\b(?:step|iter(?:ation)?|batch)\b[ #:=\[]*{number}\b.*?\b(?:(?:step|iter|batch|elapsed|total|avg)[ _-]?)?(?:time|dt|took|elapsed)\b(?: per \w+)?\s*[:=]?\s*(?P<t>\d+(?:\.\d+)?(?:e-?\d+)?) ?ms\b",
                1e-3,
            ),
            (
                rf"\b(?:step|iter(?:ation)?|batch)\b[ #:=\[]*{number}\b.*?\b(?:(?:step|iter|batch)[ _-]?)?(?:time|dt|took)(?: ?\(s(?:ec)?\)|/step)?\s*[:=]?\s*(?P<t>\d+\.\d+) ?(?:s|sec|secs|seconds)?\b(?![:%])",
                1.0,
            ),
            (rf"\bstep {number}\b.*?\((?P<t>[\d.]+) sec(?:onds)?/(?:step|batch)\)", 1.0),
            (rf"\bstep[s]?\b[ #:=\[]*{number}\b.*?\b(?P<t>\d+\.\d+) ?s(?:ec)?/(?:step|it|iter)", 1.0),
        )
    )


_METER = re.compile(r"\[\s*(?P<n>\d+)/\s*\d+[^\]]*\].{0,80}?\bTime:? +(?P<t>\d+\.\d+)s? \( *(?P<avg>\d+\.\d+)s?\)")
_DATA = re.compile(
    r"\bdata(?:[_ ]?(?:time|load(?:ing)?|wait))?s?:? *=? *(?P<t>\d+\.\d+)s?(?: \( *(?P<avg>\d+\.\d+)s?\))?",
    re.IGNORECASE,
)
_TIMM = re.compile(r"\[\s*(?P<n>\d+)/\d+ .*?\bTime: (?P<t>[\d.]+)s, +[\d.]+/s +\( *(?P<avg>[\d.]+)s")
_DET = re.compile(
    r"(?:\biter(?:ation)?:? ?\[?|\]?\[ *)(?P<n>\d+).*?\btime: (?P<t>\d+\.\d+)\b.*?\bdata_time: (?P<d>\d+\.\d+)",
    re.IGNORECASE,
)
_RATE = re.compile(
    r"\bstep: *(?P<n>\d+)\b.*?\btps: *(?P<r>[\d,]+(?:\.\d+)?)|global_step=(?P<n2>\d+).*?CurrSamplesPerSec=(?P<r2>[\d.]+)|\bsteps?:? (?P<n3>\d+)\b.*?\b(?:samples|tokens|tok|toks|images|imgs|examples)(?:/s(?:ec)?(?:ond)?\b|_per_s\w*| per second)\S*?\s*[:=]?\s*(?P<r3>[\d,]+\.?\d*)",
    re.IGNORECASE,
)
_TQDM = re.compile(
    r"(?P<pct>\d+)%\|[^|]{0,400}\| *(?P<n>\d+)/(?P<total>\d+) \[(?P<elapsed>[\d:]+)<(?P<left>[\d:?]+), +(?P<rate>[\d.]+)(?P<unit>s/(?:it|step|batch|ba)|(?:it|step|batch|ba)(?:ches)?/s)"
)
_COLOUR = re.compile(r"\x1b?\[[\d;]*m")
_SIDE_TASK = re.compile(
    r"tokeniz|\bmap\b|filter|download|loading (?:dataset|checkpoint|pipeline|weights)|fetching|generating \w+ split|\beval|valid|\btest|predict|sanity",
    re.IGNORECASE,
)


def parse(document: Document) -> Iterable[Fact]:
    series: dict[tuple[str, int | None], list[Step]] = {}
    rates: dict[int | None, list[Step]] = {}
    waits: dict[int | None, list[tuple[float, float, int]]] = {}
    means: list[tuple[float, float, int]] = []
    counted = 0
    for index, message in enumerate(document.messages[:_PLAIN]):
        message = _COLOUR.sub("", message[-4000:])
        meter = _METER.search(message) or _TIMM.search(message)
        if meter is not None:
            rank = _rank(document, index, message)
            series.setdefault(("meter", rank), []).append(Step(int(meter["n"]), float(meter["t"]), index))
            means.append((float(meter["avg"]), float(meter["t"]), index))
            _note_wait(waits, rank, message[meter.end() :], float(meter["t"]), float(meter["avg"]), index)
            continue
        if "data_time" in message:
            found = _DET.search(message)
            if found is not None:
                rank = document.line(index).rank
                series.setdefault(("det", rank), []).append(Step(int(found["n"]), float(found["t"]), index))
                waits.setdefault(rank, []).append((float(found["d"]), float(found["t"]), index))
                continue
        bar = _last_bar(message)
        if bar is not None:
            if not _SIDE_TASK.search(message[: bar.start()][-60:]):
                rate = float(bar["rate"])
                seconds = rate if bar["unit"].startswith("s/") else (1 / rate if rate else 0.0)
                if seconds > 0 and int(bar["n"]) > 0:
                    series.setdefault(("bar", document.line(index).rank), []).append(
                        Step(int(bar["n"]), seconds, index)
                    )
            continue
        if not any(mark in message for mark in ("step", "Step", "iter", "Iter", "batch", "Batch", "STEP")):
            continue
        timed = _timed(message)
        if timed is not None:
            number, seconds = timed
            counted += 1
            rank = document.line(index).rank
            series.setdefault(("text", rank), []).append(Step(number if number >= 0 else counted, seconds, index))
            wait = _DATA.search(message)
            if wait is not None:
                waits.setdefault(rank, []).append((float(wait["t"]), seconds, index))
            continue
        rate_line = _RATE.search(message)
        if rate_line is not None:
            number_text = rate_line["n"] or rate_line["n2"] or rate_line["n3"]
            value = float((rate_line["r"] or rate_line["r2"] or rate_line["r3"]).replace(",", "").rstrip(".") or 0)
            if value > 0:
                rates.setdefault(document.line(index).rank, []).append(Step(int(number_text), 1 / value, index))
    return [*_all(document, series, rates), *_mean(document, means), *_waits(document, waits)]


def _rank(document: Document, index: int, message: str) -> int | None:
    rank = document.line(index).rank
    if rank is None:
        named = re.search(r"\brank[ :=]*(\d+)", message[:60], re.IGNORECASE)
        rank = int(named[1]) if named else None
    return rank


def _last_bar(message: str) -> re.Match[str] | None:
    if "%|" not in message:
        return None
    bars = list(_TQDM.finditer(message))
    return bars[-1] if bars else None


def _timed(message: str) -> tuple[int, float] | None:
    for form, factor in _forms():
        found = form.search(message)
        if found is not None:
            number = found.groupdict().get("n")
            return (int(number) if number else -1), float(found["t"]) * factor
    return None


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


def _all(
    document: Document, series: dict[tuple[str, int | None], list[Step]], rates: dict[int | None, list[Step]]
) -> Iterator[Fact]:
    """Facts of the longest series: one kind of line, one rank."""
    if series:
        best = max(series, key=lambda k: ({"meter": 3, "det": 3, "text": 2, "bar": 1}[k[0]], len(series[k])))
        yield from step_facts(document, series[best])
    elif rates:
        yield from step_facts(document, max(rates.values(), key=len), absolute=False)


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
