"""A text that was handed over, ready for the scanner and the parsers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, overload

from assistant.facts import Origin, OriginKind
from assistant.intake.names import counts_on_node, host_of_name, rank_of_name
from assistant.intake.nccl_ranks import Process, process_of, ranks_of
from assistant.intake.prefix import Splitter

QUOTE = 300
"""Characters of a line that are quoted at most."""


@dataclass(slots=True)
class Line:
    """One line: `number` counts from 1 in the file; `text` is without the launcher's mark before it, `raw` with it."""

    number: int
    text: str
    raw: str
    host: str | None = None
    rank: int | None = None
    time: float | None = None


class Messages(Sequence[str]):
    """The lines of a text without the launchers' marks. Those of single lines are taken off when one is asked for."""

    def __init__(self, lines: list[str], marks: Splitter) -> None:
        self._lines = lines
        self._marks = marks
        self._all: list[str] | None = None

    def __len__(self) -> int:
        return len(self._lines)

    def __iter__(self) -> Iterator[str]:
        if self._all is None:
            message = self._marks.message
            self._all = [message(line) for line in self._lines]
        return iter(self._all)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if self._all is not None:
            return self._all[index]
        if isinstance(index, slice):
            return [self._marks.message(line) for line in self._lines[index]]
        return self._marks.message(self._lines[index])


@dataclass
class Document:
    """A decoded text without terminal control characters, lines ended by newline.

    `name` is what the user calls it (shown in origins); host and rank are known where the name tells (`rank3.log`).
    A large file comes as several documents, one after the other, each with its `first_line`."""

    name: str
    text: str
    first_line: int = 1
    host: str | None = None
    rank: int | None = None
    origin_kind: OriginKind = "log"
    shifts: list[tuple[int, int]] = field(default_factory=list)
    """(index, line number there), sorted, where lines of `text` and of the file do not run in step."""
    repeats: dict[int, int] = field(default_factory=dict)
    """How often more a line occurred than it stands in `text`, by its index: copies are left out of large files."""
    splitter: Splitter | None = None
    shared: dict[str, Any] = field(default_factory=dict, repr=False)
    """What several parsers of one source need, by name: made by the first of them."""
    _lines: dict[int, Line] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.rank is None:
            self.rank = rank_of_name(self.name)
        if self.host is None:
            self.host = host_of_name(self.name)

    @cached_property
    def lines(self) -> list[str]:
        """The raw lines, without newline."""
        return self.text.split("\n")

    @cached_property
    def messages(self) -> Messages:
        """The lines without the marks that launchers put before them."""
        return Messages(self.lines, self.marks)

    @cached_property
    def marks(self) -> Splitter:
        """What takes the marks off the lines of this text."""
        return self.splitter or Splitter.of(self.text)

    def number(self, index: int) -> int:
        """The number in the file of the line with this index (from 0)."""
        if not self.shifts:
            return self.first_line + index
        at = bisect_right(self.shifts, (index, 1 << 62)) - 1
        if at < 0:
            return self.first_line + index
        start, number = self.shifts[at]
        return number + index - start

    def count(self, index: int) -> int:
        """How often the line with this index (from 0) occurred, with the copies that were left out."""
        return 1 + self.repeats.get(index, 0)

    def line(self, index: int) -> Line:
        """The line with this index (from 0) in `lines`."""
        found = self._lines.get(index)
        if found is None:
            raw = self.lines[index]
            prefix = self.marks.split(raw)
            rank = prefix.rank if prefix.rank is not None else self.own_rank
            if rank is None and self.processes:
                process = process_of(raw)
                rank = self.processes.get(process) if process else None
            found = Line(self.number(index), prefix.message, raw, prefix.host or self.host, rank, prefix.time)
            self._lines[index] = found
        return found

    @cached_property
    def own_rank(self) -> int | None:
        """The rank by the name of the file; where that may count on its node only, by NCCL's lines of its only process."""
        if self.rank is not None and counts_on_node(self.name):
            ranks = set(self.processes.values())
            if len(ranks) == 1:
                return ranks.pop()
        return self.rank

    @cached_property
    def processes(self) -> dict[Process, int]:
        """Ranks of the processes that NCCL's lines name."""
        return ranks_of(self.text)

    def origin(self, index: int, kind: OriginKind | None = None, at: int = 0) -> Origin:
        """Origin of a fact that was read on the line with this index (from 0); `at` is where in the line it stands."""
        line = self.line(index)
        quote = line.raw.strip()
        if len(quote) > QUOTE:
            start = max(0, min(at - QUOTE // 3, len(line.raw) - QUOTE))
            quote = ("... " if start else "") + line.raw[start : start + QUOTE].strip()
        return Origin(kind or self.origin_kind, self.name, line.number, line.host, line.rank, quote, line.time)
