"""Profiler traces of all ranks together: who is late and why, what a step is spent on where nobody is waited for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from statistics import median
from typing import Any

from assistant.derive._trace_ranks import Late, Trace, alike, late, late_changes, traces
from assistant.facts import JOB, CaseFile, Fact, Origin, Subject, Value

#: Collectives of a step, and mean time (us) of one, from which on it is a matter of many small ones.
MANY = 100
SHORT = 300.0


def derive(case: CaseFile) -> Iterable[Fact]:
    found = traces(case.about("trace.summary"))
    if not found:
        return
    facts = [*_ranks(found), *_job(found)]
    yield from facts
    if _sound(found, facts):
        yield _fact(found[0], "trace.sound", True)
    if case.value("symptom") is None and any(_is_trouble(f) for f in facts):
        yield Fact("symptom", "slow", Origin("derived"))


_TROUBLE = frozenset(("trace.late_rank", "trace.late_changes", "trace.small_kernels", "trace.long_gap"))
#: Shares of the time from which on they are what makes a job slow.
_LOSSES = {"trace.exposed_share": 0.3, "trace.sync_idle": 0.08, "trace.launch_share": 0.35}


def _sound(found: list[Trace], facts: list[Fact]) -> bool:
    """GPUs that are nearly always busy, little communication in the open, nobody late: as good as it gets."""
    values = {f.key: f.value for f in facts}
    busy = min(float(t.summary["busy"]) / t.span for t in found)
    exposed = values.get("trace.equal_ranks")
    steps = min(t.steps for t in found)
    bad = _TROUBLE.intersection(values) or "trace.slow_steps" in values
    calm = all(t.gpu for t in found) and steps >= 3 and busy >= 0.9
    return calm and not bad and isinstance(exposed, float) and exposed <= 0.1


def _is_trouble(fact: Fact) -> bool:
    least = _LOSSES.get(fact.key)
    return fact.key in _TROUBLE or (least is not None and isinstance(fact.value, int | float) and fact.value >= least)


def _fact(trace: Trace, key: str, value: Value, subject: Subject = JOB) -> Fact:
    like = trace.fact.origin
    rank = trace.number if subject.kind == "rank" else None
    origin = Origin("derived", like.file, like.line, like.host if rank is not None else None, rank, like.quote)
    return Fact(key, value, origin, subject)


def _ranks(found: list[Trace]) -> Iterator[Fact]:
    yield _fact(found[0], "trace.ranks", len(found))
    same = alike(found)
    behind = late(same)
    for one in behind:
        yield from _late(one)
    if len(same) < 3 or behind:
        return
    changing = late_changes(same)
    if changing:
        yield _fact(same[0], "trace.late_changes", changing)
        return
    step = median(t.step for t in same)
    middle = median(t.comm for t in same)
    spread = max(t.comm for t in same) - min(t.comm for t in same)
    if step > 0 and spread <= max(0.2 * middle, 0.05 * step):
        yield _fact(same[0], "trace.equal_ranks", round(median(t.exposed for t in same) / step, 3))


def _late(one: Late) -> Iterator[Fact]:
    trace = one.trace
    if trace.number is None:
        return
    subject = Subject("rank", str(trace.number))
    yield _fact(trace, "trace.late_rank", one.why, subject)
    yield _fact(trace, "trace.late_figures", one.figures, subject)
    if one.why == "slow-kernels":
        text = f"rank {trace.number}: the same kernels take {one.ratio:.2f} times as long as on {len(one.peers)} peers"
        yield _fact(trace, "rank.odd_compute", text, subject)
    elif one.why == "more-work":
        yield _fact(trace, "work.spread", round(one.ratio, 2))
        yield _fact(trace, "work.spread_of", "trace")
    elif one.why == "data" and len(one.peers) > 1:
        yield _fact(trace, "step.data_ranks_differ", True)


def _job(found: list[Trace]) -> Iterator[Fact]:
    """What a step is spent on. Of several ranks that one tells which waits least for others."""
    with_comm = [t for t in alike(found) if t.steps or len(found) == 1]
    base = min(with_comm, key=lambda t: t.comm) if with_comm else found[0]
    yield from _shares(base, found)
    yield from _messages(base)
    worst = max(found, key=lambda t: t.idle.get("long", 0.0) * max(t.steps, 1))
    yield from _gaps(worst)
    slow = max(found, key=lambda t: int(t.summary["steps"].get("slow_n", 0)))
    number = int(slow.summary["steps"].get("slow_n", 0))
    if number and slow.steps >= 5:
        longest = max(us for _, us in slow.summary["steps"]["slow"])
        text = f"{number} of {slow.steps} steps, up to {longest / 1e6:.3g} s instead of {slow.step / 1e6:.3g} s"
        yield _fact(slow, "trace.slow_steps", text)


def _shares(base: Trace, found: list[Trace]) -> Iterator[Fact]:
    if base.step <= 0:
        return
    if base.gpu and base.comm > 0:
        yield _fact(base, "trace.comm_share", round(base.comm / (base.comm + base.compute), 3))
        yield _fact(base, "trace.exposed_share", round(base.exposed / base.step, 3))
        hidden = base.comm - base.exposed
        possible = hidden / min(base.comm, base.compute) if base.compute else 0.0  # no more than the compute can hide
        if base.comm <= base.compute or possible <= 0.3:
            share = hidden / base.comm
            if base.exposed >= 0.08 * base.step or share >= 0.8:
                yield _fact(base, "trace.overlap", round(share, 3))
    data = [(_data(t), t) for t in found]
    share, where = max(data, key=lambda pair: pair[0])
    if share > 0.01:
        yield _fact(where, "trace.data_share", round(share, 3))
    if not base.gpu:
        return
    for key, reason in (("trace.sync_idle", "sync"), ("trace.launch_share", "launch")):
        value = median(t.idle.get(reason, 0.0) * max(t.steps, 1) / t.span for t in found)
        if value > 0.01:
            yield _fact(base, key, round(value, 3))
    if base.steps:
        calls = base.summary["sync"]["n"] + base.summary["item"]["n"]
        yield _fact(base, "trace.syncs_per_step", round(calls / base.steps, 1))
    pageable = base.summary.get("copied", {}).get("pageable_us", 0.0) / base.span
    if pageable >= 0.01:
        yield _fact(base, "trace.pageable_share", round(pageable, 3))


def _data(trace: Trace) -> float:
    """Share of the time in which the data loader holds things up: on a GPU only what it stands idle for it."""
    waited = trace.idle.get("data", 0.0) * max(trace.steps, 1) if trace.gpu else float(trace.summary["data"])
    return waited / trace.span


def _messages(base: Trace) -> Iterator[Fact]:
    kinds: dict[str, dict[str, Any]] = base.summary["kinds"]
    number = sum(k["n"] for k in kinds.values())
    time = sum(k["us"] for k in kinds.values())
    if not number or not time:
        return
    if base.steps:
        yield _fact(base, "trace.collectives_per_step", round(number / base.steps, 1))
    sized = sum(k.get("sized", 0) for k in kinds.values())
    if sized:
        small, small_time = (sum(k.get(name, 0) for k in kinds.values()) for name in ("small", "small_us"))
        of_time = sum(k.get("sized_us", 0.0) for k in kinds.values())
        yield _fact(base, "trace.small_messages", round(small / sized, 3))
        yield _fact(base, "trace.small_time", round(small_time / of_time, 3) if of_time else 0.0)
    tiny = small / sized >= 0.7 if sized else time / number < SHORT
    if base.steps and number / base.steps >= MANY and tiny and base.comm >= 0.1 * base.step:
        yield _fact(base, "trace.small_kernels", True)
    best = max((k for k in kinds.values() if "busbw_best" in k), key=lambda k: k["us"], default=None)
    if best is not None:
        yield _fact(base, "trace.busbw_gbs", best["busbw_best"])


def _gaps(trace: Trace) -> Iterator[Fact]:
    gaps = trace.summary["idle"].get("gaps") or []
    if not gaps:
        return
    length, name = gaps[0]
    where = f" in {name}" if name else ""
    yield _fact(trace, "trace.long_gap", f"{trace.name}: GPU idle for {length / 1e6:.3g} s{where}")
