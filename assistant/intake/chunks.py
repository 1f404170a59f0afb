"""Bytes of one input to documents: decoded, cleaned, redacted, cut at line ends.

Works block by block, so that memory stays flat whatever the size; a block without anything unusual is handled as a whole
and never line by line.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

from assistant.facts import Input
from assistant.intake.decode import HEAD, Binary, Encoding, clean, decoder, detect, is_progress, states
from assistant.intake.document import Document
from assistant.intake.filling import Filling
from assistant.intake.jsonlines import JsonLines, looks_like
from assistant.intake.redact import Redactor
from assistant.intake.shifts import Shifts, compose
from assistant.intake.thin import Thinner

#: Characters of one document.
CHUNK = 16 << 20
#: Longest line that is kept whole, and the same for a text that is one JSON value.
LONGEST = 64 << 10
LONGEST_JSON = 4 << 20

_JSON_VALUE = re.compile(r"\s*(?:\{\s*\"|\[\s*[{\[])")
#: /proc/PID/environ: settings ended by NUL.
_ENVIRON = re.compile(rb"(?:[A-Za-z_]\w*=[^\x00\n]*\x00){2,}")


class Chunker:
    """Takes the bytes of one input and yields its documents; what is worth saying goes into the input's notes."""

    def __init__(self, record: Input, *, chunk: int = CHUNK) -> None:
        self.record = record
        self.binary: Binary | None = None
        self._head: bytearray | None = bytearray()
        self._decoder: codecs.IncrementalDecoder | None = None
        self._eight_bit = True
        self._utf8 = False
        self._carry = ""
        self._byte_order_mark = 0
        self._whole = True
        self._longest = LONGEST
        self._skipping = False
        self._cut = 0
        self._returns_are_lines = False
        self._again = False
        self._nul = b""
        self._json: JsonLines | None = None
        self._redact = Redactor()
        self._thin = Thinner()
        self._filling = Filling(record, chunk)

    def feed(self, block: bytes) -> Iterator[Document]:
        self.record.bytes += len(block)
        if self.binary is not None:
            return
        if self._head is not None:
            if not self._head:
                block = block.lstrip(b"\x00") if block.startswith(b"\x00\x00\x00\x00\x00") else block
            self._head += block
            if len(self._head) < HEAD:
                return
            block = self._begin()
        yield from self._decode(block, final=False)

    def begin(self, head: bytes) -> None:
        """Settles encoding and form by the first bytes of a text of which only parts will be fed, by `skimmed`."""
        self._whole = False
        self._head = bytearray(head)
        self._byte_order_mark = len(head) - len(self._begin())

    def begin_plain(self) -> None:
        """The same for a text that is known to be of plain lines in UTF-8."""
        self._head = None
        self._whole = False
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    @property
    def is_plain(self) -> bool:
        """Whether it was settled that the text is of plain lines in UTF-8."""
        return self._json is None and self._utf8 and not self._returns_are_lines and self._longest == LONGEST

    def skimmed(self, parts: list[tuple[int, bytes]]) -> Iterator[Document]:
        """Parts of the text, each of whole lines from a line of the text on; 0: what follows the last part."""
        raw = b"".join([part for _, part in parts])
        if len(parts) == 1 or b"\r" in raw or b"\x00" in raw or self._json is not None or self._carry or self._skipping:
            for line, part in parts:
                self._filling.jump(line)
                yield from self._decode(part[self._mark() :], final=False)
            return
        yield from self._together(raw[self._mark() :], parts)

    def _mark(self) -> int:
        """Bytes of the byte order mark, the first time."""
        mark, self._byte_order_mark = self._byte_order_mark, 0
        return mark

    def _together(self, raw: bytes, parts: list[tuple[int, bytes]]) -> Iterator[Document]:
        """The same for all of them at once, where no line needs a treatment of its own."""
        assert self._decoder is not None
        first = parts[0][0] or self._filling.next
        shifts: Shifts = []
        index, number = 0, first
        for line, part in parts:
            line = line or number
            if line != number:
                shifts.append((index, line - first))
            lines = part.count(b"\n")
            index, number = index + lines, line + lines
        text = self._decoder.decode(raw, False)
        ended = text.endswith("\n")
        text = clean(text[:-1] if ended else text)
        if text.count("\n") != index - ended or _has_longer(text, self._longest):
            for line, part in parts:
                self._filling.jump(line)
                yield from self._decode(part, final=False)
            return
        self._filling.jump(first)
        yield from self._filled(self._redact(text), number - first + (not ended), shifts, {})

    def ends_at(self, line: int) -> None:
        """Where a text ends of which the last lines were left out."""
        self.record.lines = max(self.record.lines, line - 1)

    def finish(self) -> Iterator[Document]:
        block = self._begin() if self._head is not None else b""
        if self.binary is not None:
            self.record.kind = "binary"
            hint = f" {self.binary.hint}" if self.binary.hint else ""
            self.record.notes.append(f"{self.binary.what}: left out.{hint}")
            return
        yield from self._decode(block, final=True)
        if self._json is not None:
            self._filling.append("\n".join(self._json.rest()), 0, [], {})
        if not self._filling.empty:
            yield self._filling.emit(self._json.hosts if self._json is not None else set())
        if self._cut:
            self.record.notes.append(
                f"{self._cut} line{'s' if self._cut > 1 else ''} longer than {self._longest >> 10} KiB cut"
            )
        if self._thin.left_out:
            self.record.notes.append(f"{self._thin.left_out} lines that repeat earlier ones are counted, not kept")
        if self.record.bytes == 0:
            self.record.kind = "empty"
            self.record.notes.append("empty")
        elif self.record.lines == 0:
            self.record.kind = "empty"
            self.record.notes.append("holds no text")

    def _begin(self) -> bytes:
        """Looks at the first bytes; returns what is to be decoded."""
        head = bytes(self._head or b"")
        self._head = None
        if _ENVIRON.match(head):
            self._nul = b"\n"
            head = head.replace(b"\x00", b"\n")
        found = detect(head[:HEAD])
        if isinstance(found, Binary):
            self.binary = found
            return b""
        if found.note:
            self.record.notes.append(found.note)
        self._decoder = decoder(found)
        self._utf8 = found.name in ("utf-8", "ascii")
        self._eight_bit = not found.name.startswith(("utf-16", "utf-32"))
        self._shape(head[found.skip : HEAD], found)
        return head[found.skip :]

    def _shape(self, head: bytes, encoding: Encoding) -> None:
        text = head.decode(encoding.name, "replace")
        lines = clean(text[:LONGEST]).split("\n")
        if "\n" not in text and "\r" in text:
            parts = [p for p in text.split("\r")[:400] if p.strip()]
            self._returns_are_lines = sum(map(is_progress, parts)) < 0.5 * len(parts)
        if looks_like(lines[:-1] or lines):
            self._json = JsonLines()
        elif _JSON_VALUE.match(text):
            self._longest = LONGEST_JSON

    def _decode(self, block: bytes, *, final: bool) -> Iterator[Document]:
        if self._decoder is None:
            return
        if self._skipping and self._eight_bit:
            # The rest of a line that is too long: not even decoded.
            ends = [at for at in (block.find(b"\n"), block.find(b"\r")) if at != -1]
            if not ends:
                if not final:
                    return
                block = b""
            else:
                block = block[min(ends) :]
        if self._eight_bit and b"\x00" in block:
            block = block.replace(b"\x00", self._nul)
        text = self._decoder.decode(block, final)
        if self._skipping:
            text = self._skip(text)
        if self._returns_are_lines:
            text = text.replace("\r", "\n")
        text = self._carry + text
        self._carry = ""
        if not final:
            end = text.rfind("\n")
            self._carry = text[end + 1 :]
            if len(self._carry) > self._longest:
                text, self._carry = self._overlong(text[: end + 1], self._carry)
            else:
                text = text[: end + 1]
        if text:
            yield from self._take(text)
        if self._again:
            self._again = False
            self._filling.step_back()

    def _skip(self, text: str) -> str:
        """What stands after the line that is being left out; its own end has been written already."""
        ends = [at for at in (text.find("\n"), text.find("\r")) if at != -1]
        if not ends:
            return ""
        self._skipping = False
        if text[min(ends)] == "\r":
            self._filling.step_back()
        return text[min(ends) + 1 :]

    def _overlong(self, whole: str, rest: str) -> tuple[str, str]:
        """(text that can be taken, carry) where the line that is not complete yet is too long."""
        at = rest.rfind("\r")
        if at > 0:
            last = rest[at + 1 :]
            if len(last) <= self._longest:
                # States of a progress bar that never ends its line.
                kept = "\r".join(states(rest[:at]))
                if len(kept) <= self._longest:
                    return whole, kept + "\r" + last
                self._again = True
                return whole + kept + "\n", last
        self._skipping = True
        return whole + rest[: self._longest + 1] + "\n", ""

    def _take(self, text: str) -> Iterator[Document]:
        """Takes whole lines (and, at the end, one without its newline)."""
        if text.endswith("\n"):
            text = text[:-1]
        text = clean(text.replace("\r\n", "\n") if "\r" in text else text)
        count = text.count("\n") + 1
        shifts: Shifts = []
        if self._json is not None or "\r" in text or _has_longer(text, self._longest):
            text, shifts = self._line_by_line(text)
        text = self._redact(text)
        text, dropped, repeats = self._thin.thin(text) if self._whole else (text, [], {})
        if dropped:
            shifts = compose(shifts, dropped)
        yield from self._filled(text, count, shifts, repeats)

    def _filled(self, text: str, count: int, shifts: Shifts, repeats: dict[int, int]) -> Iterator[Document]:
        """Adds lines to the document that is being filled; yields it where it is full."""
        if self._filling.is_full(len(text)):
            yield self._filling.emit(self._json.hosts if self._json is not None else set())
        self._filling.append(text, count, shifts, repeats)

    def _line_by_line(self, text: str) -> tuple[str, Shifts]:
        out: list[str] = []
        shifts: Shifts = []
        expected = 0
        for number, line in enumerate(text.split("\n")):
            pieces = states(line) if "\r" in line else [line]
            if self._json is not None:
                pieces = [x for piece in pieces for x in self._records(piece)]
            for piece in pieces:
                if len(piece) > self._longest:
                    self._cut += 1
                    piece = f"{piece[: self._longest]} [... cut]"
                if expected != number:
                    shifts.append((len(out), number))
                out.append(piece)
                expected = number + 1
        return "\n".join(out), shifts

    def _records(self, piece: str) -> list[str]:
        assert self._json is not None
        found = self._json.unpack(piece)
        if found is None:
            return [*self._json.rest(), piece]
        return [x for text in found for x in clean(text).replace("\r", "\n").split("\n")]


def _has_longer(text: str, longest: int) -> bool:
    """Whether a line is longer than this."""
    start = 0
    while len(text) - start > longest:
        end = text.rfind("\n", start, start + longest + 1)
        if end == -1:
            return True
        start = end + 1
    return False
