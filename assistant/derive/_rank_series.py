"""Ranks against each other by their own times: which one is slower than the others, and which one stopped earlier."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from assistant.facts import CaseFile, Fact, Origin, Subject
from assistant.parsers._series import Series
from assistant.parsers._steps import SIGMA, Step, usual

#: Ranks that are needed for a comparison, and steps of each.
RANKS = 3
STEPS = 5
#: How far out a rank must be: in standard deviations of the others, and in share of their median.
FAR = 5.0
SHARE = 1.05
#: Ranks that are named at most.
_NAMED = 16


def outliers(values: dict[int, float]) -> list[tuple[int, float, float]]:
    """(rank, times the median of the others, standard deviations from it), the worst first; only a minority can be out."""
    if len(values) < RANKS:
        return []
    found = []
    ordered = sorted(values.values())
    middle = median(ordered)
    if middle <= 0:
        return []
    deviation = max(SIGMA * median(abs(v - middle) for v in ordered), 0.005 * middle)
    for rank, value in values.items():
        far = (value - middle) / deviation
        if value >= SHARE * middle and far >= FAR:
            found.append((rank, value / middle, far))
    found.sort(key=lambda f: -f[1])
    return found if 3 * len(found) <= len(values) else []


def compared(case: CaseFile, key: str, told: str) -> Iterator[Fact]:
    """Ranks far above the others by a number that each has of its own; of several numbers of a rank the median."""
    values: dict[int, list[Fact]] = {}
    for fact in case.about(key):
        if fact.subject.kind == "rank" and fact.subject.name.isdecimal() and isinstance(fact.value, int | float):
            values.setdefault(int(fact.subject.name), []).append(fact)
    numbers = {rank: median(float(f.value) for f in facts) for rank, facts in values.items()}
    for rank, ratio, _ in outliers(numbers)[:_NAMED]:
        origin = values[rank][-1].origin
        where = Origin(origin.kind, origin.file, origin.line, origin.host, rank, origin.quote, origin.time)
        yield Fact(told, round(ratio, 3), where, Subject("rank", str(rank)))


def rank_facts(series: list[Series]) -> Iterator[Fact]:
    sources: dict[str, list[Series]] = {}
    for one in series:
        if one.origin.rank is not None and one.count >= STEPS:
            sources.setdefault(one.source, []).append(one)
    for ranked in sources.values():
        own = {s.origin.rank: s for s in ranked if s.origin.rank is not None}
        if len(own) >= RANKS:
            yield from _slow(own)
            yield from _behind(own)
            return


def _slow(own: dict[int, Series]) -> Iterator[Fact]:
    """Ranks whose steps take longer than those of the others."""
    values = {rank: usual(Step(0, v, 0, w) for v, w in s.quantiles) for rank, s in own.items()}
    for rank, ratio, _ in outliers(values)[:_NAMED]:
        yield Fact("rank.slow_steps", round(ratio, 3), _last(own[rank]), Subject("rank", str(rank)))


def _behind(own: dict[int, Series]) -> Iterator[Fact]:
    """Ranks whose last logged step lies before the one at which most ranks stand."""
    ends = {rank: s.steps[-1].number + s.steps[-1].weight - 1 for rank, s in own.items()}
    most = median(ends.values())
    together = sum(1 for e in ends.values() if e == most)
    late = sorted((e, rank) for rank, e in ends.items() if e < most)
    if together * 3 < 2 * len(ends) or not late:
        return
    for end, rank in late[:_NAMED]:
        yield Fact("rank.behind_steps", int(most - end), _last(own[rank]), Subject("rank", str(rank)))


def _last(series: Series) -> Origin:
    return series.at(series.steps[-1])
