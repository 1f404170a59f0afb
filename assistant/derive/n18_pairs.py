"""Transports between ranks: how many pairs use which, within hosts and between them, and which pairs are unlike the rest."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from assistant.facts import JOB, CaseFile, Fact, Subject

#: Share of the pairs of one place that a transport may have at most to be an odd one, and pairs that are named.
ODD = 0.1
NAMED = 8
_KIND = re.compile(r"(within a host|between hosts): (.+)")
_PAIR = re.compile(r"(\d+) -> (\d+) (.+)")


def derive(case: CaseFile) -> Iterable[Fact]:
    counts: dict[str, dict[str, tuple[int, Fact]]] = {}
    for value, places in case.spread("nccl.pairs").items():
        found = _KIND.fullmatch(str(value))
        if found:
            counts.setdefault(found[1], {})[found[2]] = (places.count, places.first)
    usual: set[str] = set()
    for where in sorted(counts, reverse=True):
        kinds = sorted(counts[where].items(), key=lambda item: -item[1][0])
        whole = sum(count for _, (count, _) in kinds)
        for kind, (count, first) in kinds:
            text = f"{where}: {kind} {count}"
            yield Fact("transport.pairs", text, replace(first.origin, kind="derived", host=None, rank=None), JOB)
            if count > ODD * whole:
                usual.add(kind)
    named = 0
    for value, places in case.spread("nccl.pair").items():
        pair = _PAIR.fullmatch(str(value))
        if counts and pair and pair[3] not in usual and named < NAMED:
            named += 1
            origin = replace(places.first.origin, kind="derived")
            yield Fact("transport.odd_pair", f"to rank {pair[2]} over {pair[3]}", origin, Subject("rank", pair[1]))
