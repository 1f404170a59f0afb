"""The most telling next step for its cost: of the open questions, the one expected to shrink the uncertainty most.

A question's `tells` says which causes an answer makes likelier. With the probabilities of the ranked causes that gives the
entropy to expect after the answer; the drop, in bits and divided by the user's effort, decides. Entropy is taken over the
causes and the remainder that is not known here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from assistant.diagnosis.conditions import holds
from assistant.diagnosis.rank import Ranked
from assistant.diagnosis.told import value_name
from assistant.facts import CaseFile, Value
from knowledge.load import Knowledge

CLEAR = 0.85
"""A cause this likely stands clear: nothing more is asked."""

CLEAR_LEAD = 0.6
"""Enough already, where the runner-up is at most a sixth as likely."""

LIKELIER = 5.0
"""How much more often an answer is given where one of its causes holds than where none of the question's causes does."""

REVEALED = 0.5
"""Share of cases in which a log or a tool's output that is asked for settles a cause listed for it."""

WORTH = 0.035
"""Bits for each unit of effort below which a question is not worth asking."""

LOOKED_AT = 16
"""Causes that are told apart; the rest counts as one."""


@dataclass(frozen=True, slots=True)
class Choice:
    label: str
    value: Value


@dataclass(frozen=True, slots=True)
class NextStep:
    """A question to the user, or a test: something to run or attach."""

    kind: Literal["question", "test"]
    id: str
    text: str
    why: str
    how: str
    fact: str
    choices: tuple[Choice, ...] = ()
    gain: float = 0.0
    """Expected drop of the uncertainty, in bits."""
    cost: float = 1.0
    between: tuple[str, ...] = field(default=())
    """The likeliest causes that the answer helps to tell apart."""


class Weighed(Protocol):
    """A cause with its probability: a ranked cause or a finding."""

    id: str
    probability: float


def leads_clearly(first: float, second: float) -> bool:
    """Whether a cause with the first probability is far enough ahead of one with the second."""
    return first >= CLEAR or (first >= CLEAR_LEAD and second * 6 <= first)


def stands_clear(ranked: list[Ranked]) -> bool:
    """One cause is ahead by so much that another answer would hardly change what to do."""
    if not ranked or not ranked[0].evidence:
        return False
    return leads_clearly(ranked[0].probability, ranked[1].probability if len(ranked) > 1 else 0.0)


def next_step(
    case: CaseFile, ranked: list[Ranked], kb: Knowledge, asked: Iterable[str] = frozenset()
) -> NextStep | None:
    """The best open question, or None where a cause stands clear or no answer would change much."""
    if stands_clear(ranked):
        return None
    best = max(open_steps(case, ranked, kb, asked), key=lambda s: s.gain / s.cost, default=None)
    return best if best is not None and best.gain / best.cost >= WORTH else None


def open_steps(
    case: CaseFile, ranked: list[Ranked], kb: Knowledge, asked: Iterable[str] = frozenset()
) -> list[NextStep]:
    """Every question that may be asked now, with its expected gain, in a fixed order."""
    done = frozenset(asked)
    beliefs = _beliefs(ranked)
    steps = []
    for question in sorted(kb.questions.values(), key=lambda q: (q.get("order", 50), q["id"])):
        if question["id"] in done or case.about(question["fact"]):
            continue
        if "when" in question and holds(question["when"], case) is None:
            continue
        steps.append(_step(question, beliefs))
    return steps


def step_of(question: Mapping[str, Any], ranked: Sequence[Weighed]) -> NextStep:
    """The step for one question, whether it is open or not."""
    return _step(question, _beliefs(ranked))


def _beliefs(ranked: Sequence[Weighed]) -> dict[str, float]:
    """Probabilities of the likeliest causes; the empty name stands for all others."""
    beliefs = {r.id: r.probability for r in ranked[:LOOKED_AT]}
    beliefs[""] = max(0.0, 1.0 - sum(beliefs.values()))
    return beliefs


def _step(question: Mapping[str, Any], beliefs: Mapping[str, float]) -> NextStep:
    cost = float(question.get("cost", 1.0))
    concerned = {cause for causes in question.get("tells", {}).values() for cause in causes}
    between = sorted((c for c in beliefs if c in concerned), key=lambda c: (-beliefs[c], c))[:3]
    return NextStep(
        "test" if question["fact"].startswith("shown.") else "question",
        question["id"],
        question["ask"],
        question["why"],
        question["how"],
        question["fact"],
        tuple(Choice(c["label"], c["value"]) for c in question.get("choices", ())),
        (1.0 - _unanswered(cost)) * _gain(question, beliefs),
        cost,
        tuple(between),
    )


def _unanswered(cost: float) -> float:
    """How often "I don't know" is to be expected; the more work an answer is, the oftener."""
    return min(0.7, 0.1 + 0.12 * cost)


def _gain(question: Mapping[str, Any], beliefs: Mapping[str, float]) -> float:
    tells: Mapping[str, list[str]] = question.get("tells", {})
    outcomes: list[dict[str, float]] = []
    for cause in tells.get("*", ()):
        if cause in beliefs:
            outcomes.append({cause: beliefs[cause] * REVEALED})
    revealed = {cause for outcome in outcomes for cause in outcome}
    rest = {c: p * (1 - REVEALED if c in revealed else 1.0) for c, p in beliefs.items()}
    answers = [a for a in tells if a != "*"]
    names = dict.fromkeys([*answers, *(value_name(c["value"]) for c in question.get("choices", ()))])
    if not answers:
        outcomes.append(rest)
    else:
        weights = {c: {a: LIKELIER if c in tells.get(a, ()) else 1.0 for a in names} for c in rest}
        for answer in names:
            outcomes.append({c: p * weights[c][answer] / sum(weights[c].values()) for c, p in rest.items()})
    return _entropy(beliefs.values()) - sum(sum(o.values()) * _entropy(o.values()) for o in outcomes)


def _entropy(weights: Iterable[float]) -> float:
    """Bits of uncertainty in weights that need not add up to one."""
    kept = [w for w in weights if w > 0]
    total = sum(kept)
    return -sum(w / total * math.log2(w / total) for w in kept) if total > 0 else 0.0
