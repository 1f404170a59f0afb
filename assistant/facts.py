"""Facts with their origin: the plain data that every layer shares.

A *fact* says `key = value` about a *subject* (the job, a host, a rank, a GPU, a NIC, a link) and knows its *origin*.
A *hit* is a signature that was found in a text, with a count and a bounded number of sample lines.
A *case file* is all that is known in one session; the diagnosis is a pure function of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

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

    def derived(self) -> Origin:
        """The same place, for a fact that follows from what stands there."""
        return Origin("derived", self.file, self.line, self.host, self.rank, self.quote, self.time)

    def __reduce__(self) -> tuple[Any, ...]:
        # Facts are sent between processes by the thousand; the way that dataclasses with slots have of their own is slow.
        return Origin, (self.kind, self.file, self.line, self.host, self.rank, self.quote, self.time)


@dataclass(frozen=True, slots=True)
class Subject:
    """What a fact is about. `kind` is job, host, rank, gpu, nic or link; `name` tells which (empty for the job)."""

    kind: Literal["job", "host", "rank", "gpu", "nic", "link"] = "job"
    name: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".strip()

    def __reduce__(self) -> tuple[Any, ...]:
        return Subject, (self.kind, self.name)


JOB = Subject()


@dataclass(frozen=True, slots=True)
class Fact:
    """`key = value` about `subject`. Keys are listed in `knowledge/vocabulary.yaml` with type and unit."""

    key: str
    value: Value
    origin: Origin
    subject: Subject = JOB
    count: int = 1

    def __reduce__(self) -> tuple[Any, ...]:
        return Fact, (self.key, self.value, self.origin, self.subject, self.count)


#: Lines kept for each signature; further ones are only counted.
SAMPLES = 24


@dataclass(slots=True)
class Hit:
    """A signature found in the attachments: how often, where first, and a bounded number of samples."""

    signature: str
    count: int = 0
    samples: list[Origin] = field(default_factory=list)
    fields: list[dict[str, str]] = field(default_factory=list)
    """Named groups of each sample, parallel to `samples`."""
    ranks: set[int] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)
    """All ranks and hosts on whose lines it stands."""

    def copy(self) -> Hit:
        """A copy that can be added to without a change of this one."""
        return replace(
            self, samples=list(self.samples), fields=list(self.fields), ranks=set(self.ranks), hosts=set(self.hosts)
        )

    def join(self, other: Hit) -> None:
        """Adds what was found of the same signature in another text."""
        room = max(0, SAMPLES - len(self.samples))
        self.count += other.count
        self.samples += other.samples[:room]
        self.fields += other.fields[:room]
        self.ranks |= other.ranks
        self.hosts |= other.hosts

    def seen(self, rank: int | None, host: str | None) -> None:
        if rank is not None:
            self.ranks.add(rank)
        if host:
            self.hosts.add(host)

    @property
    def first(self) -> Origin:
        return self.samples[0]


#: Facts that are equal (key and value) of which a case file keeps the facts themselves; of further ones, only the places.
EQUAL = 64
#: Kinds of subjects for which this holds: GPUs and NICs are compared with their neighbours one by one.
_MANY = frozenset(("job", "host", "rank"))
_MEASURED = frozenset(("config", "log", "tool", "probe"))


@dataclass(slots=True)
class Places:
    """Where one value of a fact was seen: ranks and hosts that the lines name, how often, and its first fact."""

    first: Fact
    ranks: set[int] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)
    count: int = 0
    kept: int = 0
    """How many of the facts themselves the case file has."""

    def add(self, fact: Fact) -> None:
        self.count += fact.count
        subject, rank, host = fact.subject, fact.origin.rank, fact.origin.host
        if subject.kind == "rank" and subject.name.isdecimal():
            rank = int(subject.name)
        elif subject.kind == "host":
            host = subject.name
        if rank is not None:
            self.ranks.add(rank)
        if host:
            self.hosts.add(host)

    def join(self, other: Places) -> None:
        self.count += other.count
        self.ranks |= other.ranks
        self.hosts |= other.hosts


@dataclass(slots=True)
class Input:
    """One thing the user handed over, for the report of what was read."""

    path: str
    bytes: int
    lines: int
    kind: str
    notes: list[str] = field(default_factory=list)
    dropped: dict[int, int] = field(default_factory=dict)
    """Occurrences of the scanner's needles, by index, on lines of a large text that were counted and not kept."""


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
    kept: dict[str, list[Fact]] = field(default_factory=dict, repr=False)
    """What was derived from the attachments alone, by module; of one base of attachments (see `working_copy`)."""
    _spread: dict[str, dict[Value, Places]] = field(default_factory=dict, repr=False)
    _index: dict[str, list[Fact]] = field(default_factory=dict, repr=False)
    _indexed: int = field(default=0, repr=False)

    def __post_init__(self) -> None:
        if self.facts and not self._spread:
            facts, self.facts = self.facts, []
            self.add(facts)

    def add(self, facts: Iterable[Fact]) -> None:
        """Adds facts. Of many that logs and tools tell equally, only the places of all are kept (see `spread`)."""
        for fact in facts:
            if fact.origin.kind in _MEASURED:
                places = self._places(fact)
                places.add(fact)
                if places.kept >= EQUAL and fact.subject.kind in _MANY:
                    continue
                places.kept += 1
            self.facts.append(fact)

    def add_derived(self, facts: Iterable[Fact]) -> None:
        """Adds facts that follow from others: `spread` does not tell of them."""
        self.facts.extend(facts)

    def _places(self, fact: Fact) -> Places:
        values = self._spread.get(fact.key)
        if values is None:
            values = self._spread[fact.key] = {}
        places = values.get(fact.value)
        if places is None:
            places = values[fact.value] = Places(fact)
        return places

    def join(self, other: CaseFile) -> None:
        """Adds what another case file of the same job has: facts, hits and inputs."""
        for fact in other.facts:
            if fact.origin.kind in _MEASURED:
                places = self._places(fact)
                if places.kept >= EQUAL and fact.subject.kind in _MANY:
                    continue
                places.kept += 1
            self.facts.append(fact)
        for key, values in other._spread.items():
            mine = self._spread[key]
            for value, places in values.items():
                mine[value].join(places)
        for name, hit in other.hits.items():
            known = self.hits.get(name)
            if known is None:
                self.hits[name] = hit.copy()
            else:
                known.join(hit)
        self.inputs += other.inputs

    def working_copy(self) -> CaseFile:
        """The same, to which more facts of other kinds than those of logs and tools can be added without a change of this one."""
        self.about("")
        index = {key: list(facts) for key, facts in self._index.items()}
        return replace(self, facts=list(self.facts), _index=index)

    def about(self, key: str) -> list[Fact]:
        """All facts with this key, in the order they came."""
        if self._indexed != len(self.facts):
            for fact in self.facts[self._indexed :]:
                self._index.setdefault(fact.key, []).append(fact)
            self._indexed = len(self.facts)
        return self._index.get(key, [])

    def spread(self, key: str) -> dict[Value, Places]:
        """The values of this key that logs, tools, probes and settings showed, with all ranks and hosts that have each.

        For comparison of ranks and hosts; `about` has only some of many facts that are equal."""
        return self._spread.get(key, {})

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
