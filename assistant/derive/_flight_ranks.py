"""The ranks of one job side by side, from their flight recorder summaries: who belongs to which group, and how far each came."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from assistant.facts import Fact
from assistant.parsers._flight_entry import SYNCHRONISING
from assistant.parsers._flight_summary import unpacked

WORLD = 200_000
#: A group or a job in which more ranks than this have no dump is not filled up by guesses.
GUESSED = 512


@dataclass(frozen=True, slots=True)
class Op:
    """An operation in which a rank waits, or which it recorded last."""

    group: str
    seq: int
    name: str
    peer: int | None
    mark: str
    """p: pending, e: retired without being seen complete, c: complete."""
    state: str
    sizes: str
    dtype: str
    created: int | None
    frame: str

    @property
    def key(self) -> tuple[str, int]:
        return self.group, self.seq


@dataclass(slots=True)
class Rank:
    number: int
    summary: dict[str, Any]
    fact: Fact

    @property
    def torn(self) -> bool:
        return "torn" in self.summary

    @property
    def pending(self) -> int:
        return int(self.summary.get("pending", 0))

    @property
    def unreadable(self) -> bool:
        return self.torn and not self.summary.get("groups")

    def ops(self, which: str) -> list[Op]:
        found = []
        for item in self.summary.get(which, ()):
            if isinstance(item, list) and len(item) >= 10 and isinstance(item[1], int):
                found.append(Op(str(item[0]), *item[1:10]))
        return found


@dataclass
class Job:
    """All ranks of one set of dumps."""

    ranks: dict[int, Rank]
    stated: int = 0
    """World size that is known from elsewhere, 0 where it is not."""
    _furthest: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    @cached_property
    def world(self) -> int:
        """Number of ranks as far as the dumps tell."""
        found = max(self.ranks, default=-1) + 1
        for name in self.groups:
            found = max(found, max(self.configured.get(name, ()), default=-1) + 1)
            if is_default(name, {"desc": self.groups[name]}):
                found = max(found, self._size(name))
        if found > WORLD:
            return max(self.ranks, default=-1) + 1
        return max(found, self.stated if self.stated <= 2 * len(self.ranks) else 0)

    @cached_property
    def missing(self) -> set[int]:
        """Ranks without a dump that can be read."""
        absent = set(range(self.world)) - set(self.ranks) if self.world <= WORLD else set()
        return absent | {n for n, r in self.ranks.items() if r.unreadable}

    def _size(self, name: str) -> int:
        sizes = Counter(
            g["size"] for r in self.ranks.values() if (g := r.summary.get("groups", {}).get(name)) and g.get("size")
        )
        return sizes.most_common(1)[0][0] if len(sizes) == 1 else 0

    @cached_property
    def groups(self) -> dict[str, str]:
        """Names of all groups with what they are for."""
        found: dict[str, str] = {}
        for rank in self.ranks.values():
            for name, group in rank.summary.get("groups", {}).items():
                if not found.get(name):
                    found[name] = str(group.get("desc", ""))
        return found

    @cached_property
    def configured(self) -> dict[str, tuple[int, ...]]:
        """Ranks of each group as the dumps state them."""
        found: dict[str, tuple[int, ...]] = {}
        for number, rank in self.ranks.items():
            for name, group in rank.summary["groups"].items():
                if name not in found and group.get("ranks"):
                    ranks = unpacked(group["ranks"])
                    if number in ranks:
                        found[name] = ranks
        return found

    @cached_property
    def members(self) -> dict[str, tuple[int, ...]]:
        """Ranks of each group: as configured, all for the default group, else those that used it, filled up by its siblings."""
        known = dict(self.configured)
        used: dict[str, set[int]] = {}
        for number, rank in self.ranks.items():
            for name in rank.summary["groups"]:
                if name not in known:
                    used.setdefault(name, set()).add(number)
        open_groups = {}
        for name, ranks in used.items():
            if (
                is_default(name, {"desc": self.groups[name]})
                or self._size(name) == self.world
                or ranks >= set(self.ranks) - self.missing
            ):
                known[name] = tuple(range(self.world))
            else:
                open_groups[name] = ranks
        known.update(self._filled(open_groups))
        return known

    def _filled(self, groups: dict[str, set[int]]) -> dict[str, tuple[int, ...]]:
        """Groups whose members without a dump follow from groups of the same shape elsewhere in the job.

        Parallel layouts are regular: 1, 3, 7 is 0, 2, 4, 6 moved by one when rank 5 left no dump. Groups that did the same
        operations come first as models."""
        found = {name: tuple(sorted(ranks)) for name, ranks in groups.items()}
        if not 0 < len(self.missing) <= GUESSED or len(groups) > 4 * GUESSED:
            return found
        work = {name: self._work(name) for name in groups}
        for name, ranks in groups.items():
            models = {
                (work[n] != work[name], len(model), tuple(sorted(model)))
                for n, model in groups.items()
                if len(model) > len(ranks) and not model & ranks
            }
            for _, _, model in sorted(models):
                moved = next(
                    (
                        m
                        for start in model
                        if (m := {r - start + min(ranks) for r in model}) > ranks and m - ranks <= self.missing
                    ),
                    None,
                )
                if moved:
                    found[name] = tuple(sorted(moved))
                    break
        return found

    def _work(self, name: str) -> frozenset[str]:
        """The distinct operations of a group."""
        return frozenset(t for r in self.ranks.values() for t in r.summary["groups"].get(name, {}).get("texts", ()))

    @cached_property
    def point_to_point(self) -> set[str]:
        """Groups in which counters mix sends and receives with collectives, so that ranks can't be compared by them."""
        mixed = set()
        for rank in self.ranks.values():
            for name, group in rank.summary.get("groups", {}).items():
                status, last = group.get("status"), group.get("last")
                if group.get("p2p") or (status and last is not None and not rank.torn and status[0] != last):
                    mixed.add(name)
        return mixed

    def enqueued(self, number: int, name: str) -> int | None:
        """The last collective that a rank called in a group; None: not known."""
        rank = self.ranks[number]
        group = rank.summary["groups"].get(name)
        if group is None:
            complete = not rank.torn and rank.summary.get("entries") and not rank.summary.get("unnamed")
            return 0 if complete and name not in self.point_to_point else None
        found = group.get("last")
        status = group.get("status")
        if status and name not in self.point_to_point:
            return max(int(status[0]), -1 if found is None else int(found))
        return None if (rank.torn and not status) or found is None else int(found)

    def done(self, number: int, name: str) -> int:
        """The last collective of a group that a rank is known to have completed; -1: none."""
        summary = self.ranks[number].summary
        group = summary["groups"].get(name, {})
        found = int(group.get("done", -1))
        status = group.get("status")
        if status and name not in self.point_to_point and not summary.get("ended"):
            found = max(found, status[2])
        return found

    def furthest(self, name: str, number: int) -> int:
        """The last collective of a group that any other member has completed."""
        if name not in self._furthest:
            self._furthest[name] = sorted(((self.done(n, name), n) for n in self.readable(name)), reverse=True)[:2]
        return next((done for done, n in self._furthest[name] if n != number), -1)

    def readable(self, name: str) -> Iterator[int]:
        """Members of a group with a dump."""
        return (n for n in self.members.get(name, ()) if n in self.ranks and n not in self.missing)

    def heads(self, number: int) -> list[Op]:
        """The operations in which a rank stands: the first that is pending; sends and receives that belong together."""
        rank = self.ranks[number]
        waiting = rank.ops("wait")
        if waiting:
            found = waiting[:1]
            for op in waiting[1:]:
                together = found[-1].peer is not None and (op.peer is not None and op.group == found[0].group)
                only_sends = all(f.name == "send" for f in found)
                if not together and not only_sends:
                    break
                found.append(op)
                if not together:
                    break
            return found
        return [] if rank.torn else self._failed(rank)

    def _failed(self, rank: Rank) -> list[Op]:
        """The operation that can't have ended well, since a member never called it; or that may have failed with a missing one."""
        ops = [op for op in rank.ops("tail") if op.mark == "e" and op.peer is None]
        for index, op in enumerate(ops):
            last = index == len(ops) - 1
            if op.name not in SYNCHRONISING and not last:
                continue
            for other in self.readable(op.group):
                reached = self.enqueued(other, op.group)
                if other != rank.number and reached is not None and reached < op.seq and not self.ranks[other].torn:
                    return [op]
        if (
            ops
            and any(m in self.missing for m in self.members.get(ops[-1].group, ()))
            and not self._left(rank.number, ops[-1])
        ):
            return ops[-1:]
        return []

    def _left(self, number: int, op: Op) -> bool:
        """Whether another member went on to something else after an operation, which thus had ended well."""
        for other in self.readable(op.group):
            tail = [] if other == number else self.ranks[other].ops("tail")
            if any(o.key == op.key and o.peer is None for o in tail[:-1]):
                return True
        return False


def is_default(name: str, group: dict[str, Any]) -> bool:
    return group.get("desc") in ("default_pg", "default", "default_pg:default") or (
        name == "0" and group.get("desc") in ("", "undefined")
    )


def jobs(facts: Iterable[Fact], stated: int) -> list[Job]:
    """The sets of dumps: one where no rank occurs twice, else one for each folder."""
    ranks: list[Rank] = []
    for fact in facts:
        try:
            summary = json.loads(str(fact.value))
        except ValueError:
            continue
        if isinstance(summary, dict) and isinstance(summary.get("rank"), int) and 0 <= summary["rank"] < WORLD:
            ranks.append(Rank(summary["rank"], summary, fact))
    if len({r.number for r in ranks}) == len(ranks):
        return [Job({r.number: r for r in ranks}, stated)] if ranks else []
    folders: dict[str, dict[int, Rank]] = {}
    for rank in ranks:
        folder = (rank.fact.origin.file or "").replace("\\", "/").rpartition("/")[0]
        kept = folders.setdefault(folder, {})
        if rank.number not in kept or _progress(rank) > _progress(kept[rank.number]):
            kept[rank.number] = rank
    return [Job(found, stated) for _, found in sorted(folders.items()) if len(found) > 1]


def _progress(rank: Rank) -> tuple[bool, int, int]:
    groups = rank.summary["groups"].values()
    return not rank.torn, sum(g.get("status", [0])[0] for g in groups), sum(g.get("last", 0) for g in groups)
