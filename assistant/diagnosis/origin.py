"""Root before echo: which of the failures in the logs came first, and which only followed.

Every signature has a role. `root` names an origin, `echo` follows another failure, `either` is an origin only when it is
the first. Where lines have times the earliest wins; where not, the kind decides: root before either, echoes last.
An exception of the program itself counts as an origin although it has no signature.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

from assistant.diagnosis.conditions import Support, _hit_support
from assistant.facts import CaseFile, Fact, Hit, Origin
from knowledge.load import Knowledge

_LESS = {"proves": "strong", "strong": "moderate", "moderate": "weak", "weak": "weak"}
#: How much later (s) than the first failure a line may stand and still be a lead of its own.
SLACK = 5.0
#: Times further apart than this (s) were read off different clocks and are not compared.
COMPARABLE = 3 * 86400.0
#: How many weak leads of the same cause count, beside origins.
WEAK_LEADS = 2
#: Areas whose lines are written by an observer after the fact: being late says nothing about them.
_REPORTS = ("slurm", "kubernetes", "torch/launcher", "mpi", "kernel")


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


class Clock:
    """Times of lines. A line without one takes that of the nearest line above it in its file."""

    def __init__(self, case: CaseFile) -> None:
        self.marks: dict[str | None, list[tuple[int, float]]] = {}
        origins = [o for hit in case.hits.values() for o in hit.samples] + [f.origin for f in case.facts]
        for origin in origins:
            if origin.time is not None and origin.line is not None:
                self.marks.setdefault(origin.file, []).append((origin.line, origin.time))
        for marks in self.marks.values():
            marks.sort()

    def time(self, origin: Origin) -> float | None:
        if origin.time is not None:
            return origin.time
        marks = self.marks.get(origin.file)
        if not marks or origin.line is None:
            return None
        at = bisect_right(marks, (origin.line, float("inf"))) - 1
        return marks[max(at, 0)][1]


def earlier(a: float | None, b: float | None, slack: float = 0.0) -> bool | None:
    """Whether time a lies more than `slack` before b; None where they can't be compared."""
    if a is None or b is None or abs(a - b) > COMPARABLE:
        return None
    return a < b - slack


def exceptions(case: CaseFile) -> list[Fact]:
    """Exceptions that the program raised by itself."""
    return case.about("python.exception")


def lead_failures(case: CaseFile, kb: Knowledge) -> list[Failure]:
    """The failures that count as origins, first one first. Their `causes` already carry the strength they have here."""
    clock = Clock(case)
    found: list[tuple[Failure, dict[str, Any]]] = []
    for name, hit in case.hits.items():
        signature = kb.signatures.get(name)
        if signature is not None and signature.get("causes"):
            found.append((_failure(hit, signature, clock), signature))
    own = exceptions(case)
    roots = [f for f, s in found if f.role == "root"]
    times = [f.time for f in roots if f.time is not None] + [t for f in own if (t := clock.time(f.origin)) is not None]
    first = min(times, default=None)
    raised_at = {(f.origin.file, f.origin.line) for f in own}
    leads: list[Failure] = []
    for lead, signature in found:
        if lead.role == "root":
            if not signature["area"].startswith(_REPORTS) and earlier(first, lead.time, SLACK):
                lead.causes = {c: _LESS[s] for c, s in lead.causes.items()}
        elif lead.role == "either":
            before = earlier(lead.time, first)
            itself = any((o.file, o.line) in raised_at for o in lead.support.origins)
            if not itself and (before is False or (before is None and (roots or own))):
                lead.causes = dict.fromkeys(lead.causes, "weak")
        elif lead.role == "echo":
            continue
        leads.append(lead)
    if not any(lead.role in ("root", "either") for lead in leads) and not own and not ended_well(case):
        leads += _first_echo([f for f, _ in found if f.role == "echo"])
    leads.sort(key=_order)
    return _few_weak(leads)


def ended_well(case: CaseFile) -> bool:
    """The run came to its end by itself; what is logged after that is the noise of leaving."""
    return case.value("run.succeeded") is True or (case.value("run.finished") is True and not _bad_exit(case))


def _bad_exit(case: CaseFile) -> bool:
    return any(isinstance(f.value, int) and f.value != 0 for f in case.about("exit_code"))


def _order(lead: Failure) -> tuple[bool, float, int, int, str]:
    return (
        lead.time is None,
        lead.time or 0.0,
        {"root": 0, "either": 1}.get(lead.role, 2),
        lead.position,
        lead.signature,
    )


def _first_echo(echoes: list[Failure]) -> list[Failure]:
    """Only echoes are there: the first of them still says that something failed elsewhere."""
    if not echoes:
        return []
    first = min(echoes, key=_order)
    first.causes = dict.fromkeys(first.causes, "weak")
    return [first]


def _few_weak(leads: list[Failure]) -> list[Failure]:
    """Many weak lines of one failure are one piece of evidence, not many."""
    counts: dict[str, int] = {}
    for lead in leads:
        if lead.role == "info":
            continue
        for cause, strength in list(lead.causes.items()):
            if strength == "weak":
                counts[cause] = counts.get(cause, 0) + 1
                if counts[cause] > WEAK_LEADS:
                    del lead.causes[cause]
    return [lead for lead in leads if lead.causes]


def _failure(hit: Hit, signature: dict[str, Any], clock: Clock) -> Failure:
    times = [(t, o) for o in hit.samples if (t := clock.time(o)) is not None]
    time, first = min(times, key=lambda p: p[0]) if times else (None, hit.first)
    support = _hit_support([hit])
    return Failure(
        str(signature["id"]),
        str(signature["role"]),
        str(signature["means"]),
        dict(signature["causes"]),
        support,
        time,
        first.line or 0,
    )
