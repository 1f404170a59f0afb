"""Opens files so that reading them comes to an end.

A file of the kernel's may wait for more (/proc/kmsg), and a log may grow faster than it is read.
"""

from __future__ import annotations

import io
import os
from typing import IO, Any

#: Bytes that a file may grow while it is read.
GROWTH = 16 << 20
#: Bytes of a file that does not tell its size, as those of the kernel do; some have no end.
UNTOLD = 64 << 20


class _File(io.FileIO):
    """A file as long as it was when it was opened, and a little longer; never waits."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK))
        size = os.fstat(self.fileno()).st_size
        self._end = size + GROWTH if size else UNTOLD

    def readinto(self, buffer: Any) -> int | None:
        if self.tell() >= self._end:
            return 0
        try:
            return super().readinto(buffer) or 0
        except BlockingIOError:
            return 0


def open_path(name: str) -> IO[bytes]:
    """The bytes of a file. Raises OSError where it can't be read."""
    return io.BufferedReader(_File(name), 1 << 16)
