"""Ranks for which the others wait in the set-up of the communicator although they were started: their own logs are there."""

from __future__ import annotations

from collections.abc import Iterable

from assistant.facts import CaseFile, Fact, Origin, Subject
from assistant.intake.names import counts_on_node, rank_of_name

ATTACHMENTS_ONLY = True


def derive(case: CaseFile) -> Iterable[Fact]:
    waited = {f.subject.name for f in case.about("odd.init") if str(f.value).startswith("never announced")}
    if not waited:
        return
    last = {f.subject.name: f for f in case.about("nccl.log_without_init") if f.subject.name in waited}
    for rank, fact in sorted(last.items(), key=lambda pair: int(pair[0])):
        origin = fact.origin
        yield Fact(
            "rank.stopped_before_init",
            fact.value,
            Origin("derived", origin.file, origin.line, origin.host, int(rank), origin.quote, origin.time),
            Subject("rank", rank),
        )
    for given in case.inputs:
        number = None if counts_on_node(given.path) else rank_of_name(given.path)
        rank = str(number)
        if rank in waited and rank not in last and given.lines:
            last[rank] = Fact(
                "rank.stopped_before_init",
                f"a log of {given.lines} line{'s' if given.lines > 1 else ''} without NCCL",
                Origin("derived", given.path, rank=number),
                Subject("rank", rank),
            )
            yield last[rank]
