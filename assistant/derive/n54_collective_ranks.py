"""The ranks of a collective that did not finish, side by side: who is behind, who called something else, who is silent.

Reports come from those that wait. The place is the rank that does not stand with the others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from assistant.facts import CaseFile, Fact, Origin, Subject

#: Ranks that are named one by one.
_NAMED = 32
#: Ranks that can stand apart, and how many others must stand together then.
_ODD = 2
_TOGETHER = 6
_WORK = re.compile(r"pg=(?P<pg>\d+) seq=(?P<seq>\d+|\?) op=(?P<op>\w+) size=(?P<size>\S+)")
_STATE = re.compile(r"pg=(?P<pg>\d+) enqueued=(?P<enq>-?\d+) started=(?P<started>-?\d+|\?) completed=(?P<done>-?\d+)")
_SEQ = re.compile(r"seq=(\d+) ?(.*)")

Numbers = dict[int, tuple[int, Origin]]
"""A number of each rank, and where it was read."""


def derive(case: CaseFile) -> Iterable[Fact]:
    works = _by_group(case, "watchdog.work", _WORK)
    default = works.get("0", {})
    if default:
        yield from _who_reported(case, {rank: origin for rank, (_, origin) in default.items()})
        yield from _agreement(default)
    for ranks in works.values():
        yield from _sizes(ranks)
    for group, states in _by_group(case, "watchdog.state", _STATE).items():
        yield from _counters(states, group)
    yield from _prints(case)


def _rank(fact: Fact) -> int | None:
    return int(fact.subject.name) if fact.subject.kind == "rank" and fact.subject.name.isdecimal() else None


def _fact(key: str, value: str | int | bool, origin: Origin, rank: int) -> Fact:
    return Fact(
        key,
        value,
        Origin("derived", origin.file, origin.line, origin.host, rank, origin.quote, origin.time),
        Subject("rank", str(rank)),
    )


def _by_group(case: CaseFile, key: str, pattern: re.Pattern[str]) -> dict[str, dict[int, tuple[re.Match[str], Origin]]]:
    """For each process group what its ranks report; of each rank the first report. Of many equal reports only some have a line."""
    found: dict[str, dict[int, tuple[re.Match[str], Origin]]] = {}
    for fact in case.about(key):
        match, rank = pattern.fullmatch(str(fact.value)), _rank(fact)
        if match is not None and rank is not None:
            found.setdefault(match["pg"], {}).setdefault(rank, (match, fact.origin))
    for value, places in case.spread(key).items():
        match = pattern.fullmatch(str(value))
        if match is None or places.count <= places.kept:
            continue
        ranks = found.setdefault(match["pg"], {})
        for rank in places.ranks:
            ranks.setdefault(rank, (match, Origin(places.first.origin.kind, rank=rank)))
    return found


def _who_reported(case: CaseFile, reported: dict[int, Origin]) -> Iterator[Fact]:
    """Ranks that reported a timeout, and those of whom the logs know that did not."""
    ranks = set(reported)
    origin = next(iter(reported.values()))
    joined = ",".join(map(str, sorted(ranks)))
    yield Fact("watchdog.ranks", joined, origin)
    if len(ranks) < 2:
        return
    world = max(ranks) + 1
    named = [int(f.value) for f in case.about("watchdog.named_world") if isinstance(f.value, int)]
    named += [
        int(f.value) for key in ("nccl.nranks", "world_size") for f in case.about(key) if isinstance(f.value, int)
    ]
    likely = [n for n in named if world <= n <= 2 * len(ranks) + 2]
    silent = set(range(max([world, *likely]))) - ranks
    if silent and len(silent) < len(ranks):
        yield Fact("watchdog.silent_ranks", ",".join(map(str, sorted(silent))), origin)
    if len(silent) <= _ODD and len(ranks) >= _TOGETHER:
        for rank in sorted(silent):
            where = Origin("derived", rank=rank)
            yield Fact(
                "odd.watchdog", f"reported no timeout; {len(ranks)} others did", where, Subject("rank", str(rank))
            )
    if silent == {0}:
        yield Fact("watchdog.rank0_silent", True, origin, Subject("rank", "0"))


def _agreement(works: dict[int, tuple[re.Match[str], Origin]]) -> Iterator[Fact]:
    """Whether all stand at one number and in one operation, and who is behind."""
    origin = next(iter(works.values()))[1]
    if len({m["seq"] for m, _ in works.values()}) > 1:
        yield Fact("watchdog.seq_differs", True, origin)
    if len({(m["op"], m["size"]) for m, _ in works.values()}) > 1:
        yield Fact("watchdog.ops_differ", True, origin)
    numbers: Numbers = {rank: (int(m["seq"]), o) for rank, (m, o) in works.items() if m["seq"] != "?"}
    yield from _behind(numbers, "watchdog.behind_seq")
    yield from _alone({rank: (f"at {n}", o) for rank, (n, o) in numbers.items()})
    yield from _alone({rank: (f"in {m['op']}({m['size']})", o) for rank, (m, o) in works.items()})


def _alone(stands: dict[int, tuple[str, Origin]]) -> Iterator[Fact]:
    """The one or two ranks that timed out elsewhere than all others."""
    common, together = Counter(where for where, _ in stands.values()).most_common(1)[0] if stands else ("", 0)
    odd = sorted(rank for rank, (where, _) in stands.items() if where != common)
    if together >= _TOGETHER and len(odd) <= _ODD:
        for rank in odd:
            where, origin = stands[rank]
            yield _fact("odd.watchdog", f"timed out {where}; {together} others {common}", origin, rank)


def _behind(numbers: Numbers, key: str) -> Iterator[Fact]:
    """The ranks below the number at which most stand, with how much; only a minority can be."""
    if len(numbers) < 3:
        return
    most, together = Counter(n for n, _ in numbers.values()).most_common(1)[0]
    low = sorted((n, rank) for rank, (n, _) in numbers.items() if n < most)
    if together * 2 <= len(numbers) or not low:
        return
    for number, rank in low[:_NAMED]:
        yield _fact(key, most - number, numbers[rank][1], rank)


def _sizes(works: dict[int, tuple[re.Match[str], Origin]]) -> Iterator[Fact]:
    """Ranks that stand in another operation or size than most at the same number."""
    at: dict[str, dict[int, tuple[str, Origin]]] = {}
    for rank, (match, origin) in works.items():
        at.setdefault(match["seq"], {})[rank] = (f"{match['op']}({match['size']})", origin)
    for number, ranks in at.items():
        yield from _odd(ranks, "watchdog.odd_op", f"#{number} ")


def _odd(ranks: dict[int, tuple[str, Origin]], key: str, before: str = "") -> Iterator[Fact]:
    if len(ranks) < 3:
        return
    common, count = Counter(v for v, _ in ranks.values()).most_common(1)[0]
    if count * 2 <= len(ranks):
        return
    for rank, (value, origin) in sorted((r, v) for r, v in ranks.items() if v[0] != common)[:_NAMED]:
        yield _fact(key, f"{before}{value}, most: {common}"[:300], origin, rank)


def _counters(states: dict[int, tuple[re.Match[str], Origin]], group: str) -> Iterator[Fact]:
    """By the counters of enqueued and completed work: who called fewer collectives, who is stuck inside one."""
    enqueued: Numbers = {rank: (int(m["enq"]), o) for rank, (m, o) in states.items()}
    behind = list(_behind(enqueued, "watchdog.behind_enqueued"))
    yield from behind
    if not behind:
        completed: Numbers = {rank: (int(m["done"]), o) for rank, (m, o) in states.items()}
        yield from _behind(completed, "watchdog.behind_completed")
    if group == "0" and len(states) >= 3 and not behind and len({n for n, _ in enqueued.values()}) == 1:
        yield Fact("watchdog.all_called", next(iter(enqueued.values()))[0], next(iter(enqueued.values()))[1])


def _prints(case: CaseFile) -> Iterator[Fact]:
    """Fingerprints: what a minority of ranks runs, and who called the fewest collectives under DETAIL."""
    said: dict[int, tuple[str, Origin]] = {}
    for fact in case.about("fingerprint.of"):
        rank = _rank(fact)
        if rank is not None:
            said.setdefault(rank, (str(fact.value), fact.origin))
    yield from _odd(said, "fingerprint.odd_rank")
    last: Numbers = {}
    for fact in case.about("fingerprint.last"):
        rank, found = _rank(fact), _SEQ.match(str(fact.value))
        if rank is not None and found is not None:
            last[rank] = (int(found[1]), fact.origin)
    yield from _behind(last, "fingerprint.behind")
    yield from _unused(case)


def _unused(case: CaseFile) -> Iterator[Fact]:
    """Parameters without a gradient on some ranks only: a branch that depends on the data or the rank."""
    by_rank = {rank: (str(f.value), f.origin) for f in case.about("ddp.unused") if (rank := _rank(f)) is not None}
    if len({v for v, _ in by_rank.values()}) > 1:
        first = next(iter(by_rank.values()))
        yield Fact("ddp.unused_differs", True, first[1])
