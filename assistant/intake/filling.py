"""The document that is being filled with the lines of a text, and the place in the text where its next line stands."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from assistant.facts import Input
from assistant.intake.document import Document
from assistant.intake.prefix import Splitter
from assistant.intake.shifts import Shifts


@dataclass
class _Open:
    first_line: int
    parts: list[str] = field(default_factory=list)
    size: int = 0
    lines: int = 0
    shifts: Shifts = field(default_factory=list)
    repeats: dict[int, int] = field(default_factory=dict)


class Filling:
    """Collects lines into documents of at most `chunk` characters; counts the lines of the text in its record."""

    def __init__(self, record: Input, chunk: int) -> None:
        self.record = record
        self.chunk = chunk
        self.next = 1
        """The number in the text of the line that comes next."""
        self._doc = _Open(1)
        self._splitter: Splitter | None = None

    @property
    def empty(self) -> bool:
        return not self._doc.parts

    def is_full(self, more: int) -> bool:
        """Whether so many characters more are too many for this document."""
        return bool(self._doc.parts) and self._doc.size + more > self.chunk

    def jump(self, line: int) -> None:
        """The next line is that with this number in the text (0: it follows the last one)."""
        if line:
            self.record.lines += line - self.next
            self.next = line

    def step_back(self) -> None:
        """What comes next stands on the same line of the text as what was taken last."""
        self.next -= 1
        self.record.lines -= 1

    def append(self, text: str, count: int, shifts: Shifts, repeats: dict[int, int]) -> None:
        """Adds lines that were `count` lines of the text; `shifts` and `repeats` are those of a document, from line 0 of `text`."""
        doc = self._doc
        if not text and count == 0:
            return
        lines = text.count("\n") + 1
        at, number = doc.shifts[-1] if doc.shifts else (0, doc.first_line)
        if number + doc.lines - at != self.next and not (shifts and shifts[0][0] == 0):
            doc.shifts.append((doc.lines, self.next))
        doc.shifts += [(doc.lines + i, self.next + number) for i, number in shifts]
        for index, more in repeats.items():
            doc.repeats[doc.lines + index] = more
        doc.parts.append(text)
        doc.size += len(text) + 1
        doc.lines += lines
        self.next += count
        self.record.lines += count

    def emit(self, hosts: set[str]) -> Document:
        """The document as it is, and a new one begun; `hosts` are those that the records of the text name."""
        doc = self._doc
        text = "\n".join(doc.parts)
        self._doc = _Open(self.next)
        self._splitter = Splitter.of(text, self._splitter)
        if not hosts <= self._splitter.marks.hosts:
            marks = replace(self._splitter.marks, hosts=self._splitter.marks.hosts | hosts)
            self._splitter = Splitter(marks)
        return Document(
            self.record.path,
            text,
            doc.first_line,
            shifts=doc.shifts,
            repeats=doc.repeats,
            splitter=self._splitter,
        )
