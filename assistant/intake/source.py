"""One thing that a user handed over, read as a stream of documents."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import IO, Any

from assistant.facts import Input
from assistant.intake.chunks import Chunker
from assistant.intake.document import Document
from assistant.intake.packed import Budget, Counted, TooMuch, maybe_packed
from assistant.safe_text import safe_line

BLOCK = 4 << 20


@dataclass
class Source:
    """One thing that the user handed over: a file, a file of a folder, an archive, standard input.

    `inputs` has a record for each text in it, and `notes` what is to be said about the whole."""

    path: str
    open: Callable[[], IO[bytes]] | None = None
    notes: list[str] = field(default_factory=list)
    inputs: list[Input] = field(default_factory=list)
    error: str | None = None
    """Why nothing of it can be read."""

    def documents(self) -> Iterator[Document]:
        """Reads it; a large text comes in several documents. Never raises for what is in the input."""
        if self.open is None:
            return
        budget = Budget()
        try:
            with closing(self.open()) as file:
                yield from self._parts(file, budget)
        except TooMuch as limit:
            self._fail(str(limit))
        except OSError as error:
            self._fail(reason(error))
        self.notes += budget.summary()

    def _parts(self, file: IO[bytes], budget: Budget) -> Iterator[Document]:
        for name, stream in _guarded(_open_parts(self.path, file, budget), self):
            record = Input(name, 0, 0, "text")
            self.inputs.append(record)
            yield from _read(record, stream, self)

    def _fail(self, why: str) -> None:
        if any(record.lines for record in self.inputs):
            self.notes.append(f"not read to its end: {why}")
        else:
            self.error = why
            self.notes.append(why)

    @property
    def lines(self) -> int:
        return sum(record.lines for record in self.inputs)

    @property
    def bytes(self) -> int:
        return sum(record.bytes for record in self.inputs)


def _open_parts(path: str, file: IO[bytes], budget: Budget) -> Iterator[tuple[str, Any]]:
    stream = Counted(file)
    head = stream.peek()
    if not maybe_packed(head):
        yield path, stream
        return
    from assistant.intake.archive import is_packed, parts_of, zip_members

    if head.startswith(b"PK") and is_packed(head) and _seekable(file):
        file.seek(0)
        yield from zip_members(path, file, budget)
    elif is_packed(head):
        yield from parts_of(path, stream, budget)
    else:
        yield path, stream


def _seekable(file: IO[bytes]) -> bool:
    try:
        return file.seekable()
    except (OSError, AttributeError):
        return False


def _guarded(parts: Iterator[tuple[str, Any]], source: Source) -> Iterator[tuple[str, Any]]:
    """The parts up to the first damage; what a library says about a broken archive is one note."""
    while True:
        try:
            part = next(parts)
        except StopIteration:
            return
        except (TooMuch, OSError) as error:
            if isinstance(error, OSError) and error.errno is None:
                source._fail(damage(error))
                return
            raise
        except Exception as error:  # a hostile archive can make its reader fail in any way
            source._fail(damage(error))
            return
        yield part


def _read(record: Input, stream: Any, source: Source) -> Iterator[Document]:
    if stream.peek(1)[:1] in (b"\x80", b"{", b"["):
        from assistant.intake.pickled import is_dump, read_dump

        if is_dump(stream.peek()):
            try:
                document = read_dump(record, stream)
            except (EOFError, ValueError, OSError) as error:
                record.notes.append(f"not read to its end: {damage(error)}")
                return
            if document is not None:
                yield document
            return
    chunker = Chunker(record)
    stopped: TooMuch | None = None
    while chunker.binary is None:
        try:
            block = stream.read(BLOCK)
        except TooMuch as limit:
            stopped = limit
            break
        except Exception as error:  # damaged data: what came before it is good
            record.notes.append(f"not read to its end: {damage(error)}")
            break
        if not block:
            break
        yield from chunker.feed(block)
    yield from chunker.finish()
    if stopped is not None:
        raise stopped


def damage(error: Exception) -> str:
    """What a reader of a format says about its input, in one line."""
    if isinstance(error, EOFError):
        return "cut off before its end"
    return f"damaged ({safe_line(error)[:120] or type(error).__name__})"


def reason(error: OSError) -> str:
    """Why the system does not let us read a path."""
    known = {
        errno.ENOENT: "does not exist",
        errno.EACCES: "no permission to read it",
        errno.EPERM: "no permission to read it",
        errno.ENAMETOOLONG: "the name is too long",
        errno.ELOOP: "its links lead in a circle",
        errno.EIO: "the disk or network file system can't read it",
        errno.ESTALE: "stale file handle of a network file system",
    }
    return known.get(error.errno or 0, safe_line(error.strerror or error))
