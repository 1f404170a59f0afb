"""iostat and nfsiostat -> how long the CPUs wait for I/O, how busy the disks are, how long a read takes.

Samples:

    avg-cpu:  %user   %nice %system %iowait  %steal   %idle
               3.12    0.00    1.40   41.73    0.00   53.75
    Device            r/s     rkB/s ... r_await ...  %util
    sda            212.40  91340.80 ...  148.52 ... 100.00
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from statistics import median

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._device import host_subject
from assistant.parsers._lines import lines_with

NAME = "iostat"
TRIGGERS = ("%iowait", "%util", "avg RTT (ms)")
VERSIONS = "iostat -x of sysstat 10 to 12, nfsiostat, pidstat"

#: Lines below a heading that are read: a host has so many disks at most.
_BELOW = 500


def parse(document: Document) -> Iterable[Fact]:
    waits: list[tuple[float, int]] = []
    busy: list[tuple[float, int]] = []
    latencies: list[tuple[float, int]] = []
    columns: list[str] = []
    for index in _lines(document):
        line = document.messages[index]
        words = line.split()
        if "%iowait" in words:
            columns = [w for w in words if w.startswith("%")]
            continue
        if "%util" in words or "RTT" in words:
            columns = re.sub(r"avg (\w+) \(\w+\)", lambda m: m[1].lower(), line.replace(":", " ")).split()
            columns = columns[1:] if columns[:1] in (["read"], ["write"]) else columns
            continue
        if "%)" in line:
            words = re.sub(r"\(\d+(?:\.\d+)?%\)", "", line).split()
        numbers = [_number(w) for w in words]
        row = dict(zip(columns, numbers, strict=False)) if len(words) == len(columns) else {}
        for name, found in (("%iowait", waits), ("%util", busy), ("r_await", latencies), ("rtt", latencies)):
            value = row.get(name)
            if value is not None:
                found.append((value, index))
        if words and not any(n is not None for n in numbers) and row:
            columns = []
    facts = []
    for key, values, pick in (
        ("cpu.iowait_pct", waits, median),
        ("disk.util_pct", busy, max),
        ("disk.read_ms", latencies, max),
    ):
        if values:
            chosen = pick([v for v, _ in values])
            line_of = next((i for v, i in values if v >= chosen), values[0][1])
            facts.append(
                Fact(key, round(chosen, 2), document.origin(line_of, "tool"), host_subject(document.line(line_of).host))
            )
    return facts


def _lines(document: Document) -> Iterator[int]:
    """Indices of the headings, and of what stands below each."""
    headings = lines_with(document, ("%iowait", "%util", "RTT"))
    for at, after in pairwise([*headings, len(document.lines)]):
        yield from range(at, min(after, at + _BELOW))


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None
