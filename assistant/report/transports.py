"""The transports between ranks as a few lines of a report: pairs by transport, within hosts and between them."""

from __future__ import annotations

from collections.abc import Iterable

from assistant.facts import Fact

#: Odd pairs that are told.
NAMED = 4


def transport_lines(facts: Iterable[Fact]) -> list[str]:
    """One line for each place, and one for pairs that are unlike the rest; none where no channels were logged."""
    places: dict[str, list[str]] = {}
    odd: list[str] = []
    for fact in facts:
        if fact.key == "transport.pairs":
            where, _, what = str(fact.value).partition(": ")
            places.setdefault(where, []).append(what)
        elif fact.key == "transport.odd_pair":
            odd.append(f"rank {fact.subject.name} {fact.value}")
    lines = [f"{where[0].upper()}{where[1:]}: {', '.join(kinds)}" for where, kinds in places.items()]
    if odd:
        more = f" and {len(odd) - NAMED} more" if len(odd) > NAMED else ""
        lines.append(f"Unlike the rest: {'; '.join(odd[:NAMED])}{more}")
    return lines
