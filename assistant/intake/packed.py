"""What reading of packed inputs needs before it is known whether they are packed: bounds, a stream that can look ahead."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

READ = 1 << 20
HEAD = 1024
MEMBERS = 20_000
TOTAL = 64 << 30


class TooMuch(Exception):
    """A bound was reached."""


@dataclass
class Budget:
    """What may still be read of one thing that the user handed over."""

    members: int = MEMBERS
    total: int = TOTAL
    notes: list[str] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)

    def skip(self, why: str) -> None:
        self.skipped[why] = self.skipped.get(why, 0) + 1

    def summary(self) -> list[str]:
        return [*self.notes, *(f"left out: {count} {why}" for why, count in sorted(self.skipped.items()))]


class Counted:
    """A byte stream that counts what was read, and can look ahead."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self._ahead = b""
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
        return found

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False


def maybe_packed(head: bytes) -> bool:
    """Whether it is worth asking `archive.is_packed`; cheap, and never wrong where it says no."""
    return head[:2] in (b"\x1f\x8b", b"BZ", b"\xfd7", b"\x28\xb5", b"PK") or (
        len(head) >= 512 and b"\x00" in head[:512]
    )
