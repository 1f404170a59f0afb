"""Diagnosis -> the JSON of the contract (`ncclinic.diagnosis/1`)."""

from __future__ import annotations

from typing import Any

from assistant.diagnosis.diagnose import Diagnosis, Finding, telling_facts
from assistant.diagnosis.rank import Evidence
from assistant.facts import Fact, Origin
from assistant.safe_text import safe

SCHEMA = "ncclinic.diagnosis/1"
QUOTES = 3
"""Lines quoted for one piece of evidence at most."""


def to_json(diagnosis: Diagnosis) -> dict[str, Any]:
    """The document; every text from an attachment is free of control characters."""
    following = diagnosis.next
    return {
        "schema": SCHEMA,
        "verdict": diagnosis.verdict,
        "symptom": diagnosis.symptom,
        "causes": [_finding(f) for f in diagnosis.findings],
        "healthy": _finding(diagnosis.healthy) if diagnosis.healthy else None,
        "ruled_out": [{"id": r.id, "why": safe(r.why)} for r in diagnosis.ruled_out],
        "harmless": [
            {
                "id": h.signature,
                "means": h.means,
                "count": h.count,
                "origin": _origin(h.origin),
                "quote": safe(h.origin.quote or ""),
            }
            for h in diagnosis.harmless
        ],
        "contradictions": [safe(c) for c in diagnosis.contradictions],
        "next": None
        if following is None
        else {
            "kind": following.kind,
            "id": following.id,
            "text": following.text,
            "why": following.why,
            "how": following.how,
            "choices": [{"label": c.label, "value": c.value} for c in following.choices],
        },
        "facts": [_fact(f) for f in telling_facts(diagnosis.facts)],
        "inputs": [
            {
                "path": safe(i.path),
                "bytes": i.bytes,
                "lines": i.lines,
                "kind": i.kind,
                "notes": [safe(n) for n in i.notes],
            }
            for i in diagnosis.inputs
        ],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    place = finding.where
    return {
        "id": finding.id,
        "title": finding.title,
        "probability": round(finding.probability, 4),
        "where": {
            "hosts": [safe(h) for h in place.hosts],
            "ranks": place.ranks,
            "links": [safe(x) for x in place.links],
            "devices": [safe(d) for d in place.devices],
        },
        "evidence": [entry for e in finding.evidence for entry in _evidence(e)],
        "against": [entry for e in finding.against for entry in _evidence(e)],
        "fixes": [
            {
                "id": f.id,
                "title": f.title,
                "kind": f.kind,
                "who": f.who,
                "steps": [safe(s) for s in f.steps],
                "commands": [safe(c) for c in f.commands],
                "gain": {"text": f.gain},
                "verify": safe(f.verify),
                "risk": f.risk,
                "undo": f.undo,
                "hides": f.hides,
            }
            for f in finding.fixes
        ],
        "explanation": finding.explanation,
        "confirm": finding.confirm,
        "mistaken_for": finding.mistaken_for,
        "sources": finding.sources,
    }


def _evidence(evidence: Evidence) -> list[dict[str, Any]]:
    """One entry a piece of evidence; its first line is the quote, further ones stand under `more`."""
    origins = evidence.support.origins[:QUOTES]
    first = origins[0] if origins else Origin("derived")
    entry: dict[str, Any] = {
        "rule": evidence.rule,
        "text": safe(evidence.text),
        "strength": evidence.strength,
        "origin": _origin(first),
        "quote": safe(first.quote or ""),
    }
    more = [{"origin": _origin(o), "quote": safe(o.quote or "")} for o in origins[1:]]
    if more:
        entry["more"] = more
    return [entry]


def _origin(origin: Origin) -> dict[str, Any]:
    return {
        "kind": origin.kind,
        "file": safe(origin.file) if origin.file else None,
        "line": origin.line,
        "host": safe(origin.host) if origin.host else None,
        "rank": origin.rank,
    }


def _fact(fact: Fact) -> dict[str, Any]:
    value = safe(fact.value) if isinstance(fact.value, str) else fact.value
    return {"key": fact.key, "value": value, "subject": safe(str(fact.subject)), "origin": _origin(fact.origin)}
