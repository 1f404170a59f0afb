"""Traces of the ranks of a job side by side. Their clocks differ, so that lengths are compared, never times.

All ranks leave a collective together: who came last spent the least time in it, and the others' time in it is waiting.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from assistant.facts import Fact

#: A rank is late where its time in collectives is below the median by this many median deviations and this share of the step.
DEVIATIONS = 3.5 * 1.4826
SHARE = 0.12


@dataclass(slots=True)
class Trace:
    """The trace of one rank; lengths are microseconds of a step (its median), or of all where no steps are marked."""

    fact: Fact
    summary: dict[str, Any]
    number: int | None
    step: float = 0.0
    steps: int = 0
    comm: float = 0.0
    exposed: float = 0.0
    compute: float = 0.0
    data: float = 0.0
    span: float = 0.0
    idle: dict[str, float] = field(default_factory=dict)
    """Idle time of a step by its reason."""

    @property
    def gpu(self) -> bool:
        return bool(self.summary.get("gpu"))

    @property
    def name(self) -> str:
        return "the trace" if self.number is None else f"rank {self.number}"


def traces(facts: Iterable[Fact]) -> list[Trace]:
    """The traces that show a stretch of training; of several of one rank the longest."""
    found: dict[object, Trace] = {}
    for fact in facts:
        try:
            trace = _read(fact, json.loads(str(fact.value)))
        except (ValueError, TypeError, KeyError, AttributeError):
            continue
        if trace is None:
            continue
        key: object = trace.number if trace.number is not None else fact.origin.file
        known = found.get(key)
        if known is None or trace.span > known.span:
            found[key] = trace
    return list(found.values())


def _read(fact: Fact, summary: dict[str, Any]) -> Trace | None:
    span = float(summary.get("span", 0))
    if span <= 0:
        return None
    steps = summary["steps"]
    count = int(steps["n"])
    number = summary.get("rank", fact.origin.rank)
    trace = Trace(fact, summary, number if isinstance(number, int) else None, span=span, steps=count)
    source = steps if count else summary
    trace.step = float(steps["us"]) if count else span
    trace.comm, trace.exposed = float(source["comm"]), float(source["exposed"])
    trace.compute, trace.data = float(source["compute"]), float(source["data"])
    for name, value in summary["idle"].items():
        if isinstance(value, int | float):
            trace.idle[name] = float(value) / max(count, 1)
    return trace


def signature(trace: Trace) -> tuple[tuple[str, int], ...]:
    """The collectives of a step: ranks of other pipeline stages or groups have other ones and are not compared."""
    count = max(trace.steps, 1)
    return tuple((kind, round(found["n"] / count)) for kind, found in sorted(trace.summary["kinds"].items()))


def alike(ranks: list[Trace]) -> list[Trace]:
    """The largest set of ranks with the same collectives in a step, give or take some where the window cuts them."""
    kinds = Counter(tuple(k for k, _ in signature(t)) for t in ranks if t.comm > 0)
    if not kinds:
        return []
    common = kinds.most_common(1)[0][0]
    same = [t for t in ranks if tuple(k for k, _ in signature(t)) == common]
    middle = {kind: median(dict(signature(t))[kind] for t in same) for kind in common}
    return [t for t in same if all(abs(n - middle[k]) <= max(2, 0.1 * middle[k]) for k, n in signature(t))]


@dataclass(slots=True)
class Late:
    """A rank that the others wait for."""

    trace: Trace
    peers: list[Trace]
    why: str
    """slow-kernels, more-work, data, host, pause or unknown."""
    ratio: float = 1.0
    """How much longer it works: its kernels, or its compute."""

    @property
    def figures(self) -> str:
        others = median(t.comm for t in self.peers)
        per = "of a step" if self.trace.steps else "in all"
        return (
            f"{_ms(self.trace.comm)} {per} in collectives, the others {_ms(others)}"
            f" (median of {len(self.peers)}; a step takes {_ms(self.trace.step)})"
        )


def _ms(us: float) -> str:
    return f"{us / 1e3:.3g} ms" if us < 1e6 else f"{us / 1e6:.3g} s"


def late(ranks: list[Trace]) -> list[Late]:
    """The ranks that come late, of ranks with the same collectives; none where it is not one or a few of many."""
    if len(ranks) < 2:
        return []
    values = [t.comm for t in ranks]
    middle = median(values)
    step = median(t.step for t in ranks)
    if len(ranks) == 2:
        low, high = sorted(ranks, key=lambda t: t.comm)
        found = [low] if high.comm - low.comm > 2 * SHARE * step else []
    else:
        spread = median(abs(v - middle) for v in values)
        found = [t for t in ranks if middle - t.comm > max(DEVIATIONS * spread, SHARE * step)]
    if not found or len(found) > max(1, len(ranks) // 4):
        return []
    peers = [t for t in ranks if t not in found]
    last = max(t.comm for t in found)
    if min(t.comm for t in peers) - last < 0.5 * (median(t.comm for t in peers) - last):
        return []  # no gap between these and the rest
    return [Late(t, peers, *_why(t, peers)) for t in found]


def _why(trace: Trace, peers: list[Trace]) -> tuple[str, float]:
    """What the rank does in the time in which the others wait."""
    missing = median(t.comm for t in peers) - trace.comm
    work = trace.compute - median(t.compute for t in peers)
    more = {"compute": work}
    if trace.gpu:
        for reason in ("data", "sync", "launch", "long"):
            more[reason] = trace.idle.get(reason, 0.0) - median(t.idle.get(reason, 0.0) for t in peers)
        more["host"] = more.pop("sync") + more.pop("launch")
    else:
        more["data"] = trace.data - median(t.data for t in peers)
        more["host"] = trace.idle.get("us", 0.0) - median(t.idle.get("us", 0.0) for t in peers)
    reason = max(more, key=lambda name: more[name])
    if more[reason] < 0.25 * missing:
        return "unknown", 1.0
    if reason != "compute":
        return ("pause" if reason == "long" else reason), 1.0
    usual = median(t.compute for t in peers)
    longer = trace.compute / usual if usual > 0 else 1.0
    same = kernel_ratio(trace, peers)
    if same is not None and same >= 1.05:
        return "slow-kernels", same
    return "more-work", longer


def kernel_ratio(trace: Trace, peers: list[Trace]) -> float | None:
    """How much longer the same kernels (name and grid, called as often) take here; None where too few are the same."""
    own = trace.summary.get("kernels") or {}
    count = max(trace.steps, 1)
    time = expected = 0.0
    for mark, (calls, length) in own.items():
        others = [
            k[1] / k[0]
            for t in peers
            if (k := (t.summary.get("kernels") or {}).get(mark)) is not None
            and abs(k[0] / max(t.steps, 1) - calls / count) <= max(0.5, 0.05 * calls / count)
        ]
        if len(others) >= max(1, len(peers) // 2):
            time += length
            expected += calls * median(others)
    whole = sum(length for _, length in own.values())
    return time / expected if expected > 0 and time >= 0.4 * whole else None


def late_changes(ranks: list[Trace]) -> int:
    """Different ranks that came late in one step each, where it is now this and now that one; 0 where that is not seen."""
    each = [(t, {int(n): float(us) for n, us in t.summary["steps"].get("each", [])}) for t in ranks]
    steps = sorted(set.intersection(*(set(e) for _, e in each))) if len(each) >= 3 else []
    blamed: list[object] = []
    for number in steps:
        values = sorted((e[number], i) for i, (_, e) in enumerate(each))
        middle = median(v for v, _ in values)
        step = median(t.step for t in ranks)
        if middle - values[0][0] > 2 * SHARE * step and values[1][0] - values[0][0] > SHARE * step:
            blamed.append(values[0][1])
    if len(blamed) < max(3, 0.4 * len(steps)) or Counter(blamed).most_common(1)[0][1] > 0.6 * len(blamed):
        return 0
    return len(set(blamed))
