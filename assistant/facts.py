"""Facts with their origin: the plain data that every layer shares.

A *fact* says `key = value` about a *subject* (the job, a host, a rank, a GPU, a NIC, a link) and knows its *origin*.
A *hit* is a signature that was found in a text, with a count and a bounded number of sample lines.
A *case file* is all that is known in one session; the diagnosis is a pure function of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

Value = str | int | float | bool

#: How a fact came to be known, from the least to the most reliable.
OriginKind = Literal["derived", "say", "stated", "answer", "config", "log", "tool", "probe"]

#: A measured fact outranks a stated one (index in this tuple; higher wins).
RELIABILITY: tuple[OriginKind, ...] = ("derived", "say", "stated", "answer", "config", "log", "tool", "probe")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a fact or a piece of evidence was read. `line` counts from 1 in the file as it was given."""

    kind: OriginKind
    file: str | None = None
    line: int | None = None
    host: str | None = None
    rank: int | None = None
    quote: str | None = None
    time: float | None = None
    """Seconds; only differences within one file or between files of one run mean something. None: no time on the line."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a fact is about. `kind` is job, host, rank, gpu, nic or link; `name` tells which (empty for the job)."""

    kind: Literal["job", "host", "rank", "gpu", "nic", "link"] = "job"
    name: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".strip()


JOB = Subject()


@dataclass(frozen=True, slots=True)
class Fact:
    """`key = value` about `subject`. Keys are listed in `knowledge/vocabulary.yaml` with type and unit."""

    key: str
    value: Value
    origin: Origin
    subject: Subject = JOB
    count: int = 1


@dataclass(slots=True)
class Hit:
    """A signature found in the attachments: how often, where first, and a bounded number of samples."""

    signature: str
    count: int = 0
    samples: list[Origin] = field(default_factory=list)
    fields: list[dict[str, str]] = field(default_factory=list)
    """Named groups of each sample, parallel to `samples`."""

    @property
    def first(self) -> Origin:
        return self.samples[0]


@dataclass(slots=True)
class Places:
    """Where one value of a fact was seen: ranks and hosts that the lines name, how often, and its first facts."""

    first: Fact
    ranks: set[int] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)
    count: int = 0

    def add(self, fact: Fact) -> None:
        self.count += fact.count
        rank, host = fact.origin.rank, fact.origin.host
        if fact.subject.kind == "rank" and fact.subject.name.isdecimal():
            rank = int(fact.subject.name)
        elif fact.subject.kind == "host":
            host = fact.subject.name
        if rank is not None:
            self.ranks.add(rank)
        if host:
            self.hosts.add(host)


@dataclass(slots=True)
class Input:
    """One thing the user handed over, for the report of what was read."""

    path: str
    bytes: int
    lines: int
    kind: str
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class CaseFile:
    """All that is known. `says` are the user's own sentences; `texts` is filled by the conversation and the command line."""

    facts: list[Fact] = field(default_factory=list)
    hits: dict[str, Hit] = field(default_factory=dict)
    says: list[str] = field(default_factory=list)
    inputs: list[Input] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    """What the user wrote in sentences: `says` without stated facts and answers."""
    candidates: frozenset[str] | None = None
    """Patterns of `says` conditions that may match what was said; None: not looked for, any may."""
    _index: dict[str, list[Fact]] = field(default_factory=dict, repr=False)
    _indexed: int = field(default=0, repr=False)

    def add(self, facts: Iterable[Fact]) -> None:
        self.facts.extend(facts)

    def about(self, key: str) -> list[Fact]:
        """All facts with this key, in the order they came."""
        if self._indexed != len(self.facts):
            for fact in self.facts[self._indexed :]:
                self._index.setdefault(fact.key, []).append(fact)
            self._indexed = len(self.facts)
        return self._index.get(key, [])

    def spread(self, key: str) -> dict[Value, Places]:
        """The values of this key that logs, tools, probes and settings showed, with all ranks and hosts that have each.

        For comparison of ranks and hosts; `about` may keep only some of many facts that are equal."""
        found: dict[Value, Places] = {}
        for fact in self.about(key):
            if fact.origin.kind in ("config", "log", "tool", "probe"):
                places = found.get(fact.value)
                if places is None:
                    places = found[fact.value] = Places(fact)
                places.add(fact)
        return found

    def keys(self) -> Iterator[str]:
        self.about("")
        return iter(self._index)

    def best(self, key: str) -> Fact | None:
        """The most reliable fact with this key; of equals the latest (a correction wins)."""
        found = self.about(key)
        if not found:
            return None
        return max(enumerate(found), key=lambda pair: (RELIABILITY.index(pair[1].origin.kind), pair[0]))[1]

    def value(self, key: str) -> Value | None:
        fact = self.best(key)
        return None if fact is None else fact.value
