"""Root before echo: which of the failures in the logs came first, and which only followed.

Every signature has a role. `root` names an origin, `echo` follows another failure, `either` is an origin only when it is
the first. Where lines have times the earliest wins; where not, the kind decides: root before either, echoes never.
"""

from __future__ import annotations

from dataclasses import dataclass

from assistant.diagnosis.conditions import Support
from assistant.facts import CaseFile, Hit
from knowledge.load import Knowledge

_LESS = {"proves": "strong", "strong": "moderate", "moderate": "weak", "weak": "weak"}
#: How much later (s) than the first failure a line may stand and still be a lead of its own.
SLACK = 5.0


@dataclass(slots=True)
class Failure:
    """A failure line that may be the origin, with what it points to."""

    signature: str
    role: str
    text: str
    causes: dict[str, str]
    support: Support
    time: float | None
    position: int


def lead_failures(case: CaseFile, kb: Knowledge) -> list[Failure]:
    """The failures that count as origins, first one first. Their `causes` already carry the strength they have here."""
    found: list[tuple[Hit, dict[str, object]]] = []
    for name, hit in case.hits.items():
        signature = kb.signatures.get(name)
        if signature is not None and signature.get("causes"):
            found.append((hit, signature))
    roots = [(h, s) for h, s in found if s["role"] in ("root", "info")]
    eithers = [(h, s) for h, s in found if s["role"] == "either"]
    leads = [_failure(h, s, {}) for h, s in roots]
    times = [lead.time for lead in leads if lead.role == "root" and lead.time is not None]
    first = min(times, default=None)
    for lead in leads:
        if lead.role == "root" and first is not None and lead.time is not None and lead.time > first + SLACK:
            lead.causes = {c: _LESS[s] for c, s in lead.causes.items()}
    has_root = any(lead.role == "root" for lead in leads)
    for hit, signature in eithers:
        lead = _failure(hit, signature, {})
        is_first = first is None or lead.time is None or lead.time < first
        if has_root and not (is_first and lead.time is not None and first is not None):
            lead.causes = {c: "weak" for c, s in lead.causes.items() if s != "weak"}
        leads.append(lead)
    leads.sort(key=lambda f: (f.time is None, f.time or 0.0, {"root": 0, "either": 1}.get(f.role, 2), f.position, f.signature))
    return leads


def _failure(hit: Hit, signature: dict[str, object], _: dict[str, str]) -> Failure:
    from assistant.diagnosis.conditions import _hit_support

    causes = signature["causes"]
    assert isinstance(causes, dict)
    first = min((o for o in hit.samples), key=lambda o: (o.time is None, o.time or 0.0))
    return Failure(
        str(signature["id"]),
        str(signature["role"]),
        str(signature["means"]),
        dict(causes),
        _hit_support([hit]),
        first.time,
        first.line or 0,
    )
