"""Ranks, hosts and communicators of NCCL Inspector's output side by side.

The time of a collective counts from the start of its kernel, so the rank that comes last has the shortest time: the others
wait for it in theirs. A slow link makes all ranks of a communicator equally slow, and its communicator slower than its peers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import median

from assistant.facts import JOB, CaseFile, Fact, Origin, Subject
from assistant.parsers.nccl_inspector import LARGE, SMALL, read_group

#: A rank that needs less than this share of the others' time comes last.
LATE = 0.6
#: A communicator whose best bandwidth is below this share of that of its peers is slow.
SLOW = 0.65
NAMED = 8
#: Shortest and fewest operations of which anything is said, in microseconds of the others' median.
_WORTH_US = 200.0
_ENOUGH = 5


@dataclass(slots=True)
class Seen:
    """One kind of operation on one rank, all parts of its file together."""

    rank: str
    host: str
    n: int
    us: float
    p90: float
    busbw: float
    best: float
    fact: Fact


Kind = tuple[str, str, int, int, int]
"""Communicator, collective, size, ranks, nodes."""


def derive(case: CaseFile) -> Iterable[Fact]:
    kinds = _kinds(case)
    if not kinds:
        return
    yield from _late(kinds)
    yield from _communicators(kinds)
    yield from _links(kinds)
    yield from _whole(kinds)


def _kinds(case: CaseFile) -> dict[Kind, list[Seen]]:
    parts: dict[tuple[Kind, str], list[tuple[dict[str, str], Fact]]] = {}
    for fact in case.about("inspector.group"):
        got = read_group(str(fact.value))
        try:
            kind = (got["comm"], got["op"], int(got["size"]), int(got["of"]), int(got["nodes"]))
            parts.setdefault((kind, got["rank"]), []).append((got, fact))
        except (KeyError, ValueError):
            continue
    kinds: dict[Kind, list[Seen]] = {}
    for (kind, rank), found in parts.items():
        try:
            kinds.setdefault(kind, []).append(_together(rank, found))
        except (KeyError, ValueError):
            continue
    return kinds


def _together(rank: str, found: list[tuple[dict[str, str], Fact]]) -> Seen:
    got, fact = found[0]
    host = got.get("host", "-")
    if len(found) == 1:
        n = max(1, int(got["n"]))
        return Seen(rank, host, n, float(got["us"]), float(got["p90"]), float(got["busbw"]), float(got["best"]), fact)
    counts = [max(1, int(part["n"])) for part, _ in found]
    total = sum(counts)

    def mean(name: str) -> float:
        return sum(float(part[name]) * n for (part, _), n in zip(found, counts, strict=True)) / total

    best = max(float(part["best"]) for part, _ in found)
    return Seen(rank, host, total, mean("us"), mean("p90"), mean("busbw"), best, fact)


def _late(kinds: dict[Kind, list[Seen]]) -> Iterator[Fact]:
    """Ranks for which the others wait, in most of the time that their communicator spends."""
    late: dict[tuple[str, str], tuple[float, str, Seen, int]] = {}
    spent: dict[str, float] = {}
    for (comm, op, size, ranks, _), seen in kinds.items():
        if ">" in op or len(seen) < 3 or min(s.n for s in seen) < _ENOUGH:
            continue
        usual = median(s.us for s in seen)
        if usual < _WORTH_US:
            continue
        weight = usual * median(s.n for s in seen)
        spent[comm] = spent.get(comm, 0.0) + weight
        odd = [s for s in seen if s.us < LATE * usual]
        if not odd or len(odd) * 4 > len(seen) + 3:
            continue
        for s in odd:
            known = late.get((comm, s.rank))
            text = known[1] if known else f"{op} of {_bytes(size)}: {s.us:.0f} us, others {usual:.0f} us"
            late[comm, s.rank] = ((known[0] if known else 0.0) + weight, text, s, ranks)
    world = max((kind[3] for kind in kinds), default=0)
    told: dict[Subject, tuple[Seen, str]] = {}
    for (comm, _), (weight, text, s, ranks) in late.items():
        if weight >= 0.5 * spent[comm]:
            own = s.rank.isdigit() and ranks == world
            told.setdefault(Subject("rank", s.rank) if own else _host(s), (s, text))
    for subject, (s, text) in list(told.items())[:NAMED]:
        yield _fact("inspector.late_rank", text, s, subject)
    hosts = {s.host for s, _ in told.values()}
    if len(told) > 1 and len(hosts) == 1 and "-" not in hosts:
        s = next(iter(told.values()))[0]
        yield _fact("inspector.late_host", s.host, s, _host(s))


def _communicators(kinds: dict[Kind, list[Seen]]) -> Iterator[Fact]:
    """Communicators of equal make that do not reach the bandwidth of their peers."""
    alike: dict[tuple[str, int, int, int], list[tuple[str, list[Seen]]]] = {}
    for (comm, op, size, ranks, nodes), seen in kinds.items():
        if ">" not in op and size >= LARGE and min(s.n for s in seen) >= _ENOUGH:
            alike.setdefault((op, size, ranks, nodes), []).append((comm, seen))
    told: set[str] = set()
    for (op, size, _, nodes), comms in alike.items():
        if len(comms) < 3:
            continue
        best = {comm: max(s.best for s in seen) for comm, seen in comms}
        usual = median(best.values())
        for comm, seen in comms:
            if best[comm] >= SLOW * usual or comm in told or len(told) >= NAMED:
                continue
            told.add(comm)
            text = f"{op} of {_bytes(size)}: {best[comm]:.1f} GB/s, peers {usual:.1f} GB/s"
            hosts = sorted({s.host for s in seen})
            if nodes == 1 or len(hosts) == 1:
                yield _fact("inspector.slow_host", text, seen[0], _host(seen[0]))
            else:
                yield _fact("inspector.slow_group", f"{text}; {', '.join(hosts[:NAMED])}", seen[0], JOB)


def _links(kinds: dict[Kind, list[Seen]]) -> Iterator[Fact]:
    """Pairs of ranks whose best transfer is far below that of the other pairs; the best one waited for nobody."""
    pairs: dict[tuple[str, int], list[tuple[str, Seen]]] = {}
    for (comm, op, size, _, _), seen in kinds.items():
        name, arrow, peer = op.partition(">")
        if arrow and name == "Send" and size >= 1 << 20:
            pairs.setdefault((comm, size), []).extend((peer, s) for s in seen if s.n >= _ENOUGH)
    told = 0
    for (_, size), found in pairs.items():
        if len(found) < 4:
            continue
        usual = median(s.best for _, s in found)
        for peer, s in found:
            if s.best < 0.5 * usual and told < NAMED:
                told += 1
                text = f"{_bytes(size)}: {s.best:.1f} GB/s, other pairs {usual:.1f} GB/s"
                yield _fact("inspector.slow_link", text, s, Subject("link", f"rank {s.rank} - rank {peer}"))


def _whole(kinds: dict[Kind, list[Seen]]) -> Iterator[Fact]:
    """The job as a whole: what it gets at large messages, at best, how much of the time is waiting, and how it varies."""
    large = [(seen, kind) for kind, seen in kinds.items() if kind[2] >= LARGE and ">" not in kind[1]]
    if large:
        seen, kind = max(large, key=lambda pair: sum(s.us * s.n for s in pair[0]))
        got, best = median(s.busbw for s in seen), median(s.best for s in seen)
        like = seen[0]
        yield _fact("inspector.large_gbs", round(got, 2), like, JOB)
        yield _fact("inspector.best_gbs", round(best, 2), like, JOB)
        yield _fact(
            "inspector.large_op", f"{kind[1]} of {_bytes(kind[2])} on {kind[3]} ranks, {kind[4]} nodes", like, JOB
        )
        if got > 0 and like.n >= _ENOUGH:
            yield _fact("inspector.best_over_usual", round(best / got, 2), like, JOB)
        usual = median(s.us for s in seen)
        if usual > 0 and like.n >= 20:
            yield _fact("inspector.jitter", round(median(s.p90 for s in seen) / usual, 2), like, JOB)
    small = [(seen, kind) for kind, seen in kinds.items() if 0 < kind[2] <= SMALL and ">" not in kind[1]]
    if small:
        seen, kind = max(small, key=lambda pair: sum(s.n for s in pair[0]))
        yield _fact("inspector.small_us", round(min(s.us for s in seen), 1), seen[0], JOB)
        every = sum(s.us * s.n for group in kinds.values() for s in group)
        if every > 0:
            share = sum(s.us * s.n for group, _ in small for s in group) / every
            yield _fact("inspector.small_share", round(share, 3), seen[0], JOB)


def _host(s: Seen) -> Subject:
    return Subject("host", s.host) if s.host != "-" else JOB


def _bytes(size: int) -> str:
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << shift:
            return f"{size >> shift} {unit}"
    return f"{size} B"


def _fact(key: str, value: str | float, s: Seen, subject: Subject) -> Fact:
    o = s.fact.origin
    rank = int(s.rank) if subject.kind == "rank" else None
    host = None if s.host == "-" else s.host
    return Fact(key, value, Origin("derived", o.file, o.line, host, rank, o.quote), subject)
