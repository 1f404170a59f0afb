"""Which rank called another collective than the others at the same number, and which one stopped calling before the others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from assistant.derive._alike import MOST
from assistant.facts import CaseFile, Fact, Origin, Places, Subject

#: Ranks that are needed for a comparison, and that are named.
RANKS = 3
NAMED = 8
#: Ranks that can be behind all others.
BEHIND = 2
_VALUE = re.compile(r"(?P<comm>\S+/\d+) #(?P<n>\d+) ?(?P<what>.*)")

Said = dict[str, Places]
"""What was called, and by whom."""


def derive(case: CaseFile) -> Iterable[Fact]:
    behind = list(_behind(case))
    odd = list(_odd(case, "nccl.call"))
    yield from odd or _apart(case)
    yield from behind


def _read(case: CaseFile, key: str) -> Iterator[tuple[str, int, str, Places]]:
    """(communicator, number, what, places). Parts of a log that don't tell the communicator are taken for the only one of its size."""
    rows = [(m, places) for value, places in case.spread(key).items() if (m := _VALUE.fullmatch(str(value)))]
    known: dict[str, set[str]] = {}
    for match, _ in rows:
        if not match["comm"].startswith("?"):
            known.setdefault(match["comm"].partition("/")[2], set()).add(match["comm"])
    for match, places in rows:
        comm = match["comm"]
        if comm.startswith("?"):
            same = known.get(comm[2:], {comm})
            if len(same) > 1:
                continue
            (comm,) = same
        yield comm, int(match["n"]), match["what"], places


def _by_number(case: CaseFile, key: str) -> dict[str, dict[int, Said]]:
    found: dict[str, dict[int, Said]] = {}
    for comm, number, what, places in _read(case, key):
        said = found.setdefault(comm, {}).setdefault(number, {})
        if what in said:
            said[what].join(places)
        else:
            said[what] = Places(places.first, set(places.ranks), set(places.hosts), places.count)
    return found


def _minority(said: Said) -> tuple[str, dict[str, set[int]]] | None:
    """What most call, and the ranks that call something else; None where all agree or no majority does."""
    everyone: Counter[int] = Counter(rank for places in said.values() for rank in places.ranks)
    if len(said) < 2 or len(everyone) < RANKS or max(everyone.values()) > 1:
        return None  # a rank that is told twice: several communicators that can't be told apart
    usual = max(said, key=lambda what: len(said[what].ranks))
    if len(said[usual].ranks) < MOST * len(everyone):
        return None
    return usual, {what: places.ranks for what, places in said.items() if what != usual}


def _odd(case: CaseFile, key: str) -> Iterator[Fact]:
    """At the first number at which a few ranks call something else."""
    for numbers in _by_number(case, key).values():
        for number in sorted(numbers):
            found = _minority(numbers[number])
            if found is None:
                continue
            usual, others = found
            count = len(numbers[number][usual].ranks)
            for what, ranks in others.items():
                for rank in sorted(ranks)[:NAMED]:
                    text = f"call {number} is {_told(what)}; {count} others have {_told(usual)}"
                    yield _fact("odd.call", text, numbers[number][what].first, rank)
            break


def _told(what: str) -> str:
    return re.sub(r" type (\d+)", r" (type \1)", re.sub(r"(\w+) (\d+)", r"\1 of \2", what, count=1)).strip()


def _apart(case: CaseFile) -> Iterator[Fact]:
    """By the sums over all calls: between which numbers the calls of a rank begin to differ."""
    for numbers in _by_number(case, "nccl.calls_until").values():
        before = 0
        for number in sorted(numbers):
            found = _minority(numbers[number])
            if found is None:
                before = number
                continue
            count = len(numbers[number][found[0]].ranks)
            for what, ranks in found[1].items():
                for rank in sorted(ranks)[:NAMED]:
                    text = f"calls {before} to {number - 1} differ in function or count; {count} others agree"
                    yield _fact("odd.call", text, numbers[number][what].first, rank)
            break


def _behind(case: CaseFile) -> Iterator[Fact]:
    """Ranks that stopped before the number at which all others stand. In a job that goes on, ranks are spread over several."""
    found: dict[str, dict[int, int]] = {}
    firsts: dict[tuple[str, int], Fact] = {}
    for comm, number, _, places in _read(case, "nccl.call_last"):
        latest = found.setdefault(comm, {})
        firsts[comm, number] = places.first
        for rank in places.ranks:
            latest[rank] = max(number, latest.get(rank, 0))
    for comm, latest in found.items():
        if len(latest) < RANKS:
            continue
        most, together = Counter(latest.values()).most_common(1)[0]
        low = sorted(rank for rank, number in latest.items() if number < most)
        if together < MOST * len(latest) or not low or together + len(low) < len(latest) or len(low) > BEHIND:
            continue
        for rank in low:
            text = f"last call {latest[rank]}; {together} others have {most}"
            yield _fact("odd.call_last", text, firsts[comm, latest[rank]], rank)


def _fact(key: str, text: str, first: Fact, rank: int) -> Fact:
    origin = first.origin
    own = origin.rank == rank
    where = Origin("derived", origin.file, origin.line, origin.host, rank, origin.quote, origin.time)
    return Fact(key, text, where if own else Origin("derived", rank=rank), Subject("rank", str(rank)))
