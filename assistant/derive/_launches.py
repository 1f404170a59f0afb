"""Which of a file's launch commands a fact belongs to: a command of several lines has its options on different lines."""

from __future__ import annotations

from bisect import bisect_right

from assistant.facts import CaseFile, Fact, Value

Place = tuple[str | None, int | None]
"""File and first line of a command; 0 for a configuration file that holds no command."""


class Launches:
    """The launch commands of a case by their places."""

    def __init__(self, case: CaseFile) -> None:
        self._case = case
        self._starts: dict[str | None, list[int]] = {}
        for fact in case.about("launch.command"):
            if fact.origin.line is not None:
                self._starts.setdefault(fact.origin.file, []).append(fact.origin.line)
        for lines in self._starts.values():
            lines.sort()

    def place(self, fact: Fact) -> Place:
        """The command that the fact was read in."""
        line = fact.origin.line
        if fact.origin.kind != "config" or line is None:
            return fact.origin.file, line
        starts = self._starts.get(fact.origin.file, [])
        at = bisect_right(starts, line)
        return fact.origin.file, starts[at - 1] if at else 0

    def by_place(self, key: str) -> dict[Place, Fact]:
        """The last fact with this key of each command."""
        return {self.place(fact): fact for fact in self._case.about(key)}

    def value(self, place: Place, key: str) -> Value | None:
        found = self.by_place(key).get(place)
        return None if found is None else found.value
