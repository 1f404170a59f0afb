"""What the timed steps of whole files tell: usual time, spread, drift, changes of level, stalls and what they fit.

Parsers give a summary for each document and rank (`step.series`); the documents of a file are put together here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from statistics import median

from assistant.derive._rank_series import compared, rank_facts
from assistant.facts import CaseFile, Fact, Origin, Value
from assistant.parsers._series import KEY, MARKS, PRIORITY, Series, read_series
from assistant.parsers._steps import (
    SIGMA,
    SPIKE,
    Stall,
    Step,
    course,
    interval,
    level_shift,
    sampled,
    slow_steps,
    steady_part,
    usual,
)

#: Files that are told one by one.
_FILES = 8
#: Share of the slow steps that must have a line of one kind beside them.
_FIT = 0.6
#: Lines after a slow step in which what made it slow may still be told.
_AFTER = 2
#: More places than this for each step, and lines of a kind stand everywhere.
_COMMON = 0.3
#: Lines before a slow step that may still tell of it, where lines of steps were left out.
_GAP = 40
_SETTINGS = ("config.save_steps", "config.eval_steps", "config.logging_steps")


def derive(case: CaseFile) -> Iterable[Fact]:
    series = read_series(case.about(KEY))
    for chosen in _chosen(series):
        yield from _course(case, chosen)
    yield from rank_facts(series)
    yield from compared(case, "rank.compute_ms", "rank.slow_compute")
    yield from compared(case, "rank.data_ms", "rank.slow_data")


def _chosen(series: list[Series]) -> list[Series]:
    """Of each file without ranks the best series; of series with ranks the longest one of the best kind."""
    files: dict[str | None, list[Series]] = {}
    ranked: list[Series] = []
    for one in series:
        if one.origin.rank is None:
            files.setdefault(one.origin.file, []).append(one)
        else:
            ranked.append(one)
    best = [max(some, key=_rating) for some in files.values()]
    best.sort(key=lambda s: s.count)
    if ranked:
        best.append(max(ranked, key=_rating))
    absolute = [s for s in best if s.absolute]
    return (absolute or best)[-_FILES:]


def _rating(series: Series) -> tuple[bool, int, int]:
    """Series of seconds before rates, kinds as listed, more steps before fewer; very short ones last."""
    return series.count >= 3, -PRIORITY.index(series.source), series.count


def _fact(key: str, value: Value, origin: Origin) -> Fact:
    return Fact(key, value, origin)


def _course(case: CaseFile, series: Series) -> Iterator[Fact]:
    told = {key: (value, step) for key, value, step in course(series.steps, _slow(series), absolute=series.absolute)}
    if not told:
        return
    if "step.level_shift" in told and series.long:
        exact = _exact(series, told["step.level_shift"][1])
        told["step.level_shift"] = (told["step.level_shift"][0], exact)
        told["step.shift_at"] = (exact.number, exact)
    for key, (value, step) in told.items():
        yield _fact(key, _count(series) if key == "step.count" else value, series.at(step))
    middle = usual(steady_part(series.steps))
    if series.count >= 8:
        spread = _mad(series.quantiles) * SIGMA / middle
        yield _fact("step.mad_share", round(spread, 4), series.at(series.steps[-1]))
    mean = case.best("step.run_mean_s")
    if mean is not None and series.absolute and series.count >= 20 and "step.mean_ratio" not in set(case.keys()):
        yield _fact("step.mean_ratio", round(float(mean.value) / middle, 2), mean.origin)
    yield from _stalls(case, series)


def _count(series: Series) -> int:
    """Steps that were logged: those that were read, or more by their numbers where lines were left out."""
    rises = sum(b.number - a.number for a, b in pairwise(series.steps) if b.number > a.number)
    return max(series.count, rises // interval(series.steps) + 1) if sampled(series.steps) else series.count


def _whole(steps: list[Step], every: int) -> float:
    """The time from the first to the last step without what slow ones take more, also where lines were left out."""
    level = usual(steps)
    usual_time = [level if s.seconds >= SPIKE * level else s.seconds for s in steps]
    between = (
        t * (b.number - a.number) for t, (a, b) in zip(usual_time, pairwise(steps), strict=False) if b.number > a.number
    )
    return sum(between) + usual_time[-1] * steps[-1].weight * every


def _slow(series: Series) -> list[Step] | None:
    return series.slow if series.long else None


def _mad(values: list[tuple[float, int]]) -> float:
    """Median distance from the median."""
    middle = usual(Step(0, v, 0, w) for v, w in values)
    return usual(Step(0, abs(v - middle), 0, w) for v, w in values)


def _exact(series: Series, step: Step) -> Step:
    """The single step at which a change lies, where a document of the file told it."""
    lines = [s.line for s in series.steps]
    at = lines.index(step.line)
    low, high = lines[max(0, at - 1)], lines[min(len(lines) - 1, at + 1)]
    return next((s for s in series.shifts if low <= s.line <= high), step)


def _stalls(case: CaseFile, series: Series) -> Iterator[Fact]:
    """How much time the slow steps take, and what happens at them."""
    steady = steady_part(series.steps)
    singles = series.slow[min(3, len(series.slow) - 1) :] if series.long else steady
    stalls = slow_steps(steady, singles, level_shift(steady))
    if len(stalls) < 2:
        return
    where = series.at(max(stalls, key=lambda s: s.extra).step)
    if series.absolute:
        yield _fact("step.stall_s", round(median(s.extra for s in stalls), 2), where)
    every = interval(series.steps)
    lost = sum(s.extra for s in stalls) * series.untold
    whole = _whole(series.steps, every) + lost
    yield _fact("step.stall_share", round(min(lost / whole, 1.0), 3), where)
    kind = _beside(series, stalls)
    if kind is not None:
        yield _fact("step.stall_phase", kind, where)
    yield from _settings(case, stalls, every, where)


def _beside(series: Series, stalls: list[Stall]) -> str | None:
    """The kind of line that stands before most slow steps, after the step before, and hardly anywhere else."""
    kinds: Counter[str] = Counter()
    last = max((at for at, _ in series.marks), default=0)
    stalls = [s for s in stalls if s.step.line <= last + _AFTER] if len(series.marks) >= MARKS else stalls
    for stall in stalls:
        line, gap = stall.step.line, min(max(stall.step.gap, 1), _GAP)
        kinds.update({kind for at, kind in series.marks if line - gap < at <= line + _AFTER})
    if not kinds:
        return None
    kind, count = kinds.most_common(1)[0]
    if count < max(2, _FIT * len(stalls)) or _density(series, kind) > _COMMON:
        return None
    return kind


def _density(series: Series, kind: str) -> float:
    """Places with a line of this kind for each step of the part in which they are known."""
    lines = sorted(at for at, k in series.marks if k == kind)
    ends = [s.line for s in series.steps]
    whole = max(1, max(ends) - min(ends))
    steps = max(1.0, series.count * (lines[-1] - lines[0]) / whole)
    size = max(2.0, whole / series.count)
    return sum(1 for a, b in pairwise(lines) if b - a >= size) / steps


def _settings(case: CaseFile, stalls: list[Stall], every: int, where: Origin) -> Iterator[Fact]:
    """A stated interval in whose multiples the slow steps lie."""
    if len(stalls) < 3:
        return
    numbers = [s.step.number for s in stalls]
    for key in _SETTINGS:
        value = case.value(key)
        if not isinstance(value, int) or isinstance(value, bool) or value < max(2, 2 * every):
            continue
        hits = sum(1 for n in numbers if n % value <= every or value - n % value < every)
        if hits >= 0.7 * len(numbers) and (2 * every + 1) / value < 0.5:
            yield _fact("step.stall_interval", f"{key.removeprefix('config.')}={value}", where)
            return
