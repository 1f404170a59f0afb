"""Several jobs in what was handed over: hosts that are in different communicators, by the identity of their largest one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from assistant.facts import CaseFile, Fact, Places, Value

#: As many communicators of one size are groups of one job, which has no communicator of all ranks.
_GROUPS = 3


@dataclass(slots=True)
class Part:
    """Hosts of one job, and those of its ranks that no other job has too. Without size: hosts of no communicator."""

    first: Fact
    size: int
    hosts: set[str]
    ranks: set[int]

    def of(self, case: CaseFile, key: str) -> dict[Value, Places]:
        """The values that places of this job have."""
        out: dict[Value, Places] = {}
        for value, places in case.spread(key).items():
            hosts, ranks = places.hosts & self.hosts, places.ranks & self.ranks
            if hosts or (ranks and not places.hosts):
                first = places.first
                if not self.has(first):
                    own = (fact for fact in case.about(key) if fact.value == value and self.has(fact))
                    first = next(own, first)
                out[value] = Places(first, ranks, hosts, places.count, places.kept)
        return out

    def has(self, fact: Fact) -> bool:
        """Whether a fact is about a place of this job."""
        host = fact.subject.name if fact.subject.kind == "host" else fact.origin.host
        if host:
            return host in self.hosts
        name = fact.subject.name if fact.subject.kind == "rank" else ""
        rank = int(name) if name.isdecimal() else fact.origin.rank
        return rank in self.ranks


def jobs(case: CaseFile) -> list[Part]:
    """The jobs, the largest first; none where there is one only, or where they can't be told apart."""
    found: list[tuple[set[str], int, Fact]] = []
    for value, places in case.spread("nccl.comm").items():
        size = int(str(value).rsplit(" ", 1)[-1])
        hosts, first = set(places.hosts), places.first
        # One host in two communicators: runs one after the other, which can't be told apart by their hosts.
        for other in [one for one in found if one[0] & hosts]:
            found.remove(other)
            hosts |= other[0]
            size, first = max((size, first), (other[1], other[2]), key=lambda one: one[0])
        found.append((hosts, size, first))
    if len(found) < 2 or max(Counter(size for _, size, _ in found).values()) >= _GROUPS:
        return []
    ranks = Counter(rank for _, size, _ in found for rank in range(size))
    parts = [
        Part(first, size, hosts, {rank for rank in range(size) if ranks[rank] == 1})
        for hosts, size, first in sorted(found, key=lambda one: -one[1])
    ]
    known: set[str] = set().union(*(hosts for hosts, _, _ in found))
    rest = {host for key in list(case.keys()) for places in case.spread(key).values() for host in places.hosts - known}
    if rest:
        parts.append(Part(parts[0].first, 0, rest, set()))
    return parts
