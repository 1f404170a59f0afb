"""The ranks of a collective that did not finish, side by side: who is behind, who called something else, who is silent.

Reports come from those that wait. The place is the rank that does not stand with the others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from assistant.derive._seen import in_one_stream, seen_ranks, subject_rank
from assistant.facts import CaseFile, Fact, Origin, Subject

#: Ranks that are named one by one.
_NAMED = 32
#: Ranks that can stand apart, and how many others must stand together then.
_ODD = 2
_TOGETHER = 6
_WORK = re.compile(r"pg=(?P<pg>\S+) seq=(?P<seq>\d+|\?) op=(?P<op>\w+) size=(?P<size>\S+)(?: run=(?P<run>\w+))?")
_STATE = re.compile(
    r"pg=(?P<pg>\S+) enqueued=(?P<enq>-?\d+) started=(?P<started>-?\d+|\?) completed=(?P<done>-?\d+)(?: run=(?P<run>\w+))?"
)
#: The group of all ranks, and one that is not known.
_DEFAULT, _UNKNOWN = "0", "?"
#: Between two ranks only, so that each counts its own.
_PAIRWISE = ("SEND", "RECV", "COALESCED")
_SEQ = re.compile(r"seq=(\d+) ?(.*)")

Numbers = dict[int, tuple[int, Origin]]
"""A number of each rank, and where it was read."""


@dataclass(slots=True)
class _Reports:
    """What the ranks of one group report in one run."""

    stands: dict[int, tuple[re.Match[str], Origin]] = field(default_factory=dict)
    unclear: set[int] = field(default_factory=set)
    """Ranks with several reports, of which the last one can't be told."""


_Runs = dict[str, dict[str, _Reports]]
"""By run and group. A run without a name is of all folders."""


def derive(case: CaseFile) -> Iterable[Fact]:
    works, states = _reports(case)
    for run, groups in sorted(works.items(), key=lambda item: len(item[1].get(_DEFAULT, _Reports()).stands)):
        default = groups.get(_DEFAULT)
        if default is not None and default.stands:
            origins = {rank: origin for rank, (_, origin) in default.stands.items()}
            yield from _who_reported(case, origins, default.unclear, run or None)
            yield from _agreement(_together(default.stands))
        for reports in groups.values():
            yield from _sizes(_together(reports.stands))
    for run, groups in states.items():
        for group, reports in groups.items():
            work = works.get(run, {}).get(group)
            if work is None or len(_together(work.stands)) == len(work.stands):
                yield from _counters(reports.stands, group)
    yield from _prints(case)


def _together(stands: dict[int, tuple[re.Match[str], Origin]]) -> dict[int, tuple[re.Match[str], Origin]]:
    """The ranks in a collective of the whole group."""
    return {rank: stand for rank, stand in stands.items() if stand[0]["op"] not in _PAIRWISE}


def _fact(key: str, value: str | int | bool, origin: Origin, rank: int) -> Fact:
    return Fact(
        key,
        value,
        Origin("derived", origin.file, origin.line, origin.host, rank, origin.quote, origin.time),
        Subject("rank", str(rank)),
    )


_Said = dict[tuple[str, str, int], dict[str, tuple[re.Match[str], list[Origin]]]]
"""By run, group and rank: each value, and where it stands."""


def _reports(case: CaseFile) -> tuple[_Runs, _Runs]:
    said = [_said(case, key, pattern) for key, pattern in (("watchdog.work", _WORK), ("watchdog.state", _STATE))]
    folders: dict[int, set[str]] = {}
    for run, _, rank in (place for one in said for place in one):
        folders.setdefault(rank, set()).add(run)
    apart = any(len(runs) > 1 for runs in folders.values())
    works, states = (_by_run(one, apart) for one in said)
    return works, states


def _said(case: CaseFile, key: str, pattern: re.Pattern[str]) -> _Said:
    """Of many equal reports only some have a line."""
    found: _Said = {}
    for fact in case.about(key):
        match, rank = pattern.fullmatch(str(fact.value)), subject_rank(fact)
        if match is not None and rank is not None and match["pg"] != _UNKNOWN:
            values = found.setdefault((match["run"] or "", match["pg"], rank), {})
            values.setdefault(str(fact.value), (match, []))[1].append(fact.origin)
    for value, places in case.spread(key).items():
        match = pattern.fullmatch(str(value))
        if match is None or places.count <= places.kept or match["pg"] == _UNKNOWN:
            continue
        for rank in places.ranks:
            values = found.setdefault((match["run"] or "", match["pg"], rank), {})
            values.setdefault(str(value), (match, []))
    return found


def _by_run(said: _Said, apart: bool) -> _Runs:
    """With `apart` each folder is a run of its own, as a rank reports in several."""
    runs: _Runs = {}
    for (run, group, rank), values in said.items():
        reports = runs.setdefault(run if apart else "", {}).setdefault(group, _Reports())
        last = _last(values)
        if last is None:
            reports.unclear.add(rank)
        else:
            reports.stands[rank] = last
    return runs


def _last(values: dict[str, tuple[re.Match[str], list[Origin]]]) -> tuple[re.Match[str], Origin] | None:
    """The last report of a rank, by lines of one file or by times."""
    if len(values) == 1:
        match, origins = next(iter(values.values()))
        return match, origins[0] if origins else Origin("log")
    every = [(match, origin) for match, origins in values.values() for origin in origins or [Origin("log")]]
    if len({origin.file for _, origin in every}) == 1 and all(origin.line is not None for _, origin in every):
        return max(every, key=lambda one: one[1].line or 0)
    if all(origin.time is not None for _, origin in every):
        return max(every, key=lambda one: one[1].time or 0.0)
    return None


def _who_reported(case: CaseFile, reported: dict[int, Origin], unclear: set[int], run: str | None) -> Iterator[Fact]:
    """Ranks that reported a timeout, and those of whom there is a log and that did not."""
    ranks = set(reported) | unclear
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
    size = max([world, *likely])
    silent = set(range(size)) - ranks
    if not (run is None and in_one_stream(case.about("watchdog.work"))):
        silent &= seen_ranks(case, size, run)
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
    if not works:
        return
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
    if group == _DEFAULT and len(states) >= 3 and not behind and len({n for n, _ in enqueued.values()}) == 1:
        yield Fact("watchdog.all_called", next(iter(enqueued.values()))[0], next(iter(enqueued.values()))[1])


def _prints(case: CaseFile) -> Iterator[Fact]:
    """Fingerprints: what a minority of ranks runs, and who called the fewest collectives under DETAIL."""
    said: dict[int, tuple[str, Origin]] = {}
    for fact in case.about("fingerprint.of"):
        rank = subject_rank(fact)
        if rank is not None:
            said.setdefault(rank, (str(fact.value), fact.origin))
    yield from _odd(said, "fingerprint.odd_rank")
    last: Numbers = {}
    for fact in case.about("fingerprint.last"):
        rank, found = subject_rank(fact), _SEQ.match(str(fact.value))
        if rank is not None and found is not None:
            last[rank] = (int(found[1]), fact.origin)
    yield from _behind(last, "fingerprint.behind")
    yield from _unused(case)


def _unused(case: CaseFile) -> Iterator[Fact]:
    """Parameters without a gradient on some ranks only: a branch that depends on the data or the rank."""
    by_rank = {
        rank: (str(f.value), f.origin) for f in case.about("ddp.unused") if (rank := subject_rank(f)) is not None
    }
    if len({v for v, _ in by_rank.values()}) > 1:
        first = next(iter(by_rank.values()))
        yield Fact("ddp.unused_differs", True, first[1])
