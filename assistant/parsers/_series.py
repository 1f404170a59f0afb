"""A series of timed steps as one bounded fact for each document and rank, and back.

A large file comes in several documents, so a document cannot judge the whole. It gives a summary: the first steps one by
one, the rest as runs with their median, all slow steps, quantiles, and the lines near which something is saved or evaluated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Any

from assistant.facts import Fact, Origin
from assistant.intake.document import Document
from assistant.parsers._marks import marks
from assistant.parsers._steps import SPIKE, Step, level_shift, steady_part

KEY = "step.series"
#: Points of one summary: single steps at its start, then as many runs.
SINGLES = 16
RUNS = 112
#: Slow steps and marks of one summary.
SLOW = 96
MARKS = 96
QUANTILES = 17
#: Ranks of one document whose series are told in full; of more only the longest is, and numbers of the others.
FULL = 16
_QUOTE = 240
_NAMED = re.compile(r"\brank[ :=]*(\d+)", re.IGNORECASE)
#: Which series speaks for a file that has several kinds of lines: the better ones first.
PRIORITY = (
    "meter",
    "detection",
    "megatron",
    "nemo",
    "deepspeed",
    "titan",
    "fairseq",
    "composer",
    "text",
    "breakdown",
    "clock",
    "epoch-bar",
    "bar",
    "rate",
)


@dataclass(slots=True)
class Series:
    """The steps of one rank in one file, put together again."""

    source: str
    absolute: bool
    count: int = 0
    steps: list[Step] = field(default_factory=list)
    slow: list[Step] = field(default_factory=list)
    marks: list[tuple[int, str]] = field(default_factory=list)
    quantiles: list[tuple[float, int]] = field(default_factory=list)
    shifts: list[Step] = field(default_factory=list)
    slow_told: int = 0
    slow_all: int = 0
    quotes: dict[int, str] = field(default_factory=dict)
    long: bool = False
    """Some steps are runs of many, and `slow` holds the single slow ones."""
    origin: Origin = field(default_factory=lambda: Origin("log"))

    @property
    def untold(self) -> float:
        """How many slow steps of runs there were for each that is told."""
        return self.slow_all / self.slow_told if self.slow_told else 1.0

    def at(self, step: Step) -> Origin:
        """Where this step stands, with its line where that was kept."""
        first = self.origin
        return Origin(first.kind, first.file, step.line, first.host, first.rank, self.quotes.get(step.line))


def matched_lines(document: Document, spans: Iterable[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
    """The index of the line for each position in the text; positions rise."""
    text = document.text
    at = index = 0
    for start, found in spans:
        index += text.count("\n", at, start)
        at = start
        yield index, found


def line_rank(document: Document, index: int) -> int | None:
    """The rank that the line is from, by its mark, its file or the words at its start."""
    line = document.line(index)
    if line.rank is None:
        named = _NAMED.search(line.text, 0, 60)
        return int(named[1]) if named else None
    return line.rank


def by_rank(document: Document, steps: list[Step]) -> dict[int | None, list[Step]]:
    """The steps of each rank. Where a sample of lines names one rank only, all are of that rank."""
    sample = {line_rank(document, s.line) for s in [*steps[:32], *steps[:: max(1, len(steps) // 64)]]}
    if len(sample) <= 1:
        return {next(iter(sample), None): steps}
    found: dict[int | None, list[Step]] = {}
    for step in steps:
        found.setdefault(line_rank(document, step.line), []).append(step)
    return found


def series_facts(document: Document, source: str, steps: list[Step], *, absolute: bool = True) -> Iterator[Fact]:
    """One fact for each rank. `line` of the steps is an index in the document."""
    if not steps:
        return
    near = marks(document)
    ranks = {rank: own for rank, some in by_rank(document, steps).items() if (own := _once(some))}
    longest = max(ranks, key=lambda r: len(ranks[r]), default=None)
    for rank, own in ranks.items():
        if len(ranks) <= FULL or rank == longest:
            summary = _summary(document, source, own, near, absolute)
        else:
            summary = _brief(document, source, own, absolute)
        origin = document.origin(own[0].line)
        if origin.rank != rank:
            origin = Origin(origin.kind, origin.file, origin.line, origin.host, rank, origin.quote, origin.time)
        yield Fact(KEY, json.dumps(summary, separators=(",", ":")), origin)


def _once(steps: list[Step]) -> list[Step]:
    """Each step once: bars show the same step again and again, and several ranks may print it."""
    kept: list[Step] = []
    for step in steps:
        if step.seconds <= 0:
            continue
        if kept and kept[-1].number == step.number:
            step = step if step.seconds > kept[-1].seconds else kept[-1]
            kept[-1] = step
        else:
            kept.append(step)
    return kept


def _short(value: float) -> float:
    return float(f"{value:.6g}")


def _quantiles(ordered: list[float]) -> list[float]:
    last = len(ordered) - 1
    return [_short(ordered[round(i * last / (QUANTILES - 1))]) for i in range(QUANTILES)]


def _brief(document: Document, source: str, steps: list[Step], absolute: bool) -> dict[str, Any]:
    """First and last step, number of steps and quantiles: enough to compare ranks."""
    ends = [steps[0], steps[-1]] if len(steps) > 1 else steps
    out: dict[str, Any] = {"s": source, "n": len(steps), "l": {}}
    if not absolute:
        out["r"] = 1
    out["p"] = [[s.number, _short(s.seconds), document.number(s.line), 0] for s in ends]
    out["q"] = _quantiles(sorted(s.seconds for s in steps))
    return out


def _summary(
    document: Document, source: str, steps: list[Step], near: list[tuple[int, str]], absolute: bool
) -> dict[str, Any]:
    number = document.number
    single = steps if len(steps) <= SINGLES + RUNS else steps[:SINGLES]
    rest = steps[len(single) :]
    gaps = [0, *(number(b.line) - number(a.line) for a, b in pairwise(steps))] if len(steps) < 4096 else None

    def gap(i: int) -> int:
        return gaps[i] if gaps is not None else number(steps[i].line) - number(steps[i - 1].line) if i else 0

    copies = sum(document.repeats.get(s.line, 0) for s in steps) if document.repeats else 0
    out: dict[str, Any] = {"s": source, "n": len(steps) + copies}
    if not absolute:
        out["r"] = 1
    ordered = sorted(s.seconds for s in steps)
    telling = {steps[0].line, steps[-1].line, max(steps, key=lambda s: s.seconds).line}
    shift = level_shift(steady_part(steps))
    if shift is not None:
        out["h"] = [shift[1].number, _short(shift[1].seconds), number(shift[1].line)]
        telling.add(shift[1].line)
    out["p"] = [[s.number, _short(s.seconds), number(s.line), gap(i)] for i, s in enumerate(single)]
    if rest:
        size = -(-len(rest) // RUNS)
        runs = [rest[i : i + size] for i in range(0, len(rest), size)]
        out["b"] = [[r[0].number, _short(median(s.seconds for s in r)), number(r[0].line), len(r)] for r in runs]
        out["q"] = _quantiles(ordered)
        high = SPIKE * ordered[len(ordered) // 2]
        slow = [i for i in range(len(single), len(steps)) if steps[i].seconds >= high]
        telling |= {steps[i].line for i in slow[:3]}
        longest = max(slow, key=lambda i: steps[i].seconds, default=None)
        chosen = slow[:SLOW] if longest is None or longest in slow[:SLOW] else [*slow[: SLOW - 1], longest]
        out["xn"] = len(slow)
        out["x"] = [[steps[i].number, _short(steps[i].seconds), number(steps[i].line), gap(i)] for i in chosen]
    else:
        telling |= {s.line for s in sorted(steps, key=lambda s: -s.seconds)[:3]}
    if near:
        out["m"] = [[number(i), kind] for i, kind in near[:MARKS]]
    out["l"] = {str(number(i)): (document.origin(i).quote or "")[:_QUOTE] for i in sorted(telling)}
    return out


def read_series(facts: list[Fact]) -> list[Series]:
    """The series of each file, kind of line and rank; the documents of a file in their order."""
    found: dict[tuple[str | None, str, int | None, str | None], Series] = {}
    for fact in sorted(facts, key=lambda f: (f.origin.file or "", f.origin.line or 0)):
        raw = json.loads(str(fact.value))
        key = (fact.origin.file, raw["s"], fact.origin.rank, fact.origin.host)
        series = found.get(key)
        if series is None:
            series = found[key] = Series(raw["s"], "r" not in raw, origin=fact.origin)
        _add(series, raw)
    return list(found.values())


def _add(series: Series, raw: dict[str, Any]) -> None:
    series.count += raw["n"]
    singles = [Step(n, v, line, 1, gap) for n, v, line, gap in raw["p"]]
    runs = [Step(n, v, line, weight) for n, v, line, weight in raw.get("b", ())]
    series.steps += [*singles, *runs]
    series.long = series.long or bool(runs)
    series.slow += [*singles, *(Step(n, v, line, 1, gap) for n, v, line, gap in raw.get("x", ()))]
    series.slow_told += len(raw.get("x", ()))
    series.slow_all += raw.get("xn", 0)
    if "q" in raw:
        series.quantiles += [(v, max(1, raw["n"] // QUANTILES)) for v in raw["q"]]
    else:
        series.quantiles += [(s.seconds, 1) for s in singles]
    series.marks += [(line, kind) for line, kind in raw.get("m", ())]
    if "h" in raw:
        series.shifts.append(Step(*raw["h"]))
    series.quotes.update({int(line): quote for line, quote in raw["l"].items() if quote})
