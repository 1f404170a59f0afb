"""Who waits for whom, and where the chains of waiting end.

A rank that stands in an operation waits for the members that have not called it (absent), and for those that have it queued
behind something else (queued). A rank at the end of all chains, for which others wait and which itself waits for nobody,
is guilty; all others are downstream. Ranks without a dump, or with a torn one, are blamed only where no other is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from assistant.derive._flight_components import components
from assistant.derive._flight_ranks import Job, Op
from assistant.parsers._flight_entry import SYNCHRONISING

#: Members of a group that a rank is compared with, call by call.
NEAR = 256
_Sides = tuple[set[int], set[int], set[int]]


@dataclass
class Waits:
    """The edges, by the rank that waits."""

    heads: dict[int, list[Op]] = field(default_factory=dict)
    absent: dict[int, set[int]] = field(default_factory=dict)
    queued: dict[int, set[int]] = field(default_factory=dict)
    unknown: dict[int, set[int]] = field(default_factory=dict)
    """Members without a dump that tells."""
    passed: set[int] = field(default_factory=set)
    """Ranks that show an operation as pending which a peer has completed."""
    frozen: set[int] = field(default_factory=set)
    """Ranks whose peers have completed later operations of the same group, which can't be without this rank's part."""

    def hard(self, number: int) -> set[int]:
        return self.absent.get(number, set()) | self.queued.get(number, set())


def waits(job: Job) -> Waits:
    found = Waits()
    for number, rank in job.ranks.items():
        if number in job.missing:
            continue
        found.heads[number] = job.heads(number)
        if rank.torn:
            continue
        _frozen(job, number, found)
    at = {n: {op.key for op in ops if op.peer is None} for n, ops in found.heads.items()}
    known: dict[tuple[str, int], _Sides] = {}
    for number, ops in found.heads.items():
        for op in ops:
            if op.peer is not None:
                _point_to_point(job, number, op, found)
                continue
            if op.key not in known:
                known[op.key] = _collective(job, op, found, at)
            for edges, side in zip((found.absent, found.queued, found.unknown), known[op.key], strict=True):
                if side - {number}:
                    edges[number] = edges.get(number, set()) | (side - {number})
    return found


def _frozen(job: Job, number: int, found: Waits) -> None:
    """Marks a rank that still shows as pending what its peers have completed with its part in it."""
    past = 0
    for op in job.ranks[number].ops("wait"):
        if op.peer is not None or op.group in job.point_to_point:
            continue
        best = job.furthest(op.group, number)
        if best < op.seq:
            continue
        if op.name in SYNCHRONISING:
            past += 1 if best == op.seq else 2
    if past:
        found.passed.add(number)
    if past > 1:
        found.frozen.add(number)


def _collective(job: Job, op: Op, found: Waits, at: dict[int, set[tuple[str, int]]]) -> _Sides:
    """Members of an operation that have not called it, that have it queued, and of which the dump does not tell."""
    absent, queued, unknown = set(), set(), set()
    for other in job.members.get(op.group, ()):
        if other in job.missing or other not in job.ranks:
            unknown.add(other)
            continue
        reached = job.enqueued(other, op.group)
        torn = job.ranks[other].torn
        if torn and (reached is None or reached < op.seq):
            unknown.add(other)
        elif reached is None:
            continue
        elif reached < op.seq:
            absent.add(other)
        elif other in found.frozen or (
            op.key not in at.get(other, set())
            and found.heads.get(other)
            and job.done(other, op.group) < op.seq
            and not _beyond(found.heads[other], op)
        ):
            queued.add(other)
    return absent, queued, unknown


def _beyond(heads: list[Op], op: Op) -> bool:
    """Whether a rank stands in a later operation of the same group."""
    return any(h.group == op.group and h.peer is None and h.seq > op.seq for h in heads)


def _point_to_point(job: Job, number: int, op: Op, found: Waits) -> None:
    members = job.members.get(op.group, ())
    if op.peer is None or op.peer >= len(members) or number not in members:
        return
    other, own = members[op.peer], members.index(number)
    if other == number:
        return
    if other in job.missing or other not in job.ranks or job.ranks[other].torn:
        found.unknown.setdefault(number, set()).add(other)
        return
    wanted = "recv" if op.name == "send" else "send"

    def matches(candidate: Op) -> bool:
        return candidate.group == op.group and candidate.name == wanted and candidate.peer == own

    if other not in found.frozen and any(matches(h) for h in found.heads.get(other, ())):
        return
    if other in found.frozen or any(matches(o) for o in job.ranks[other].ops("wait")):
        found.queued.setdefault(number, set()).add(other)
    else:
        found.absent.setdefault(number, set()).add(other)


@dataclass
class Verdict:
    guilty: dict[int, str] = field(default_factory=dict)
    """Rank and the rule that named it."""
    waiting: set[int] = field(default_factory=set)
    stalled: set[int] = field(default_factory=set)
    """Ranks that stand together in one operation that all of them have called: it does not end, and none of them is to blame."""
    cycle: set[int] = field(default_factory=set)


def judge(job: Job, found: Waits) -> Verdict:
    verdict = Verdict(dict.fromkeys(found.frozen, "more-pending-than-peers"))
    nodes = sorted(found.heads)
    hard = {n: (set() if n in found.frozen else found.hard(n)) for n in nodes}
    verdict.waiting = {n for n in nodes if found.heads[n] and n not in found.frozen}
    strong = Counter(
        t
        for n in nodes
        if n not in found.frozen and any(h.peer is None for h in found.heads[n])
        for t in found.absent.get(n, ())
    )
    asked = Counter(t for n in nodes for t in hard[n])
    ends: set[int] = set()
    for part in components(nodes, hard):
        if any(hard[n] - part for n in part):
            continue
        if len(part) == 1:
            number = next(iter(part))
            if asked[number] and number not in found.frozen:
                ends.add(number)
        else:
            _cycle(job, part, found, strong, verdict)
    _ends(job, ends, found, verdict)
    _stopped_early(job, found, verdict)
    _missing(job, found, verdict)
    verdict.waiting -= set(verdict.guilty)
    return verdict


def _ends(job: Job, ends: set[int], found: Waits, verdict: Verdict) -> None:
    """Ranks at the end of a chain that wait for nobody with a dump."""
    standing: dict[tuple[str, int], set[int]] = {}
    for number in ends:
        for head in found.heads[number]:
            standing.setdefault(head.key, set()).add(number)
    for number in sorted(ends):
        if found.unknown.get(number):
            continue
        heads = found.heads[number]
        if not heads:
            others = any(job.ranks[n].pending for n in found.heads if n != number)
            verdict.guilty[number] = (
                "never-called" if job.ranks[number].pending or not others else "nothing-pending-while-others-wait"
            )
            continue
        together = set().union(*(standing[h.key] for h in heads))
        if number in found.passed:
            verdict.guilty[number] = "stopped-inside"
        elif len(together) == 1 and heads[0].peer is None:
            verdict.guilty[number] = "behind"
        else:
            unlike = [n for n in together if not any(h.state == "started" for h in found.heads[n])]
            if 2 * len(unlike) < len(together):
                for late in unlike:
                    verdict.guilty[late] = "not-started"
            else:
                verdict.stalled |= together


def _stopped_early(job: Job, found: Waits, verdict: Verdict) -> None:
    """A guilty rank that is hidden behind another: a peer made the same calls, waits for all of them as well, and went on.

    The same program with the same calls unfinished did not stop there on the peer, so that this rank stopped by itself."""
    if any(found.heads.get(n) for n in verdict.guilty):
        return
    calls: dict[int, list[tuple[str, str, int | None]]] = {}
    for number in found.heads:
        ops = job.ranks[number].ops("wait")
        if ops and job.ranks[number].pending == len(ops) and not job.ranks[number].torn:
            calls[number] = [(op.name, job.groups.get(op.group, ""), op.peer) for op in ops]
    for number, own in calls.items():
        if number in verdict.guilty:
            continue
        groups = {op.group for op in job.ranks[number].ops("wait")}
        near = {m for g in groups for m in job.members.get(g, ())[:NEAR]}
        for peer in (n for n in near if n in calls and n not in verdict.guilty and len(calls[n]) > len(own)):
            if calls[peer][: len(own)] == own and _alike(job, number, peer):
                verdict.guilty[number] = "behind"
                break


def _alike(job: Job, number: int, peer: int) -> bool:
    """Whether the unfinished calls of two ranks are the same ones where they share the group."""
    pairs = list(zip(job.ranks[number].ops("wait"), job.ranks[peer].ops("wait"), strict=False))
    shared = [(a, b) for a, b in pairs if a.group == b.group]
    return bool(shared) and all(a.seq == b.seq for a, b in shared)


def _cycle(job: Job, part: set[int], found: Waits, strong: Counter[int], verdict: Verdict) -> None:
    """Ranks that wait for each other. Where nearly all came to an operation, the few that did not took another way."""
    if part & found.frozen:
        return
    inside = part & found.passed
    if inside and inside != part:
        verdict.guilty.update(dict.fromkeys(inside, "stopped-inside"))
        return
    free = [n for n in part if strong[n] and not found.absent.get(n, set()) & part]
    if free and len(free) < len(part):
        for number in free:
            verdict.guilty[number] = "behind"
        return
    shares: dict[frozenset[int], float] = {}
    for number in part:
        for op in found.heads[number]:
            absent = frozenset(found.absent.get(number, set()) & part & set(job.members.get(op.group, ())))
            if absent and op.peer is None:
                shares[absent] = min(shares.get(absent, 1.0), len(absent) / len(job.members[op.group]))
    ranked = sorted(shares, key=lambda a: (shares[a], sorted(a)))
    if ranked and shares[ranked[0]] < 0.5 and (len(ranked) == 1 or shares[ranked[0]] <= 0.75 * shares[ranked[1]]):
        for number in ranked[0]:
            verdict.guilty[number] = "diverged"
    else:
        verdict.cycle |= part


def _missing(job: Job, found: Waits, verdict: Verdict) -> None:
    """Blames ranks without a readable dump where no dump names another: they may wait for it like the rest."""
    if verdict.guilty:
        return
    blamed = set().union(*(found.unknown.get(n, set()) for n in verdict.waiting))
    lost = blamed & job.missing
    if lost and len(job.missing) <= max(2, job.world // 4):
        lost = set(job.missing)
    for number in lost or blamed:
        verdict.guilty[number] = "missing-dump" if number in job.missing else "torn-dump"
