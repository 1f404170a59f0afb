"""Values that were sampled again and again: a bounded number of them tells the course."""

from __future__ import annotations

from collections.abc import Iterable

from assistant.facts import Fact, Subject

ENDS = 3
BETWEEN = 4


def thin(facts: Iterable[Fact]) -> list[Fact]:
    """Of each value of each subject the first and last samples, the smallest and largest, and some between, in their order.

    What is no number (a reason, a state) comes once for each of its values, with its count."""
    course: dict[tuple[str, Subject], list[int]] = {}
    all_facts: list[Fact] = []
    words: dict[tuple[str, object, Subject], int] = {}
    counts: dict[int, int] = {}
    for fact in facts:
        if isinstance(fact.value, str | bool):
            mark = (fact.key, fact.value, fact.subject)
            if mark in words:
                counts[words[mark]] += fact.count
                continue
            words[mark] = len(all_facts)
            counts[len(all_facts)] = fact.count
        else:
            course.setdefault((fact.key, fact.subject), []).append(len(all_facts))
        all_facts.append(fact)
    keep = set(words.values())
    for places in course.values():
        keep.update(_telling([float(all_facts[i].value) for i in places], places))
    return [_counted(all_facts[i], counts.get(i, all_facts[i].count)) for i in sorted(keep)]


def _telling(values: list[float], places: list[int]) -> list[int]:
    if len(places) <= 2 * ENDS + BETWEEN:
        return places
    middle = range(ENDS, len(places) - ENDS)
    step = max(1, len(middle) // BETWEEN)
    chosen = {*range(ENDS), *range(len(places) - ENDS, len(places)), *list(middle)[::step][:BETWEEN]}
    chosen |= {min(middle, key=values.__getitem__), max(middle, key=values.__getitem__)}
    return [places[i] for i in sorted(chosen)]


def _counted(fact: Fact, count: int) -> Fact:
    return fact if count == fact.count else Fact(fact.key, fact.value, fact.origin, fact.subject, count)
