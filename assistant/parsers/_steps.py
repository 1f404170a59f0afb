"""Statistics over the step times of one log, robust against noise: spread, spikes and their period, drift, changes of level.

Pure: they work on the steps as they were logged or, of long logs, on runs of them with a weight each.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from statistics import median

from assistant.facts import Fact
from assistant.intake.document import Document

#: Steps at the start that are left out: compilation, caches, allocator and NCCL set-up.
WARM_UP = 3
#: A step this many times as long as the median is a spike.
SPIKE = 1.8
#: Smallest lasting change of the step time that is reported.
SHIFT = 1.03
#: Steps at the start this many times as long as the median are a slow start.
START = 1.5
#: Median absolute deviation times this is the standard deviation of a normal distribution.
SIGMA = 1.4826
#: Steps between which slopes are compared, at most.
_SLOPES = 128
#: Cuts that are tried for a change of level, those that explain most first.
_CUTS = 64
#: Runs that a long series is cut into before a change of level is looked for.
_COARSE = 512


@dataclass(frozen=True, slots=True)
class Step:
    """One timed step, or a run of `weight` steps with their median: `number` as logged (or counted)."""

    number: int
    seconds: float
    line: int
    weight: int = 1
    gap: int = 0
    """Lines since the timed line before it, where that is known."""


@dataclass(frozen=True, slots=True)
class Stall:
    """A slow step, or several in a row."""

    step: Step
    extra: float
    """Seconds over what the steps usually take."""


Told = tuple[str, float | int, Step]
"""Key, value and the step that shows it."""


def usual(steps: Iterable[Step]) -> float:
    """Weighted median of the step times."""
    ordered = sorted((s.seconds, s.weight) for s in steps)
    sums = list(accumulate(w for _, w in ordered))
    if not sums:
        return 0.0
    at = bisect_left(sums, sums[-1] / 2)
    if sums[at] * 2 == sums[-1] and at + 1 < len(ordered):
        return (ordered[at][0] + ordered[at + 1][0]) / 2
    return ordered[at][0]


def steady_part(steps: list[Step]) -> list[Step]:
    """Without the first steps, where enough are left."""
    return steps[WARM_UP:] if len(steps) > 2 * WARM_UP else steps[1:] if len(steps) > 2 else steps


def sampled(steps: list[Step]) -> bool:
    """Whether a good part of the steps between the first and the last is missing."""
    own = sum(s.weight for s in steps)
    span = steps[-1].number - steps[0].number if steps else 0
    return own >= 8 and own * interval(steps) < 0.7 * span


def course(steps: list[Step], slow: list[Step] | None = None, *, absolute: bool = True) -> list[Told]:
    """What the step times of one rank tell. Needs two steps for a median and more for anything about its course.

    `slow` are the single slow steps, where `steps` are runs of many."""
    steady = steady_part(steps)
    middle = usual(steady)
    if middle <= 0:
        return []
    singles = steady if slow is None else slow
    longest = max([*singles, *(s for s in steady if s.weight == 1)] or steady, key=lambda s: s.seconds)
    told: list[Told] = [("step.count", sum(s.weight for s in steps), steady[-1])]
    if absolute:
        told.append(("step.time_s", round(middle, 4), steady[0]))
        told.append(("step.time_max_s", round(longest.seconds, 4), longest))
        if len(steps) > 4 and steps[0].seconds > 3 * middle:
            told.append(("step.first_time_s", round(steps[0].seconds, 3), steps[0]))
    shift = level_shift(steady)
    if len(steady) >= 5:
        told.append(("step.spike_ratio", round(longest.seconds / middle, 3), longest))
        told += _stalls(steady, singles, shift)
    if len(steady) >= 8:
        told += _start(steps, middle)
    if len(steady) >= 30:
        tenth = len(steady) // 10
        drift = usual(steady[-tenth:]) / usual(steady[:tenth])
        told.append(("step.drift", round(drift, 3), steady[-1]))
        slope = None if shift is not None else drift_of(steady)
        if slope is not None:
            told.append(("step.drift_per_1000", round(1000 * slope / middle, 4), steady[-1]))
    if shift is not None:
        told.append(("step.level_shift", round(shift[0], 3), shift[1]))
        told.append(("step.shift_at", shift[1].number, shift[1]))
    return told


def step_facts(document: Document, series: list[Step], *, absolute: bool = True) -> Iterator[Fact]:
    """`course` as facts of a document; `line` of each step is an index in it."""
    for key, value, step in course(series, absolute=absolute):
        yield Fact(key, value, document.origin(step.line))


def _start(steps: list[Step], middle: float) -> Iterator[Told]:
    """How many steps at the start are slow."""
    count = next((i for i, s in enumerate(steps) if s.seconds < START * middle), len(steps))
    if 0 < count <= len(steps) // 3:
        yield "step.slow_start", max(steps[count].number - steps[0].number, count), steps[0]


def interval(steps: list[Step]) -> int:
    """Steps from one logged step to the next."""
    gaps = [b.number - a.number for a, b in pairwise(steps) if b.number > a.number and a.weight == b.weight == 1]
    return max(1, round(median(gaps))) if gaps else 1


def slow_steps(
    steps: list[Step], singles: list[Step] | None = None, shift: tuple[float, Step] | None = None
) -> list[Stall]:
    """Slow steps against what is usual on their side of a change of level; several in a row count once."""
    singles = steps if singles is None else singles
    each = interval(steps)
    cut = shift[1].line if shift is not None else None
    if cut is None:
        levels = (usual(steps),) * 2
    else:
        levels = (usual(s for s in steps if s.line < cut), usual(s for s in steps if s.line >= cut))
    found: list[Stall] = []
    last: Step | None = None
    for step in singles:
        level = levels[cut is not None and step.line >= cut]
        if step.weight > 1 or step.seconds < SPIKE * level:
            continue
        extra = (step.seconds - level) * each
        if last is not None and 0 < step.number - last.number <= each:
            found[-1] = Stall(found[-1].step, found[-1].extra + extra)
        else:
            found.append(Stall(step, extra))
        last = step
    return found


def _stalls(steady: list[Step], singles: list[Step], shift: tuple[float, Step] | None) -> Iterator[Told]:
    stalls = slow_steps(steady, singles, shift)
    if not stalls:
        return
    longest = max(stalls, key=lambda s: s.extra).step
    yield "step.slow_steps", len(stalls), longest
    period = period_of([s.step.number for s in stalls], sum(s.weight for s in steady), sampled=sampled(steady))
    if period is not None:
        yield "step.spike_period", period, longest
        yield "step.stall_excess", round(median(s.extra for s in stalls) / interval(steady) / usual(steady), 3), longest


def spike_period(steps: list[Step]) -> int | None:
    """Steps from one slow step to the next, where at least three of them come at equal distances."""
    return period_of([s.step.number for s in slow_steps(steps)], len(steps))


def period_of(slow: list[int], count: int, *, sampled: bool = False) -> int | None:
    """The usual distance of these step numbers, where most have it; `sampled`: some of them may be missing."""
    if sampled and len(slow) >= 6:
        return _common_part([b - a for a, b in pairwise(slow) if b > a])
    if not 3 <= len(slow) <= max(count // 3, 0):
        return None
    gaps = [b - a for a, b in pairwise(slow)]
    gap = round(median(gaps))
    if gap < 2:
        return None
    regular = sum(1 for g in gaps if abs(g - gap) <= max(1, gap // 20))
    return gap if regular >= 0.7 * len(gaps) else None


def _common_part(gaps: list[int]) -> int | None:
    """The smallest distance that occurs again, where nearly all others are multiples of it."""
    again = sorted(g for g in gaps if sum(1 for o in gaps if abs(o - g) <= max(1, g // 100)) >= 2)
    if not again or again[0] < 20:
        return None
    base = again[0]
    rest = [min(g % base, base - g % base) for g in gaps]
    return base if sum(1 for r in rest if r <= max(1, base // 50)) >= 0.85 * len(gaps) else None


def drift_of(steps: list[Step]) -> float | None:
    """Seconds that a step gets longer with each step (Theil and Sen), where it does so all along and not by chance."""
    stride = max(1, len(steps) // _SLOPES)
    few = [steps[i] for i in range(0, len(steps), stride)]
    slopes = [
        (b.seconds - a.seconds) / (b.number - a.number)
        for i, a in enumerate(few)
        for b in few[i + 1 :]
        if b.number > a.number
    ]
    if len(slopes) < len(few) * (len(few) - 1) * 0.4:
        return None
    slope = median(slopes)
    same = sum(1 for s in slopes if s * slope > 0) / len(slopes)
    span = abs(slope) * (few[-1].number - few[0].number)
    rest = [s.seconds - slope * s.number for s in few]
    noise = SIGMA * median(abs(r - median(rest)) for r in rest)
    level = usual(few)
    if same < 0.75 or span < 0.05 * level or span < 2 * noise:
        return None
    return slope


def level_shift(steps: list[Step]) -> tuple[float, Step] | None:
    """The lasting change of the step time: later over earlier, and the first step after it.

    The two sides must not overlap (single spikes apart), so that noise and regular spikes are not taken for a change."""
    if len(steps) > 2 * _COARSE:
        return _long_shift(steps)
    times = [s.seconds for s in steps]
    if len(times) < 6:
        return None
    ceiling = quantile(times, 0.95)
    sums = list(accumulate((min(t, ceiling) for t in times), initial=0.0))
    whole, count = sums[-1], len(times)

    def separation(cut: int) -> float:
        """How well a cut explains the values: the variance between the two sides."""
        return cut * (count - cut) * ((whole - sums[cut]) / (count - cut) - sums[cut] / cut) ** 2

    for cut in sorted(range(4, count - 1), key=separation, reverse=True)[:_CUTS]:
        before, after = sorted(times[:cut]), sorted(times[cut:])
        if _middle(before) <= 0:
            continue
        ratio = _middle(after) / _middle(before)
        if 1 / SHIFT < ratio < SHIFT or (len(after) < 4 and ratio > 3):
            continue
        low, high = (before, after) if ratio > 1 else (after, before)
        gap = _at(high, 0.1) - _at(low, 0.9)
        if gap > 2 * (_at(low, 0.9) - _at(low, 0.1)):
            return ratio, steps[cut]
    return None


def _long_shift(steps: list[Step]) -> tuple[float, Step] | None:
    """The same for a long series: runs first, then the single step between two of them."""
    size = -(-len(steps) // _COARSE)
    runs = [steps[i : i + size] for i in range(0, len(steps), size)]
    found = level_shift([Step(i, median(s.seconds for s in run), i, len(run)) for i, run in enumerate(runs)])
    if found is None:
        return None
    ratio, at = found
    around = [s for run in runs[max(0, at.number - 2) : at.number + 2] for s in run]
    exact = level_shift(around) if len(around) <= 2 * _COARSE else None
    return ratio, exact[1] if exact is not None else runs[at.number][0]


def _middle(ordered: list[float]) -> float:
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _at(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, max(0, round(share * (len(ordered) - 1))))]


def quantile(values: Iterable[float], share: float) -> float:
    """The value below which this share of the values lies."""
    return _at(sorted(values), share)
