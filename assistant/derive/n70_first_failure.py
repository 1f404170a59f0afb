"""The first failure: which rank and host failed first, and with what. The last line of a log is usually an echo.

Chosen by time where lines have one; where not, by kind: a kernel or scheduler message and an exception of the program before
a signal, a signal before a watchdog, all before the launcher's report (which often names a victim).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from assistant.diagnosis.origin import COMPARABLE, Clock, ended_well, exceptions
from assistant.facts import CaseFile, Fact, Origin
from knowledge.load import knowledge

#: Kinds, those nearest to a cause first.
_CLASS = {
    "oom-host": 0,
    "gpu": 0,
    "node": 0,
    "oom-gpu": 1,
    "python-exception": 1,
    "nccl": 2,
    "signal": 3,
    "watchdog": 4,
    "launcher": 5,
}
#: Exit codes that follow from another failure: stopped by the launcher, or aborted by the watchdog.
_FOLLOWS = (0, 1, -1, -2, -6, -13, -15)


@dataclass(frozen=True, slots=True)
class Candidate:
    kind: str
    text: str
    origin: Origin
    time: float | None


def derive(case: CaseFile) -> Iterable[Fact]:
    signatures = knowledge().signatures
    clock = Clock(case)
    candidates = [*_raised(case, clock), *_signals(case, clock), *_hits(case, signatures, clock)]
    facts = list(_kinds(case, signatures, bool(candidates)))
    first = choose(candidates)
    if first is None or ended_well(case):
        return facts
    winner, timed = first
    origin = winner.origin
    facts.append(_fact("first_failure.kind", winner.kind, origin))
    facts.append(_fact("first_failure.text", winner.text[:300], origin))
    facts.append(_fact("first_failure.time_known", timed, origin))
    if origin.rank is not None:
        facts.append(_fact("first_failure.rank", origin.rank, origin))
    if origin.host is not None:
        facts.append(_fact("first_failure.host", origin.host, origin))
    return facts


def _fact(key: str, value: str | int | bool, origin: Origin) -> Fact:
    return Fact(key, value, origin.derived())


def choose(candidates: list[Candidate]) -> tuple[Candidate, bool] | None:
    """The first failure, and whether it was told by time."""
    if not candidates:
        return None
    times = sorted(c.time for c in candidates if c.time is not None)
    if len(times) > 1:
        middle = times[len(times) // 2]
        same = [c for c in candidates if c.time is not None and abs(c.time - middle) <= COMPARABLE]
        rest = [c for c in candidates if c not in same]
        best = min(same, key=lambda c: (round(c.time or 0.0), _CLASS[c.kind]))
        nearer = [c for c in rest if _CLASS[c.kind] < _CLASS[best.kind]]
        if not nearer:
            return best, True
        return min(nearer, key=_by_kind), False
    return min(candidates, key=_by_kind), False


def _by_kind(candidate: Candidate) -> tuple[int, int]:
    return _CLASS[candidate.kind], candidate.origin.line or 0


def _raised(case: CaseFile, clock: Clock) -> Iterator[Candidate]:
    for fact in exceptions(case):
        text = str(fact.value)
        kind = "oom-gpu" if "OutOfMemoryError" in text or "out of memory" in text else "python-exception"
        yield Candidate(kind, text, fact.origin, clock.time(fact.origin))


def _signals(case: CaseFile, clock: Clock) -> Iterator[Candidate]:
    for fact in case.about("exit_code"):
        if fact.value in _FOLLOWS or not isinstance(fact.value, int):
            continue
        kind = "signal" if fact.value < 0 else "launcher"
        yield Candidate(kind, fact.origin.quote or f"exit code {fact.value}", fact.origin, clock.time(fact.origin))


def _hits(case: CaseFile, signatures: dict[str, dict[str, Any]], clock: Clock) -> Iterator[Candidate]:
    for name, hit in case.hits.items():
        signature = signatures.get(name)
        if signature is None or signature["role"] not in ("root", "either") or not signature.get("causes"):
            continue
        kind = _kind(signature)
        for origin in hit.samples[:8]:
            yield Candidate(kind, origin.quote or signature["title"], origin, clock.time(origin))


def _kind(signature: dict[str, Any]) -> str:
    area, causes = str(signature["area"]), signature["causes"]
    if "host.memory-exhausted" in causes and area in ("kernel", "slurm", "kubernetes"):
        return "oom-host"
    if area.startswith("kernel") and any(c.startswith("gpu.") for c in causes):
        return "gpu"
    if "host.node-failed" in causes and area in ("slurm", "kubernetes"):
        return "node"
    if "gpu.memory-exhausted" in causes and "memory" in area:
        return "oom-gpu"
    if "watchdog" in area or "desync" in area:
        return "watchdog"
    if area.startswith(("torch/launcher", "mpi", "slurm", "kubernetes")):
        return "launcher"
    return "nccl" if area.startswith(("nccl", "torch/error", "aws", "ucx", "libfabric")) else "launcher"


def _kinds(case: CaseFile, signatures: dict[str, dict[str, Any]], failed: bool) -> Iterator[Fact]:
    """What sorts of lines the logs hold: only harmless ones, only echoes, or echoes after the end of the work."""
    roles: dict[str, list[Origin]] = {}
    for name, hit in case.hits.items():
        signature = signatures.get(name)
        if signature is not None:
            roles.setdefault(signature["role"], []).extend(hit.samples[:1])
    causes = len(
        [
            n
            for n in case.hits
            if n in signatures and signatures[n]["role"] in ("root", "either") and signatures[n].get("causes")
        ]
    )
    echoes = roles.get("echo", []) + [f.origin for f in case.about("python.echo")]
    bad_exit = any(isinstance(f.value, int) and f.value != 0 for f in case.about("exit_code"))
    somewhere = next((o for origins in roles.values() for o in origins), None)
    if somewhere is not None:
        yield _fact("failures.count", causes + len(exceptions(case)), somewhere)
    if roles.get("benign") and not failed and not echoes and not bad_exit:
        yield _fact("failures.only_benign", True, roles["benign"][0])
    if echoes and not failed:
        yield _fact("failures.only_echo", True, echoes[0])
    ends = [f.origin for key in ("run.finished", "run.succeeded") for f in case.about(key) if f.value is True]
    noise = echoes + roles.get("either", [])
    if ends and noise and not bad_exit and not exceptions(case) and not roles.get("root"):
        last = {o.file: o.line or 0 for o in ends if o.kind == "log"}
        if all((o.line or 0) >= last.get(o.file, 0) for o in noise) or case.value("run.succeeded") is True:
            yield _fact("failures.after_end", True, noise[0])
