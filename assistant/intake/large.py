"""Reads one text: whole where it is small, skimmed where it is large."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from assistant.facts import Input
from assistant.intake.batch import Batch, shape
from assistant.intake.chunks import Chunker
from assistant.intake.decode import HEAD, Binary, detect
from assistant.intake.document import Document
from assistant.intake.jsonlines import looks_like
from assistant.intake.packed import TooMuch, damage
from assistant.intake.skim import Part, Skimmer

BLOCK = 1 << 20
#: Bytes from which encoding and form of a large text are told.
_FORM = 16 << 10
_JSON_VALUE = re.compile(rb"\s*(?:\{\s*\"|\[\s*[{\[])")


def read_text(record: Input, stream: Any, batch: Batch | None) -> Iterator[Document]:
    """The documents of one text; `batch` is None where nothing may be left out. Raises TooMuch where a bound is reached."""
    chunker = Chunker(record)
    blocks = _Blocks(record, stream)
    first = blocks.ahead(max(HEAD, batch.most_whole) if batch is not None else 0)
    skimmer = None
    parts: list[Part] = []
    if batch is not None and (blocks.more or not batch.reads_whole(record.path, sum(map(len, first)))):
        head = _head(first)
        if batch.is_plain(record.path) and head.isascii() and b"\x00" not in head and head[:1] not in b"{[":
            chunker.begin_plain()
            skimmer = Skimmer(batch, record.path)
        elif _skimmable(head):
            chunker.begin(head)
            batch.plain[shape(record.path)] += chunker.is_plain
            skimmer = Skimmer(batch, record.path)
    for block in blocks.all(first):
        if skimmer is None:
            yield from chunker.feed(block)
            if chunker.binary is not None:
                break
            continue
        record.bytes += len(block)
        parts += skimmer.feed(block)
        if sum(len(part) for _, part in parts) > BLOCK:
            yield from chunker.skimmed(parts)
            parts = []
    if skimmer is not None:
        parts += skimmer.finish()
        if parts:
            yield from chunker.skimmed(parts)
        chunker.ends_at(skimmer.line)
    yield from chunker.finish()
    if skimmer is not None and skimmer.left_out:
        record.notes.append(f"{skimmer.left_out} lines of a kind that was seen often enough are counted, not kept")
        record.dropped = dict(skimmer.dropped)
    if blocks.stopped is not None:
        raise blocks.stopped


def _head(blocks: list[bytes]) -> bytes:
    head = b""
    for block in blocks:
        head += block[: _FORM - len(head)]
    return head


class _Blocks:
    """The bytes of a stream, block by block; damage ends them with a note."""

    def __init__(self, record: Input, stream: Any) -> None:
        self._record = record
        self._stream = stream
        self.stopped: TooMuch | None = None
        self.more = True

    def ahead(self, size: int) -> list[bytes]:
        """Blocks of at least `size` bytes in all, fewer where the stream ends; `more` tells whether it goes on."""
        found = [self._next()]
        total = len(found[0])
        while self.more and total <= size:
            found.append(self._next())
            total += len(found[-1])
        return [block for block in found if block]

    def all(self, first: list[bytes]) -> Iterator[bytes]:
        while first:
            yield first.pop(0)
        while self.more:
            block = self._next()
            if block:
                yield block

    def _next(self) -> bytes:
        try:
            block: bytes = self._stream.read(BLOCK)
        except TooMuch as limit:
            self.stopped = limit
            block = b""
        except Exception as error:  # damaged data: what came before it is good
            self._record.notes.append(f"not read to its end: {damage(error)}")
            block = b""
        self.more = bool(block)
        return block


def _skimmable(head: bytes) -> bool:
    """Whether lines of this text can be told apart before it is decoded, and mean something one by one."""
    found = detect(head)
    if isinstance(found, Binary) or found.name.startswith(("utf-16", "utf-32")) or b"\x00" in head:
        return False
    lines = head.decode("utf-8", "replace").split("\n")
    if len(lines) < 2:
        return False
    return not _JSON_VALUE.match(head) or looks_like(lines[:-1])
