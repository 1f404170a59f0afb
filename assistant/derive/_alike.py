"""Which places differ from the rest: for what should be equal everywhere, and for figures that should be alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median

from assistant.facts import Fact, Places, Subject, Value

#: Share of all places that must agree before others are the odd ones.
MOST = 2 / 3
#: How many times the usual deviation an outlier is off, and by what share of the usual value at least.
FAR = 6.0
SHARE = 0.05
#: Deviation of a normal distribution whose median absolute deviation is 1.
_NORMAL = 1.4826


@dataclass(frozen=True, slots=True)
class Odd:
    """A value that only a few places have, while most have `usual`."""

    value: Value
    usual: Value
    first: Fact
    hosts: tuple[str, ...]
    ranks: tuple[int, ...]
    others: int
    """How many places have the usual value."""

    def subjects(self, most: int) -> list[Subject]:
        """The odd ranks where only some of a host's are odd, otherwise the hosts."""
        if self.hosts and not (self.ranks and len(self.ranks) < len(self.hosts)):
            return [Subject("host", host) for host in self.hosts[:most]]
        return [Subject("rank", str(rank)) for rank in self.ranks[:most]]


def odd_ones(values: Mapping[Value, Places]) -> list[Odd]:
    """The values that few places have. Places are hosts where any are named, otherwise ranks; at least three are needed."""
    for kind in ("hosts", "ranks"):
        found = _odd(values, kind)
        if found is not None:
            return found
    return []


def _odd(values: Mapping[Value, Places], kind: str) -> list[Odd] | None:
    groups = {value: set(getattr(places, kind)) for value, places in values.items()}
    everyone: set[object] = set().union(*groups.values()) if groups else set()
    if len(everyone) < 3:
        return None
    usual = max(groups, key=lambda v: len(groups[v]))
    if len(groups[usual]) < MOST * len(everyone):
        return []
    out: list[Odd] = []
    for value, places in values.items():
        only = groups[value] - groups[usual]
        if value == usual or not only:
            continue
        hosts = sorted(places.hosts - values[usual].hosts) if places.hosts else []
        ranks = sorted(places.ranks - values[usual].ranks)
        out.append(Odd(value, usual, places.first, tuple(hosts), tuple(ranks), len(groups[usual])))
    return out


def partly_odd(values: Mapping[Value, Places]) -> list[Odd]:
    """Ranks that differ from most, also where other ranks of their host do not."""
    return _odd(values, "ranks") or []


@dataclass(frozen=True, slots=True)
class Outlier:
    """A place whose figure is far from those of the others."""

    name: str
    value: float
    usual: float
    spread: float
    """Deviation that is usual among the places (from the median absolute deviation)."""
    others: int

    @property
    def ratio(self) -> float:
        return self.value / self.usual if self.usual else 0.0


def outliers(figures: Mapping[str, float], *, share: float = SHARE) -> list[Outlier]:
    """Places that are far from the median: more than `FAR` usual deviations and more than `share` of it. At least four are needed.

    The median and the median absolute deviation are used, which a few bad values do not move (Rousseeuw & Croux 1993)."""
    if len(figures) < 4:
        return []
    usual = median(figures.values())
    spread = _NORMAL * median(abs(v - usual) for v in figures.values())
    far = max(FAR * spread, share * abs(usual))
    return [
        Outlier(name, value, usual, spread, len(figures) - 1)
        for name, value in figures.items()
        if abs(value - usual) > far and far > 0
    ]


def figures_by_place(facts: Iterable[Fact], kind: str) -> dict[str, float]:
    """The median figure of each host, rank, gpu or nic."""
    found: dict[str, list[float]] = {}
    for fact in facts:
        if isinstance(fact.value, bool) or not isinstance(fact.value, int | float):
            continue
        name = fact.subject.name if fact.subject.kind == kind else ""
        if not name and kind == "host" and fact.subject.kind == "job":
            name = fact.origin.host or ""
        if not name and kind == "rank" and fact.subject.kind == "job" and fact.origin.rank is not None:
            name = str(fact.origin.rank)
        if name:
            found.setdefault(name, []).append(float(fact.value))
    return {name: median(values) for name, values in found.items()}
