"""Which ranks the logs that were handed over are of. Only of those the silence tells something.

Of a rank whose log is not there, nothing is known; only a file that holds many ranks tells that one of them is absent.
"""

from __future__ import annotations

from collections.abc import Iterable

from assistant.facts import CaseFile, Fact
from assistant.intake.names import counts_on_node, rank_of_name
from assistant.intake.runs import run_of_name

#: Facts that name the rank of the process itself, whatever its file is called.
_OWN = ("watchdog.work", "nccl.init_rank")


def seen_ranks(case: CaseFile, world: int, run: str | None = None) -> set[int]:
    """Ranks of which a log was handed over; with `run`, in its folder. `world`: ranks that a communicator of all has at least."""
    named = {i.path: rank for i in case.inputs if (rank := rank_of_name(i.path)) is not None}
    named = {path: rank for path, rank in named.items() if not counts_on_node(path)}
    told: dict[str, set[int]] = {}
    for key in _OWN:
        for fact in case.about(key):
            rank = subject_rank(fact)
            if fact.origin.file is not None and rank is not None:
                told.setdefault(fact.origin.file, set()).add(rank)
    trusted = all(rank in told[path] for path, rank in named.items() if path in told)
    if run is not None:
        return {rank for path, rank in named.items() if run_of_name(path) == run} if trusted else set()
    seen: set[int] = set()
    for value, places in case.spread("nccl.init_rank").items():
        if int(str(value).rsplit(" ", 1)[-1]) >= world:
            seen |= places.ranks
    if trusted:
        seen |= set(named.values())
        seen |= {fact.origin.rank for fact in case.facts if fact.origin.rank is not None}
        for hit in case.hits.values():
            seen |= hit.ranks
    return seen


def in_one_stream(facts: Iterable[Fact]) -> bool:
    """Whether all of these facts of several ranks stand in one file."""
    files: set[str | None] = set()
    ranks: set[int | None] = set()
    for fact in facts:
        if fact.origin.file is not None:
            files.add(fact.origin.file)
            ranks.add(subject_rank(fact))
    return len(files) == 1 and len(ranks) > 1


def between(facts: Iterable[Fact]) -> set[int]:
    """Ranks that lie between others of one file: the file of a node holds all of its ranks."""
    files: dict[str, set[int]] = {}
    for fact in facts:
        rank = subject_rank(fact)
        if fact.origin.file is not None and rank is not None:
            files.setdefault(fact.origin.file, set()).add(rank)
    return {rank for ranks in files.values() for rank in range(min(ranks), max(ranks) + 1)}


def subject_rank(fact: Fact) -> int | None:
    return int(fact.subject.name) if fact.subject.kind == "rank" and fact.subject.name.isdecimal() else None
