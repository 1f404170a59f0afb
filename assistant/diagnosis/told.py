"""Evidence from the answers themselves: a question says which causes an answer makes likelier.

A cause whose own rules read the fact decides for itself; for the others a fitting answer is a weak hint. So an answer
always counts for something, also where no author of a cause thought of that question.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from assistant.diagnosis.conditions import Support, holds
from assistant.facts import CaseFile, Value
from knowledge.load import Knowledge

TESTED = 1.2
"""From this cost on an answer is the outcome of a test and weighs more than a description."""


ANSWERS = frozenset(("answer",))


@dataclass(frozen=True, slots=True)
class Hint:
    """An answer that fits a cause."""

    question: str
    text: str
    strength: str
    support: Support


def told_evidence(case: CaseFile, kb: Knowledge, kinds: frozenset[str] = ANSWERS) -> dict[str, list[Hint]]:
    """For each cause the answers that fit it, in the order of the questions. `kinds` are the origins that count."""
    found: dict[str, list[Hint]] = {}
    for question in kb.questions.values():
        tells = question.get("tells", {})
        fact = case.best(question["fact"]) if tells else None
        if fact is None or fact.origin.kind not in kinds or question["fact"] == "symptom":
            continue
        name = nearest(question, value_name(fact.value))
        if name is None or ("when" in question and holds(question["when"], case) is None):
            continue
        strength = "moderate" if question.get("cost", 1.0) >= TESTED else "weak"
        for cause in tells[name]:
            if question["fact"] not in read_facts(kb, cause):
                support = Support([fact.origin], {"value": str(fact.value)})
                text = f"It fits what you told: {label(question, name)}."
                found.setdefault(cause, []).append(Hint(question["id"], text, strength, support))
    return found


def value_name(value: Value) -> str:
    """The name of an answer's value in `tells`."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def nearest(question: dict[str, Any], value: str) -> str | None:
    """The answer in `tells` that a value belongs to: the same, or for numbers the nearest choice."""
    tells: dict[str, list[str]] = question["tells"]
    if value in tells:
        return value
    try:
        wanted = float(value)
        numbers = {float(name): name for name in tells if name != "*"}
    except ValueError:
        return None
    if not numbers:
        return None
    best = min(numbers, key=lambda n: (abs(n - wanted) / max(abs(n), abs(wanted), 1e-9), n))
    return numbers[best]


def label(question: dict[str, Any], name: str) -> str:
    """The words of a choice, for the sentence that gives the reason."""
    for choice in question.get("choices", ()):
        if value_name(choice["value"]) == name:
            return f"{question['ask'].rstrip('?')}? {choice['label']}"
    return f"{question['fact'].replace('_', ' ')} {name}"


def read_facts(kb: Knowledge, cause: str) -> frozenset[str]:
    """Keys of the facts that the rules of a cause read."""
    entry = kb.causes.get(cause)
    if entry is None:
        return frozenset()
    keys = (
        leaf["fact"]
        for rule in entry["evidence"]
        for part in ("when", "unless")
        if part in rule
        for leaf in _leaves(rule[part])
        if "fact" in leaf
    )
    return frozenset(keys)


def _leaves(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for key in ("all", "any"):
        for child in node.get(key, ()):
            yield from _leaves(child)
    if "not" in node:
        yield from _leaves(node["not"])
    if not {"all", "any", "not"} & node.keys():
        yield node
