"""What reading of packed inputs needs before it is known whether they are packed: bounds, a stream that can look ahead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from assistant.safe_text import safe_line

READ = 1 << 20
HEAD = 1024
MEMBERS = 20_000
#: Entries of any kind, with folders, links and hidden files.
ENTRIES = 400_000
TOTAL = 64 << 30
#: Unpacked bytes that are never suspicious, and the ratio above which larger ones are.
FREE = 256 << 20
RATIO = 500


class TooMuch(Exception):
    """A bound for all of an input was reached."""


class NotRead(ValueError):
    """One part of an input is not read (on); the message says why, as it stands."""


def suspicious(unpacked: int, packed: int) -> str:
    """Why so much out of so little is not read on; empty where it is."""
    if unpacked > FREE and unpacked > RATIO * max(packed, 1):
        return f"it unpacks to more than {RATIO} times its size, as an archive bomb does"
    return ""


@dataclass
class Budget:
    """What may still be read of one thing that the user handed over."""

    members: int = MEMBERS
    entries: int = ENTRIES
    total: int = TOTAL
    unpacked: int = 0
    source: Counted | None = None
    """The packed bytes of all, as far as they have been read."""
    notes: list[str] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)

    def skip(self, why: str) -> None:
        self.skipped[why] = self.skipped.get(why, 0) + 1

    def spend(self, size: int) -> None:
        """Bytes that were unpacked. Raises TooMuch where all of them together are too many."""
        self.unpacked += size
        if self.unpacked > self.total:
            raise TooMuch("it unpacks to more than this tool reads")
        why = suspicious(self.unpacked, self.source.count) if self.source is not None else ""
        if why:
            raise TooMuch(why)

    def entry(self) -> None:
        """One more entry of an archive. Raises TooMuch where they are too many."""
        self.entries -= 1
        if self.entries < 0:
            raise TooMuch(f"more than {ENTRIES} entries")

    def broken(self, name: str, why: str) -> None:
        """An archive inside that can't be read (on)."""
        if len(self.notes) < 20:
            self.notes.append(f"{name}: not read to its end: {why}")
        else:
            self.skip("further archives inside that are damaged")

    def summary(self) -> list[str]:
        return [*self.notes, *(f"left out: {count} {why}" for why, count in sorted(self.skipped.items()))]


class Counted:
    """A byte stream that counts what was read, and can look ahead."""

    def __init__(self, raw: Any, told: Callable[[int], None] | None = None) -> None:
        self._raw = raw
        self._ahead = b""
        self._told = told
        self.count = 0

    def peek(self, size: int = HEAD) -> bytes:
        while len(self._ahead) < size:
            more = self._raw.read(size - len(self._ahead))
            if not more:
                break
            self._ahead += more
        return self._ahead[:size]

    def read(self, size: int = -1) -> bytes:
        if size is None or size < 0:
            size = READ
        if self._ahead:
            found, self._ahead = self._ahead[:size], self._ahead[size:]
        else:
            found = self._raw.read(size) or b""
        self.count += len(found)
        if self._told is not None:
            self._told(len(found))
        return found

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False


def maybe_packed(head: bytes) -> bool:
    """Whether it is worth asking `archive.is_packed`; cheap, and never wrong where it says no."""
    return head[:2] in (b"\x1f\x8b", b"BZ", b"\xfd7", b"\x28\xb5", b"PK") or (
        head[1:4] == b"\x2a\x4d\x18" or (len(head) >= 512 and b"\x00" in head[:512])
    )


def damage(error: Exception) -> str:
    """What a reader of a format says about its input, in one line."""
    if isinstance(error, EOFError):
        return "cut off before its end"
    if isinstance(error, NotRead):
        return str(error)
    return f"damaged ({safe_line(error)[:120] or type(error).__name__})"
