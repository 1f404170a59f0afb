"""The texts of an input as they stand in its files, block by block, without secrets and without what a terminal acts on.

Unlike `assistant.intake.chunks`, which makes texts ready for a diagnosis, this keeps every line and its number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from assistant.facts import Input
from assistant.intake.decode import HEAD, Binary, clean, decoder, detect
from assistant.intake.packed import Budget, TooMuch, damage
from assistant.intake.redact import Redactor
from assistant.intake.source import Source, parts_in, reason

BLOCK = 1 << 20
LONGEST = 1 << 20
"""Characters of a line that are held at once; a longer one is taken in pieces, cut between words."""
_CUT = re.compile(r"[\s,;{}]")
_ENVIRON = re.compile(rb"(?:[A-Za-z_]\w*=[^\x00\n]*\x00){2,}")


@dataclass
class Text:
    """One text of an input: `blocks` must be read before the next text is asked for. `left_out` says why there are none."""

    name: str
    blocks: Iterator[str]
    left_out: str = ""
    dump: bool = False


def texts_of(source: Source, notes: list[str]) -> Iterator[Text]:
    """All texts of one input. What can't be read is said in the notes."""
    if source.open is None:
        notes += source.notes
        return
    budget = Budget()
    try:
        with closing(source.open()) as file:
            for name, stream in parts_in(source, file, budget):
                yield _text(name, stream, notes)
    except TooMuch as limit:
        notes.append(f"{source.path}: not read to its end: {limit}")
    except OSError as error:
        notes.append(f"{source.path}: {reason(error)}")
    notes += [f"{source.path}: {note}" for note in (*source.notes, *budget.summary())]
    source.notes.clear()


def _text(name: str, stream: Any, notes: list[str]) -> Text:
    head = stream.peek(HEAD)
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        from assistant.intake.pickled import read_dump

        record = Input(name, 0, 0, "text")
        try:
            document = read_dump(record, stream)
        except (EOFError, ValueError, OSError) as error:
            return Text(name, iter(()), f"not read: {damage(error)}")
        if document is None:
            return Text(name, iter(()), record.notes[-1] if record.notes else "binary")
        return Text(name, iter((document.text + "\n",)), dump=True)
    start = head.replace(b"\x00", b"\n") if _ENVIRON.match(head) else head
    found = detect(start[:HEAD])
    if isinstance(found, Binary):
        return Text(name, iter(()), f"{found.what}: left out")
    return Text(name, _blocks(name, stream, start is not head, found.skip, decoder(found), notes))


def _blocks(name: str, stream: Any, environ: bool, skip: int, decode: Any, notes: list[str]) -> Iterator[str]:
    redactor = Redactor()
    carry = ""
    wide = not getattr(decode, "decode", None)
    while not wide:
        try:
            block = stream.read(BLOCK)
        except TooMuch:
            raise
        except Exception as error:  # damaged data: what came before it is good
            notes.append(f"{name}: not read to its end: {damage(error)}")
            block = b""
        raw, skip = block[skip:], 0
        if environ:
            raw = raw.replace(b"\x00", b"\n")
        text = carry + decode.decode(raw, not block)
        if not block:
            if text:
                yield clean(redactor(clean(text)))
            return
        end = text.rfind("\n") + 1
        if not end and len(text) > LONGEST:
            cuts = [m.end() for m in _CUT.finditer(text, len(text) - 4096)]
            end = cuts[-1] if cuts else len(text)
        text, carry = text[:end], text[end:]
        if text:
            yield redactor(clean(text))
