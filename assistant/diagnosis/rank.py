"""Facts and hits -> ranked causes. Pure: no clock, no I/O, no randomness."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from assistant.diagnosis.conditions import Support, holds
from assistant.diagnosis.origin import Failure, lead_failures
from assistant.diagnosis.told import told_evidence
from assistant.diagnosis.weights import DISCOUNT, MEANT, RATE, STEP_BACK, STRENGTH, UNKNOWN, UNLISTED
from assistant.diagnosis.wording import Wording, wording
from assistant.facts import CaseFile, Origin
from assistant.understand.dismissed import told_only
from knowledge.load import Knowledge

WORDING = "wording"
"""Name of the evidence that comes from the user's choice of words."""


@dataclass(slots=True)
class Evidence:
    """A rule or signature that matched, for or against one cause."""

    rule: str
    text: str
    strength: str
    support: Support
    group: str | None = None
    points: float | None = None
    """Log-odds where they are not those of the named strength."""

    @property
    def weight(self) -> float:
        return STRENGTH[self.strength] if self.points is None else self.points


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
    total = 0.0
    for item in evidence:
        if item.points is not None:
            total += item.points
            continue
        key = item.group or item.rule
        if key not in best or abs(item.weight) > abs(best[key].weight):
            best[key] = item
    for side in (1, -1):
        weights = sorted((abs(e.weight) for e in best.values() if e.weight * side > 0), reverse=True)
        total += side * sum(w * DISCOUNT[min(i, len(DISCOUNT) - 1)] for i, w in enumerate(weights))
    return total


def rank(case: CaseFile, kb: Knowledge) -> list[Ranked]:
    """All causes, likeliest first, with probabilities that leave room for the unknown."""
    symptom = case.value("symptom")
    leads = lead_failures(case, kb)
    hints = told_evidence(case, kb)
    worded = _worded(case, kb)
    ranked = []
    for name, cause in kb.causes.items():
        item = Ranked(name, base_rate(cause, str(symptom) if symptom else None), evidence=_evidence(cause, case, leads))
        item.evidence += [Evidence(f"answer:{h.question}", h.text, h.strength, h.support) for h in hints.get(name, ())]
        if name in worded:
            item.evidence.append(_wording(worded[name], case))
        item.score += item.own
        ranked.append(item)
    _step_back(ranked, kb)
    _probabilities(ranked)
    ranked.sort(key=lambda r: (-r.probability, r.id))
    return ranked


def base_rate(cause: dict[str, Any], symptom: str | None) -> float:
    """Log of the base rate, over the symptoms that may really be there when this one is told."""
    rates = cause["base_rates"]
    if symptom == "question" and "question" in rates:
        return RATE[rates["question"]]
    shares = MEANT.get(symptom or "question", MEANT["question"])
    return math.log(sum(share * math.exp(RATE[rates[s]] if s in rates else UNLISTED) for s, share in shares.items()))


def _evidence(cause: dict[str, Any], case: CaseFile, leads: list[Failure]) -> list[Evidence]:
    """What the rules of the cause and the leading failures say about it."""
    out: list[Evidence] = []
    asked = cause["id"] == "healthy"  # whether something is wrong at all is what a question tells
    for rule in cause["evidence"]:
        support = holds(rule["when"], case, asked=asked)
        if support is None or ("unless" in rule and holds(rule["unless"], case, asked=asked) is not None):
            continue
        out.append(Evidence(rule["id"], fill(rule["text"], support), rule["strength"], support, rule.get("group")))
    lines = {(o.file, o.line) for e in out for o in e.support.origins if e.weight > 0}
    for lead in leads:
        strength = lead.causes.get(cause["id"])
        first = lead.support.origins[0]
        if strength and (first.file, first.line) not in lines:  # a rule of the cause's own says it better
            out.append(Evidence(f"signature:{lead.signature}", lead.text, strength, lead.support, lead.signature))
    return out


def _worded(case: CaseFile, kb: Knowledge) -> dict[str, Wording]:
    """The hints of the user's words. Whether something is wrong at all is what a question tells, so `healthy` hears all of them."""
    told = wording([told_only(s) for s in case.sentences], kb.words)
    full = wording(case.sentences, kb.words)
    return {**told, **({"healthy": full["healthy"]} if "healthy" in full and told else {})}


def _wording(hint: Wording, case: CaseFile) -> Evidence:
    """The user's wording as evidence; against a cause it is only counted, not told."""
    strength = "moderate" if hint.points >= 1.5 else "weak" if hint.points > 0 else "weak-against"
    text = f"The wording is like that of people who have this: {', '.join(hint.words)}."
    return Evidence(WORDING, text, strength, Support([Origin("say", quote=case.says[0][:200])]), points=hint.points)


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
    seen = {r.id for r in ranked if any(e.weight >= STRENGTH["strong"] and _was_seen(e) for e in r.evidence)}
    proven = {r.id for r in ranked if any(e.strength == "proves" and _was_seen(e) for e in r.evidence)}
    for item in ranked:
        for other in kb.causes[item.id].get("steps_back_for", ()):
            if item.id in proven and other not in seen:
                continue  # what a line proves does not yield to what is only told
            if other in own and own[other] >= STRENGTH["strong"] - 0.5 and item.evidence:
                item.score -= STEP_BACK
                item.stepped_back_for = other
                break


def _was_seen(evidence: Evidence) -> bool:
    """Whether a log, a tool or a configuration shows it, and not only the user's words."""
    return any(o.kind in ("config", "log", "tool", "probe") for o in evidence.support.origins)


def _probabilities(ranked: list[Ranked]) -> None:
    top = max((r.score for r in ranked), default=0.0)
    top = max(top, UNKNOWN)
    total = math.exp(UNKNOWN - top) + sum(math.exp(r.score - top) for r in ranked)
    for item in ranked:
        item.probability = math.exp(item.score - top) / total
