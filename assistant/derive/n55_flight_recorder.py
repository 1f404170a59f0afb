"""Flight recorder dumps of all ranks side by side: which rank is guilty, by which rule, and who merely waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from assistant.derive._flight_graph import Verdict, Waits, judge, waits
from assistant.derive._flight_history import Mismatch, late, mismatches
from assistant.derive._flight_ranks import Job, jobs
from assistant.facts import JOB, CaseFile, Fact, Origin, Subject, Value
from assistant.parsers.flight_recorder import describe


def derive(case: CaseFile) -> Iterable[Fact]:
    summaries = case.about("fr.summary")
    if not summaries:
        return
    stated = case.value("world_size")
    for job in jobs(summaries, stated if isinstance(stated, int) else 0):
        yield from _job(job)


def _job(job: Job) -> Iterator[Fact]:
    yield _fact(job, "fr.dumps", len(job.ranks) - sum(r.unreadable for r in job.ranks.values()))
    yield _fact(job, "fr.world", job.world)
    if len(job.ranks) < 2:
        return
    found = waits(job)
    verdict = judge(job, found)
    unlike = mismatches(job)
    guilty = dict(verdict.guilty)
    _blame_mismatch(unlike, found, guilty)
    _blame_missing(job, found, guilty)
    slow = late(job) if not guilty else {}
    guilty.update(dict.fromkeys(slow, "arrives-late"))
    yield from _guilty(job, found, guilty, slow)
    yield from _overview(job, found, verdict, guilty)
    if unlike:
        first = unlike[0]
        yield _fact(job, "fr.mismatch", first.text)
        yield _fact(job, "fr.mismatch_kind", first.kind)
        yield _fact(job, "fr.first_divergence", f"#{first.seq} of {_group(job, first.group)}")
    elif verdict.waiting and guilty:
        text = _divergence(job, found, guilty)
        if text:
            yield _fact(job, "fr.first_divergence", text)


def _blame_mismatch(unlike: list[Mismatch], found: Waits, guilty: dict[int, str]) -> None:
    """An operation that does not match and in which ranks stand explains the rest."""
    standing = Counter(h.key for ops in found.heads.values() for h in ops)
    for mismatch in unlike:
        if not mismatch.odd:
            continue
        inside = standing[(mismatch.group, mismatch.seq)] > 0
        if (inside and mismatch.open) or not any(rule not in ("missing-dump", "torn-dump") for rule in guilty.values()):
            guilty.clear()
            guilty.update(dict.fromkeys(mismatch.odd, f"mismatched-{mismatch.kind}"))
            return


def _blame_missing(job: Job, found: Waits, guilty: dict[int, str]) -> None:
    """Ranks without a dump where no rank waits visibly: dumps that were written after the operations had failed."""
    nothing = not any(r.pending for r in job.ranks.values()) and all(
        r.summary.get("ended") for r in job.ranks.values() if not r.torn
    )
    if not guilty and nothing and any(not r.torn for r in job.ranks.values()):
        guilty.update(dict.fromkeys(job.missing, "missing-dump"))


def _guilty(job: Job, found: Waits, guilty: dict[int, str], slow: dict[int, float]) -> Iterator[Fact]:
    for number, rule in sorted(guilty.items()):
        subject = Subject("rank", str(number))
        yield _fact(job, "fr.guilty_rank", rule, subject, number)
        waiting = sum(number in found.hard(n) | found.unknown.get(n, set()) for n in found.heads)
        if waiting:
            yield _fact(job, "fr.waited_for_by", waiting, subject, number)
        if number in slow:
            yield _fact(job, "fr.late_s", round(slow[number], 3), subject, number)
    if guilty:
        yield _fact(job, "fr.guilty_ranks", _list(guilty))
        yield _fact(job, "fr.rule", ",".join(sorted(set(guilty.values()))))


def _overview(job: Job, found: Waits, verdict: Verdict, guilty: dict[int, str]) -> Iterator[Fact]:
    waiting = verdict.waiting - set(guilty)
    if waiting:
        yield _fact(job, "fr.waiting_ranks", _list(waiting))
        stuck = Counter(found.heads[n][0].key for n in waiting)
        key = stuck.most_common(1)[0][0]
        number, op = next((n, o) for n in sorted(waiting) for o in found.heads[n][:1] if o.key == key)
        short = [op.group, op.seq, op.name, op.peer, op.mark, op.state, op.sizes, op.dtype, op.created, op.frame]
        yield _fact(job, "fr.stuck_op", describe(short, {g: {"desc": d} for g, d in job.groups.items()}), rank=number)
        if op.frame:
            yield _fact(job, "fr.stuck_at", op.frame, rank=number)
    lost = job.missing
    if lost:
        yield _fact(job, "fr.missing_ranks", _list(lost))
    torn = {n for n, r in job.ranks.items() if r.torn}
    if torn:
        yield _fact(job, "fr.torn_ranks", _list(torn))
    if verdict.stalled and not guilty:
        yield _fact(job, "fr.stalled_together", _list(verdict.stalled))
    if verdict.cycle and not guilty:
        yield _fact(job, "fr.wait_cycle", _list(verdict.cycle))
    if not guilty and not waiting:
        yield _fact(job, "fr.nobody_waits", True)


def _divergence(job: Job, found: Waits, guilty: dict[int, str]) -> str:
    """The earliest operation that a guilty rank did not call."""
    first: tuple[int, str] | None = None
    for ops in found.heads.values():
        for op in ops:
            for number in guilty:
                if number in job.missing or number not in job.members.get(op.group, ()) or op.peer is not None:
                    continue
                reached = job.enqueued(number, op.group)
                if reached is not None and reached < op.seq and (first is None or (op.created or 0) < first[0]):
                    first = (
                        op.created or 0,
                        f"rank {number} called #{reached} of {_group(job, op.group)} last, others #{op.seq} ({op.name})",
                    )
    return first[1] if first else ""


def _group(job: Job, name: str) -> str:
    desc = job.groups.get(name, "")
    return f"group {name} ({desc})" if desc and desc != "undefined" else f"group {name}"


def _list(ranks: Iterable[int]) -> str:
    ordered = sorted(ranks)
    text = ",".join(str(r) for r in ordered[:64])
    return f"{text},... ({len(ordered)})" if len(ordered) > 64 else text


def _fact(job: Job, key: str, value: Value, subject: Subject = JOB, rank: int | None = None) -> Fact:
    source = job.ranks.get(rank) if rank is not None else None
    origin = (source or next(iter(job.ranks.values()))).fact.origin
    return Fact(key, value, Origin("derived", origin.file, origin.line, origin.host, rank), subject)
