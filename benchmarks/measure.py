"""Runs a command and measures it: wall time, CPU time, and memory of it and all its children together."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Measured:
    """Seconds of wall and CPU time; `memory` is the largest sum of proportional set sizes seen, in bytes."""

    wall: float
    cpu: float
    memory: int
    status: int
    output: str


def run(command: list[str], **environment: str) -> Measured:
    """Runs a command to its end. The memory is sampled every 0.4 s from /proc (shared pages count once)."""
    before = os.times()
    start = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={**os.environ, **environment}
    )
    peak = 0
    ended = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not ended.wait(0.4):
            peak = max(peak, sum(_memory(p) for p in _family(process.pid)))

    watcher = threading.Thread(target=watch)
    watcher.start()
    output, _ = process.communicate()
    wall = time.perf_counter() - start
    ended.set()
    watcher.join()
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return Measured(wall, cpu, peak, process.returncode, output)


def _family(pid: int) -> list[int]:
    found = [pid]
    for parent in found:
        try:
            found += [int(p) for p in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]
        except OSError:
            continue
    return found


def _memory(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return 0
