"""Runs of nccl-tests side by side: the same hosts again, pairs of hosts, one host against several."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from assistant.facts import CaseFile, Fact, Origin, Subject

#: A run below this share of the usual bandwidth of its like is slow.
SLOW = 0.75
NAMED = 8


@dataclass(frozen=True, slots=True)
class Run:
    op: str
    ranks: int
    nodes: int
    hosts: tuple[str, ...]
    peak: float
    fact: Fact


def derive(case: CaseFile) -> Iterable[Fact]:
    runs = [run for fact in case.about("nccl_tests.run") if (run := _run(fact)) is not None]
    if len(runs) < 2:
        return
    yield from _again(runs)
    yield from _odd(runs)
    yield from _scaling(runs)


def _run(fact: Fact) -> Run | None:
    parts = dict(part.partition("=")[::2] for part in str(fact.value).split(" "))
    try:
        hosts = tuple(host for host in parts["hosts"].split(",") if host)
        return Run(
            parts["op"], int(parts["ranks"]), int(parts["nodes"]) or len(hosts), hosts, float(parts["peak"]), fact
        )
    except (KeyError, ValueError):
        return None


def _alike(runs: Sequence[Run]) -> list[list[Run]]:
    """Runs of the same collective on as many ranks and nodes."""
    groups: dict[tuple[str, int, int], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.op, run.ranks, run.nodes), []).append(run)
    return [group for group in groups.values() if len(group) > 1]


def _again(runs: Sequence[Run]) -> Iterator[Fact]:
    worst = 0.0
    like: Run | None = None
    for group in _alike(runs):
        same: dict[tuple[str, ...], list[Run]] = {}
        for run in group:
            if run.hosts:
                same.setdefault(run.hosts, []).append(run)
        for again in same.values():
            low = min(again, key=lambda run: run.peak)
            if len(again) > 1 and low.peak > 0 and (ratio := max(r.peak for r in again) / low.peak) > worst:
                worst, like = ratio, low
    if like is not None:
        yield _fact("nccl_tests.run_spread", round(worst, 2), like)


def _odd(runs: Sequence[Run]) -> Iterator[Fact]:
    """Hosts and pairs that make a run slow. Needs at least two good runs of the same make."""
    for group in _alike(runs):
        if len(group) < 3 or len({run.hosts for run in group}) < 3:
            continue
        usual = median(sorted((run.peak for run in group), reverse=True)[: (len(group) + 1) // 2])
        slow = [run for run in group if run.peak < SLOW * usual]
        good = [run for run in group if run.peak >= SLOW * usual]
        if not slow or len(good) < 2:
            continue
        known_good = {host for run in good for host in run.hosts}
        suspects = set(slow[0].hosts).intersection(*(run.hosts for run in slow)) - known_good
        if suspects and len(suspects) < max(2, len(slow[0].hosts)):
            for host in sorted(suspects)[:NAMED]:
                yield _fact("nccl_tests.odd_host", _figures(slow[0], usual), slow[0], Subject("host", host))
            continue
        for run in slow[:NAMED]:
            if len(run.hosts) == 2 and known_good.issuperset(run.hosts):
                yield _fact("nccl_tests.odd_pair", _figures(run, usual), run, Subject("link", " - ".join(run.hosts)))
            elif len(run.hosts) == 1:
                yield _fact("nccl_tests.odd_host", _figures(run, usual), run, Subject("host", run.hosts[0]))


def _scaling(runs: Sequence[Run]) -> Iterator[Fact]:
    for op in dict.fromkeys(run.op for run in runs):
        inside = [run.peak for run in runs if run.op == op and run.nodes == 1]
        between = [run for run in runs if run.op == op and run.nodes > 1]
        if inside and between and max(inside) > 0:
            best = max(between, key=lambda run: run.peak)
            yield _fact("nccl_tests.between_over_inside", round(best.peak / max(inside), 3), best)
            return


def _figures(run: Run, usual: float) -> str:
    return f"{run.op} {run.peak:g} GB/s, others {usual:g} GB/s"


def _fact(key: str, value: str | float, run: Run, subject: Subject | None = None) -> Fact:
    o = run.fact.origin
    return Fact(key, value, Origin("derived", o.file, o.line, o.host, o.rank, o.quote), subject or Subject())
