"""Statistics over the step times of one log: spread, spikes and their period, drift, lasting changes of level."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from assistant.facts import Fact
from assistant.intake.document import Document

#: Steps at the start that are left out: compilation, caches, allocator and NCCL set-up.
WARM_UP = 3
#: A step this many times as long as the median is a spike.
SPIKE = 1.8
#: Smallest lasting change of the step time that is reported.
SHIFT = 1.03


@dataclass(frozen=True, slots=True)
class Step:
    """One timed step: `number` as logged (or counted), `seconds` (or any unit where `absolute` is false)."""

    number: int
    seconds: float
    line: int


def step_facts(document: Document, series: list[Step], *, absolute: bool = True) -> Iterator[Fact]:
    """What the step times of one rank tell. Needs two steps for a median and more for anything about its course."""
    if not series:
        return
    steady = series[WARM_UP:] if len(series) > 2 * WARM_UP else series[1:] if len(series) > 2 else series
    times = [s.seconds for s in steady]
    middle = median(times)
    if middle <= 0:
        return
    first, last = steady[0], steady[-1]

    def fact(key: str, value: float | int, at: Step) -> Fact:
        return Fact(key, value, document.origin(at.line))

    longest = max(steady, key=lambda s: s.seconds)
    yield fact("step.count", len(series), last)
    if absolute:
        yield fact("step.time_s", round(middle, 4), first)
        yield fact("step.time_max_s", round(longest.seconds, 4), longest)
        if len(series) > 4 and series[0].seconds > 3 * middle:
            yield fact("step.first_time_s", round(series[0].seconds, 3), series[0])
    if len(steady) >= 5:
        yield fact("step.spike_ratio", round(longest.seconds / middle, 3), longest)
        period = spike_period(steady)
        if period is not None:
            yield fact("step.spike_period", period, longest)
    if len(steady) >= 30:
        tenth = len(times) // 10
        yield fact("step.drift", round(median(times[-tenth:]) / median(times[:tenth]), 3), last)
    shift = level_shift(steady)
    if shift is not None:
        yield fact("step.level_shift", round(shift[0], 3), shift[1])


def spike_period(steps: list[Step]) -> int | None:
    """Steps from one slow step to the next, where at least three of them come at equal distances."""
    middle = median(s.seconds for s in steps)
    slow = [s.number for s in steps if s.seconds >= SPIKE * middle]
    if not 3 <= len(slow) <= len(steps) // 3:
        return None
    gaps = [b - a for a, b in pairwise(slow)]
    gap = round(median(gaps))
    if gap < 2:
        return None
    regular = sum(1 for g in gaps if abs(g - gap) <= max(1, gap // 20))
    return gap if regular >= 0.7 * len(gaps) else None


def level_shift(steps: list[Step]) -> tuple[float, Step] | None:
    """The lasting change of the step time: later over earlier, and the first step after it.

    The two sides must not overlap (single spikes apart), so that noise and regular spikes are not taken for a change."""
    times = [s.seconds for s in steps]
    best: tuple[float, Step] | None = None
    best_fit = 0.0
    ceiling = _quantile(times, 0.95)
    stride = max(1, len(times) // 400)
    for cut in range(4, len(times) - 1, stride):
        before, after = times[:cut], times[cut:]
        ratio = median(after) / median(before)
        if 1 / SHIFT < ratio < SHIFT or (len(after) < 4 and ratio > 3):
            continue
        low, high = (before, after) if ratio > 1 else (after, before)
        gap = _quantile(high, 0.1) - _quantile(low, 0.9)
        spread = _quantile(low, 0.9) - _quantile(low, 0.1)
        fit = _separation([min(t, ceiling) for t in before], [min(t, ceiling) for t in after])
        if gap > 2 * spread and fit > best_fit:
            best, best_fit = (ratio, steps[cut]), fit
    return best


def _separation(before: list[float], after: list[float]) -> float:
    """How well a cut explains the values: the variance between the two sides."""
    return len(before) * len(after) * (sum(after) / len(after) - sum(before) / len(before)) ** 2


def _quantile(values: Iterable[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, round(share * (len(ordered) - 1))))]
