"""Case file -> diagnosis: ranked causes with their place, evidence and filled-in fixes, and what was ruled out.

Pure: the same case file and knowledge give the same diagnosis.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal

from assistant.diagnosis.conditions import holds
from assistant.diagnosis.contradictions import contradictions
from assistant.diagnosis.next_step import NextStep, next_step
from assistant.diagnosis.rank import WORDING, Evidence, Ranked, rank
from assistant.diagnosis.template import fill_command
from assistant.facts import RELIABILITY, CaseFile, Fact, Input, Origin
from knowledge.load import Knowledge

Verdict = Literal["problem", "healthy", "inconclusive"]

SURE = 0.5
"""From this probability on a cause makes the verdict `problem`."""

TOLD = 0.5
"""Likeness of the wording below this is counted and not told."""

INTERNAL = frozenset(
    ("fr.summary", "step.series", "nccl.call", "nccl.call_last", "nccl.calls_until", "nccl.pairs", "nccl.pair")
)
"""Facts that carry whole tables from a parser to a comparison, for nobody to read."""

SHOWN = 5
"""Causes listed at most; never fewer than three, so that the runners-up are seen."""

_PORT = re.compile(r":\d+$")


@dataclass(slots=True)
class Place:
    """Where the cause sits. Empty lists: not known, or everywhere."""

    hosts: list[str] = field(default_factory=list)
    ranks: list[int] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    devices: list[str] = field(default_factory=list)


@dataclass(slots=True)
class FixOffer:
    """A fix of the knowledge base with the session's own names filled in."""

    id: str
    title: str
    kind: str
    who: str
    effort: str
    steps: list[str]
    commands: list[str]
    gain: str
    verify: str
    risk: str
    undo: str
    hides: str | None


@dataclass(slots=True)
class Finding:
    """One cause that the evidence points to."""

    id: str
    title: str
    probability: float
    where: Place
    evidence: list[Evidence]
    against: list[Evidence]
    fixes: list[FixOffer]
    explanation: str
    confirm: list[dict[str, Any]]
    mistaken_for: list[dict[str, str]]
    sources: list[str]


@dataclass(slots=True)
class RuledOut:
    id: str
    title: str
    why: str


@dataclass(slots=True)
class Harmless:
    """A message that worries people and means nothing here."""

    signature: str
    means: str
    count: int
    origin: Origin


@dataclass(slots=True)
class Diagnosis:
    verdict: Verdict
    symptom: str | None
    findings: list[Finding]
    ruled_out: list[RuledOut]
    harmless: list[Harmless]
    contradictions: list[str]
    next: NextStep | None
    facts: list[Fact]
    inputs: list[Input]
    healthy: Finding | None = None
    """Why nothing seems to be wrong, where that is the likeliest reading."""


def diagnose(case: CaseFile, kb: Knowledge, asked: frozenset[str] = frozenset()) -> Diagnosis:
    """The diagnosis of a case. `asked` holds ids of questions that were put already."""
    ranked = rank(case, kb)
    names = placeholders(case, kb)
    health = next((r for r in ranked if r.id == "healthy"), None)
    others = [r for r in ranked if r.id != "healthy"]
    verdict = _verdict(case, others, health)
    chosen = [r for r in others if any(e.weight > 0 for e in r.evidence)][:SHOWN]
    chosen = [r for i, r in enumerate(chosen) if i < 3 or r.probability >= 0.02]
    findings = [_finding(r, case, kb, names) for r in chosen] if case.says or case.facts or case.hits else []
    return Diagnosis(
        verdict,
        str(case.value("symptom")) if case.value("symptom") else None,
        findings,
        _ruled_out(ranked, {r.id for r in chosen}, kb),
        _harmless(case, kb),
        contradictions(case),
        next_step(case, ranked, kb, asked),
        case.facts,
        case.inputs,
        _finding(health, case, kb, names) if verdict == "healthy" and health is not None else None,
    )


def _verdict(case: CaseFile, others: list[Ranked], health: Ranked | None) -> Verdict:
    best = next((r for r in others if r.evidence), None)
    if best is not None and best.probability >= SURE:
        return "problem"
    if health is not None and health.evidence and health.probability >= SURE:
        return "healthy"
    return "inconclusive"


def placeholders(case: CaseFile, kb: Knowledge) -> dict[str, str]:
    """What fills the {placeholders} of commands: the session's own names, or the fallback that says what to put."""
    names = {}
    for name, entry in kb.placeholders.items():
        found = next((v for v in (case.value(key) for key in entry["facts"]) if v is not None), None)
        names[name] = entry["fallback"] if found is None else str(found)
    return names


def _finding(item: Ranked, case: CaseFile, kb: Knowledge, names: dict[str, str]) -> Finding:
    cause = kb.causes[item.id]
    supporting = sorted(
        (e for e in item.evidence if e.weight > 0 and (e.rule != WORDING or e.weight >= TOLD)), key=lambda e: -e.weight
    )
    place = _place(supporting)
    local = dict(names)
    if place.hosts and len(place.hosts) <= 4:
        local["host"] = place.hosts[0]
    fallbacks = {name: entry["fallback"] for name, entry in kb.placeholders.items()}
    fixes = [_fix(f, local, fallbacks) for f in cause["fixes"] if "when" not in f or holds(f["when"], case) is not None]
    fixes.sort(key=lambda f: (f.kind != "cures", ("minutes", "hours", "days", "purchase").index(f.effort)))
    return Finding(
        item.id,
        cause["title"],
        item.probability,
        place,
        supporting,
        [e for e in item.evidence if e.weight < 0 and e.rule != WORDING],
        fixes,
        cause["explanation"],
        [
            {**c, "command": fill_command(c["command"], local, fallbacks)} if c.get("command") else c
            for c in cause["confirm"]
        ],
        cause.get("mistaken_for", []),
        cause["sources"],
    )


def _fix(fix: dict[str, Any], names: dict[str, str], fallbacks: dict[str, str]) -> FixOffer:
    def filled(text: str) -> str:
        # Steps and ways back hold commands too.
        return fill_command(text, names, fallbacks)

    return FixOffer(
        fix["id"],
        fix["title"],
        fix["kind"],
        fix["who"],
        fix.get("effort", "minutes"),
        [filled(s) for s in fix["steps"]],
        [filled(c) for c in fix.get("commands", ())],
        fix["gain"],
        filled(fix["verify"]),
        filled(fix["risk"]),
        filled(fix["undo"]),
        fix.get("hides"),
    )


def _place(evidence: list[Evidence]) -> Place:
    """Hosts, ranks and links of the strongest evidence that names any."""
    place = Place()
    kinds: dict[str, set[str]] = {}
    strongest = evidence[0].weight if evidence else 0.0
    for item in evidence:
        if item.weight < strongest / 2:
            continue
        for kind, name in item.support.subjects:
            kinds.setdefault(kind, set()).add(name)
    hosts = set(kinds.get("host", ()))
    for kind in ("gpu", "nic"):
        for name in kinds.get(kind, ()):
            place.devices.append(name)
            host = re.split(r"[/:]", name)[0]
            if host != name and not host.isdecimal():
                hosts.add(host)
    place.hosts = sorted(_PORT.sub("", h) for h in hosts)
    place.ranks = sorted({int(r) for r in kinds.get("rank", ()) if r.isdecimal()})
    place.links = sorted(kinds.get("link", ()))
    place.devices.sort()
    return place


def _ruled_out(ranked: list[Ranked], shown: set[str], kb: Knowledge) -> list[RuledOut]:
    out: list[RuledOut] = []
    for item in ranked:
        if item.id in shown or item.id == "healthy":
            continue
        against = sorted((e for e in item.evidence if e.weight <= -1.5 and e.rule != WORDING), key=lambda e: e.weight)
        if against:
            out.append(RuledOut(item.id, kb.causes[item.id]["title"], against[0].text))
        elif item.stepped_back_for in shown:
            other = kb.causes[item.stepped_back_for]["title"] if item.stepped_back_for else ""
            out.append(
                RuledOut(item.id, kb.causes[item.id]["title"], f"Its signs are explained by another cause: {other}.")
            )
    return out


def _harmless(case: CaseFile, kb: Knowledge) -> list[Harmless]:
    found = []
    for name, hit in case.hits.items():
        signature = kb.signatures.get(name)
        if signature is not None and signature["role"] == "benign":
            found.append(Harmless(name, signature["means"], hit.count, hit.first))
    return sorted(found, key=lambda h: h.signature)


def telling_facts(facts: list[Fact]) -> list[Fact]:
    """Facts in a fixed order, one of each key, value and subject, the most reliable first."""
    best: dict[tuple[str, str, str], Fact] = {}
    for fact in facts:
        if fact.key in INTERNAL:
            continue
        key = (fact.key, str(fact.value), str(fact.subject))
        known = best.get(key)
        if known is None or RELIABILITY.index(fact.origin.kind) > RELIABILITY.index(known.origin.kind):
            best[key] = fact
    return [best[k] for k in sorted(best)]
