"""One thing that a user handed over, read as a stream of documents."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import IO, Any

from assistant.facts import Input
from assistant.intake.batch import Batch
from assistant.intake.document import Document
from assistant.intake.large import read_text
from assistant.intake.packed import Budget, Counted, TooMuch, damage, maybe_packed
from assistant.progress import Progress, silent
from assistant.safe_text import safe_line


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
    size: int = 0
    """Bytes of the file, 0 where nobody can know."""
    progress: Progress = silent

    def documents(self, batch: Batch | None = None) -> Iterator[Document]:
        """Reads it; a large text comes in several documents. Never raises for what is in the input.

        With a `batch`, lines of large texts that can't matter are left out (`assistant.intake.skim`)."""
        if self.open is None:
            return
        budget = Budget()
        try:
            with closing(self.open()) as file:
                yield from self._parts(file, budget, batch)
        except TooMuch as limit:
            self._fail(str(limit))
        except OSError as error:
            self._fail(reason(error))
        self.notes += budget.summary()

    def _parts(self, file: IO[bytes], budget: Budget, batch: Batch | None) -> Iterator[Document]:
        for name, stream in _guarded(_open_parts(self.path, file, budget, self.progress), self):
            record = Input(name, 0, 0, "text")
            self.inputs.append(record)
            yield from _read(record, stream, batch)

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


def _open_parts(path: str, file: IO[bytes], budget: Budget, progress: Progress) -> Iterator[tuple[str, Any]]:
    stream = Counted(file, progress.done)
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


def parts_in(source: Source, file: IO[bytes], budget: Budget) -> Iterator[tuple[str, Any]]:
    """(name, stream) of all that is packed in an open input; itself, where nothing is. Damage is one of its notes."""
    return _guarded(_open_parts(source.path, file, budget, source.progress), source)


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


def _read(record: Input, stream: Any, batch: Batch | None) -> Iterator[Document]:
    first = stream.peek(1)[:1]
    if first in (b"{", b"[", b" ", b"\n", b"\xef"):
        from assistant.intake.trace_events import is_trace

        if is_trace(stream.peek()):
            from assistant.intake.traces import read_trace

            yield read_trace(record, stream)
            return
    if first in (b"\x80", b"{", b"["):
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
    yield from read_text(record, stream, batch)


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
