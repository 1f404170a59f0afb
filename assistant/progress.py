"""A progress bar on standard error for long work: bytes read of all that are to be read, by this and other processes."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: Seconds after which a bar is shown, and between its pictures.
PATIENCE = 0.7
_INTERVAL = 0.1


class Progress:
    """Is told of every piece of work that is done, in bytes; this one shows nothing."""

    def done(self, size: int) -> None:
        """So many bytes more are read; may be called in a forked process."""

    def tick(self) -> None:
        """Draws, where it is time to; called while others work."""


silent = Progress()


class _Bar(Progress):
    def __init__(self, label: str, total: int) -> None:
        import multiprocessing

        self.label = label
        self.total = total
        self._counter = multiprocessing.Value("q", 0)
        self._process = os.getpid()
        self._next = time.monotonic() + PATIENCE
        self._shown: Any = None
        self._task: Any = None

    def done(self, size: int) -> None:
        with self._counter.get_lock():
            self._counter.value += size
        if os.getpid() == self._process:
            self.tick()

    def tick(self) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _INTERVAL
        if self._shown is None:
            self._shown = self._made()
            self._task = self._shown.add_task(self.label, total=self.total or None)
            self._shown.start()
        self._shown.update(self._task, completed=self._counter.value)
        self._shown.refresh()

    def stop(self) -> None:
        if self._shown is not None:
            self._shown.stop()

    def _made(self) -> Any:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeElapsedColumn, TransferSpeedColumn
        from rich.progress import Progress as Rich

        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        return Rich(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True, auto_refresh=False)


@contextmanager
def bar(label: str, total: int) -> Iterator[Progress]:
    """Shows how much of `total` bytes is done, where standard error is a terminal and the work takes long.

    A total of 0 is not known: then only what was read is told."""
    if not sys.stderr.isatty():
        yield silent
        return
    shown = _Bar(label, total)
    try:
        yield shown
    finally:
        shown.stop()
