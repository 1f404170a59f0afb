"""Ranks that XLA's rendezvous waits for: those of the clique that do not say themselves that they wait."""

from __future__ import annotations

from collections.abc import Iterable

from assistant.facts import CaseFile, Fact, Origin, Subject

MOST_NAMED = 32


def derive(case: CaseFile) -> Iterable[Fact]:
    waiting = case.spread("xla.stuck_at").get("clique")
    sizes = [int(size) for size in case.spread("xla.clique_size") if isinstance(size, int)]
    if waiting is None or not sizes:
        return
    size = max(sizes)
    silent = sorted(set(range(size)) - waiting.ranks)
    if not silent or len(waiting.ranks) * 2 < size or max(waiting.ranks) >= size:
        return
    at = waiting.first.origin
    for rank in silent[:MOST_NAMED]:
        origin = Origin("derived", at.file, at.line, at.host, rank, at.quote, at.time)
        yield Fact("xla.silent_rank", rank, origin, Subject("rank", str(rank)))
