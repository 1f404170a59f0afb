"""Stacks of many ranks side by side: the few that stand in another function than nearly all others."""

from __future__ import annotations

from collections.abc import Iterable

from assistant.facts import CaseFile, Fact, Origin, Subject

FEWEST = 3
#: Share of the ranks that must stand in one function for the others to be odd.
MAJORITY = 0.6
MOST_NAMED = 32


def derive(case: CaseFile) -> Iterable[Fact]:
    places = case.spread("stack.function")
    if len(places) < 2:
        return
    everybody: set[int] = set().union(*(p.ranks for p in places.values()))
    usual_name, usual = max(places.items(), key=lambda item: len(item[1].ranks))
    if len(everybody) < FEWEST or len(usual.ranks) < MAJORITY * len(everybody):
        return
    odd = {rank: (name, p) for name, p in places.items() if name != usual_name for rank in p.ranks - usual.ranks}
    for rank in sorted(odd)[:MOST_NAMED]:
        name, found = odd[rank]
        at = found.first.origin
        origin = Origin("derived", at.file, at.line, at.host, rank, at.quote, at.time)
        yield Fact("stack.odd_function", f"{name}, others in {usual_name}", origin, Subject("rank", str(rank)))
