"""Reports of NCCL's RAS side by side: whether what differs between ranks stands still, and whether one host has it all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from assistant.facts import CaseFile, Fact, Origin, Places, Subject

_COUNTS = re.compile(r"(?P<what>\S+ \w+): \d+ ranks? below (?P<high>\d+), lowest (?P<low>\d+)$")
_ODD = ("ras.dead_process", "ras.missing_process", "ras.missing_rank", "ras.behind")


def derive(case: CaseFile) -> Iterable[Fact]:
    yield from _motion(case)
    yield from _one_host(case)


def _motion(case: CaseFile) -> Iterator[Fact]:
    """A difference that is the same in two reports is a hang; one that grows and shrinks is the ordinary course."""
    seen: dict[str, list[tuple[int, int, Places]]] = {}
    for value, places in case.spread("ras.counts").items():
        found = _COUNTS.match(str(value))
        if found:
            seen.setdefault(found["what"], []).append((int(found["high"]), int(found["low"]), places))
    for what, reports in seen.items():
        first = reports[0][2].first
        if len({high for high, _, _ in reports}) > 1:
            yield _fact("ras.moving", what, first)
        elif any(places.count > 1 for _, _, places in reports):
            high, low, places = reports[0]
            yield _fact("ras.stuck", f"{what} {low} to {high}", places.first)


def _one_host(case: CaseFile) -> Iterator[Fact]:
    hosts: set[str] = set()
    first: Fact | None = None
    gap = max((int(f.value) for f in case.about("ras.count_gap") if isinstance(f.value, int)), default=0)
    for key in _ODD:
        if key == "ras.behind" and gap < 2 and not case.about("ras.stuck"):
            continue
        for places in case.spread(key).values():
            if not places.hosts:
                return
            hosts |= places.hosts
            first = first or places.first
    nodes = [f.value for f in case.about("ras.nodes")]
    if first is not None and len(hosts) == 1 and 1 not in nodes:
        host = next(iter(hosts))
        yield Fact("ras.suspect_host", host, _origin(first), Subject("host", host))


def _fact(key: str, value: str, like: Fact) -> Fact:
    return Fact(key, value, _origin(like))


def _origin(like: Fact) -> Origin:
    o = like.origin
    return o.derived()
