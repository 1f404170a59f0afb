"""Facts and hits -> ranked causes. Pure: no clock, no I/O, no randomness."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from assistant.diagnosis.conditions import Support, holds
from assistant.diagnosis.origin import Failure, lead_failures
from assistant.diagnosis.weights import DISCOUNT, RATE, STEP_BACK, STRENGTH, UNKNOWN, UNLISTED
from assistant.facts import CaseFile
from knowledge.load import Knowledge


@dataclass(slots=True)
class Evidence:
    """A rule or signature that matched, for or against one cause."""

    rule: str
    text: str
    strength: str
    support: Support
    group: str | None = None

    @property
    def weight(self) -> float:
        return STRENGTH[self.strength]


@dataclass(slots=True)
class Ranked:
    """A cause with what speaks for and against it."""

    id: str
    score: float
    probability: float = 0.0
    evidence: list[Evidence] = field(default_factory=list)
    stepped_back_for: str | None = None

    @property
    def own(self) -> float:
        """Log-odds gained by evidence, without the base rate."""
        return added(self.evidence)


def added(evidence: list[Evidence]) -> float:
    """The sum of the evidence, one of each group, further pieces discounted."""
    best: dict[str, Evidence] = {}
    for item in evidence:
        key = item.group or item.rule
        if key not in best or abs(item.weight) > abs(best[key].weight):
            best[key] = item
    total = 0.0
    for side in (1, -1):
        weights = sorted((abs(e.weight) for e in best.values() if e.weight * side > 0), reverse=True)
        total += side * sum(w * DISCOUNT[min(i, len(DISCOUNT) - 1)] for i, w in enumerate(weights))
    return total


def rank(case: CaseFile, kb: Knowledge) -> list[Ranked]:
    """All causes, likeliest first, with probabilities that leave room for the unknown."""
    symptom = case.value("symptom")
    leads = lead_failures(case, kb)
    ranked = [_judge(cause, case, str(symptom) if symptom else None, leads) for cause in kb.causes.values()]
    _step_back(ranked, kb)
    _probabilities(ranked)
    ranked.sort(key=lambda r: (-r.probability, r.id))
    return ranked


def base_rate(cause: dict[str, Any], symptom: str | None) -> float:
    """Log of the base rate for this symptom, or the mean over the listed ones while no symptom is known."""
    rates = cause["base_rates"]
    if symptom is None or symptom == "question":
        return max((RATE[name] for key, name in rates.items() if key != "question"), default=UNLISTED) - 0.5
    return RATE[rates[symptom]] if symptom in rates else UNLISTED


def _judge(cause: dict[str, Any], case: CaseFile, symptom: str | None, leads: list[Failure]) -> Ranked:
    result = Ranked(cause["id"], base_rate(cause, symptom))
    for rule in cause["evidence"]:
        support = holds(rule["when"], case)
        if support is None or ("unless" in rule and holds(rule["unless"], case) is not None):
            continue
        result.evidence.append(Evidence(rule["id"], fill(rule["text"], support), rule["strength"], support, rule.get("group")))
    lines = {(o.file, o.line) for e in result.evidence for o in e.support.origins if e.weight > 0}
    for lead in leads:
        strength = lead.causes.get(cause["id"])
        first = lead.support.origins[0]
        if strength and (first.file, first.line) not in lines:  # a rule of the cause's own says it better
            result.evidence.append(Evidence(f"signature:{lead.signature}", lead.text, strength, lead.support, lead.signature))
    result.score += result.own
    return result


def fill(text: str, support: Support) -> str:
    """Fills {name} of a rule's sentence; what is not known becomes an ellipsis."""
    from assistant.diagnosis.template import fill_template

    names = dict(support.fields)
    hosts = sorted({n for k, n in support.subjects if k == "host"})
    ranks = sorted({n for k, n in support.subjects if k == "rank"}, key=int)
    names.setdefault("host", ", ".join(hosts[:4]) + (" ..." if len(hosts) > 4 else "") or "the host")
    names.setdefault("rank", ", ".join(ranks[:8]) + (" ..." if len(ranks) > 8 else "") or "?")
    return fill_template(text, names)


def _step_back(ranked: list[Ranked], kb: Knowledge) -> None:
    own = {r.id: r.own for r in ranked}
    for item in ranked:
        for other in kb.causes[item.id].get("steps_back_for", ()):
            if other in own and own[other] >= STRENGTH["strong"] - 0.5 and item.evidence:
                item.score -= STEP_BACK
                item.stepped_back_for = other
                break


def _probabilities(ranked: list[Ranked]) -> None:
    top = max((r.score for r in ranked), default=0.0)
    top = max(top, UNKNOWN)
    total = math.exp(UNKNOWN - top) + sum(math.exp(r.score - top) for r in ranked)
    for item in ranked:
        item.probability = math.exp(item.score - top) / total
