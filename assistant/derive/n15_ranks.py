"""Which ranks began and completed the communicator, over the logs of all of them; which are missing."""

from __future__ import annotations

import re
from collections.abc import Iterable

from assistant.derive._seen import between, in_one_stream, seen_ranks
from assistant.facts import JOB, CaseFile, Fact, Origin, Places, Subject

#: Share of the ranks that must be seen before those that are not seen count as missing.
ENOUGH = 0.75
#: Share of the ranks that can be the odd ones.
ODD = 0.2
#: Ranks that are named one by one.
NAMED = 64
_STATE = re.compile(r"(started|completed) of (\d+)")


def derive(case: CaseFile) -> Iterable[Fact]:
    states: dict[int, dict[str, Places]] = {}
    for value, places in case.spread("nccl.init_rank").items():
        found = _STATE.fullmatch(str(value))
        if found:
            states.setdefault(int(found[2]), {})[found[1]] = places
    if not states:
        return
    size = max(states)
    started, completed = (states[size].get(state) for state in ("started", "completed"))
    first = (started or completed or next(iter(states[size].values()))).first
    begun = (started.ranks if started else set()) | (completed.ranks if completed else set())
    done = completed.ranks if completed else set()
    if started is not None:
        yield _fact("nccl.init_started", len(started.ranks), first)
        yield _fact("nccl.init_done", begun <= done, first)
    elif len(done) == size:
        yield _fact("nccl.init_done", True, first)
    yield _fact("nccl.init_completed", len(done), first)
    absent = set(range(size)) - begun
    waiting = begun - done
    missing: set[int] = set()
    what = "never announced itself"
    if absent and len(begun) >= ENOUGH * size and waiting:
        missing = _absent(case, absent, size)
        unseen = absent - missing
        if unseen and len(unseen) <= NAMED:
            listed = ",".join(map(str, sorted(unseen)))
            for rank in sorted(unseen):
                yield Fact("nccl.ranks_unseen", listed, Origin("derived", rank=rank), Subject("rank", str(rank)))
    elif waiting and done and started is not None:
        missing, what = waiting, "did not complete"
    if missing and len(missing) <= NAMED:
        yield _fact("nccl.init_missing_ranks", ",".join(map(str, sorted(missing))), first)
        if len(missing) <= ODD * size:
            text = f"{what}; {len(begun) if missing <= absent else size - len(missing)} others " + (
                "wait" if missing <= absent else "did"
            )
            for rank in sorted(missing)[:NAMED]:
                yield Fact("odd.init", text, Origin("derived", rank=rank), Subject("rank", str(rank)))
    if absent and not waiting and len(begun) >= ENOUGH * size and len(absent) <= NAMED:
        yield _fact("nccl.ranks_without_log", ",".join(map(str, sorted(absent))), first)


def _absent(case: CaseFile, absent: set[int], size: int) -> set[int]:
    """Those of which it is known that they did not announce themselves: their log is there, or that of many ranks without them."""
    facts = case.about("nccl.init_rank")
    if in_one_stream(facts):
        return absent
    return absent & (seen_ranks(case, size) | between(facts))


def _fact(key: str, value: int | str | bool, first: Fact) -> Fact:
    """About the whole job, so that the host of the first line is not its place; as good as the lines that it sums up."""
    origin = first.origin
    return Fact(key, value, Origin(origin.kind, origin.file, origin.line, None, None, origin.quote, origin.time), JOB)
