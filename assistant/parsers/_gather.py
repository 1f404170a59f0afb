"""Facts of one document, each once: equal ones are counted, and their number is bounded, however long the text is."""

from __future__ import annotations

from dataclasses import replace

from assistant.facts import JOB, Fact, OriginKind, Subject, Value
from assistant.intake.document import Document

MOST = 400
"""Different facts that one parser makes of one document at most."""


class Gather:
    """Collects facts of one document; `kind` is how they came to be known."""

    def __init__(self, document: Document, kind: OriginKind = "log") -> None:
        self.document = document
        self.kind = kind
        self._facts: dict[tuple[str, Value, Subject, int | None], Fact] = {}

    def add(self, key: str, value: Value, index: int, subject: Subject = JOB, host: str | None = None) -> None:
        """`host` is where it was seen, if a heading tells; the line's own mark is better."""
        rank = self.document.line(index).rank
        mark = (key, value, subject, rank)
        known = self._facts.get(mark)
        if known is not None:
            self._facts[mark] = replace(known, count=known.count + 1)
        elif len(self._facts) < MOST:
            origin = self.document.origin(index, self.kind)
            if host and origin.host is None:
                origin = replace(origin, host=host)
            self._facts[mark] = Fact(key, value, origin, subject)

    @property
    def facts(self) -> list[Fact]:
        return list(self._facts.values())

    def __bool__(self) -> bool:
        return bool(self._facts)


def rank_subject(rank: int | str) -> Subject:
    return Subject("rank", str(int(rank)))


def host_named(name: str) -> Subject:
    return Subject("host", name)
