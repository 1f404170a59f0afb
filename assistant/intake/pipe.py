"""Named pipes: reading one waits for somebody to write to it, and says so."""

from __future__ import annotations

import sys
from threading import Timer
from typing import IO, Any

from assistant.safe_text import safe_line

PATIENCE = 2.0
"""Seconds without a byte after which it is said what is being waited for."""


class Pipe:
    """The bytes of a named pipe. Opening blocks until a writer comes, as it does for every program."""

    def __init__(self, name: str) -> None:
        self._timer: Timer | None = Timer(PATIENCE, _tell, (name,))
        self._timer.daemon = True
        self._timer.start()
        try:
            self._file: IO[bytes] = open(name, "rb", buffering=0)  # noqa: SIM115
        except BaseException:
            self._timer.cancel()
            raise

    def read(self, size: int = -1) -> bytes:
        try:
            return self._file.read(size) or b""
        finally:
            self._heard()

    def _heard(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def close(self) -> None:
        self._heard()
        self._file.close()

    def seekable(self) -> bool:
        return False


def _tell(name: str) -> None:
    print(f"ncclinic: waiting for {safe_line(name)} to be written (Ctrl-C stops)", file=sys.stderr, flush=True)


def open_pipe(name: str) -> Any:
    """The named pipe, once somebody writes to it."""
    return Pipe(name)
