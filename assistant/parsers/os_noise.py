r"""Interruptions of a core by the system: `osnoise`, `hwlat`, `cyclictest`, `perf sched latency`, fixed-work-quantum tables, compaction counters.

  7 #59         59000000      9120112    84.54218      220114       201002           0 ...
  python:40112          |  51112.201 ms |    50113 | avg:    1.912 ms | max:  212.310 ms |
   2    1000.1     1041.8    1910.2   48811.7
T: 0 ( 1131) P:99 I:1000 C: 100000 Min:      3 Act:    5 Avg:    4 Max:   18231
compact_stall 2910221
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from assistant.facts import Fact, Value
from assistant.intake.document import Document
from assistant.parsers._device import host_subject, hosts_by_line
from assistant.parsers._lines import lines_with

NAME = "noise of the system"
TRIGGERS = (
    "Operating System Noise",
    "Max Single",
    "hwlat",
    "Max delay ms",
    "avg delay",
    "Avg delay",
    "FWQ",
    "work quantum",
    "P:99",
    "P:80",
    "compact_stall",
    "allocstall",
)
VERSIONS = "cyclictest, hwlatdetect, osnoise and timerlat tracers, rtla of Linux 5.17 and later"

_TRAINING = re.compile(r"python|train|torchrun|pt_main|nccl|perf\b|mpi", re.IGNORECASE)

_STALLS = re.compile(r"^\s*(?:compact_stall|allocstall(?:_\w+)?)\s+(?P<n>\d+)\s*$")
_QUANTUM = re.compile(r"FWQ\b|fixed work quantum|work quantum")
_ROW = re.compile(r"^\s*\d+ #\d+\s+(?P<cells>\d+(?:\.\d+)?(?:\s+\d+(?:\.\d+)?)+)")
_DELAY = re.compile(r"^\s*(?P<task>\S+?):(?:\(?\d+\)?)\s*\|.*\|\s*max:?\s*(?P<ms>\d+(?:\.\d+)?) ms")
_CYCLIC = re.compile(r"^T:\s*\d+ \(\s*\d+\) P:.*Max:\s*(?P<us>\d+)")
_CELLS = re.compile(r"^\s*\d+\s+(?P<cells>\d+\.\d+(?:\s+\d+\.\d+){2,})\s*$")


def parse(document: Document) -> Iterable[Fact]:
    worst: tuple[float, int] | None = None
    for index, value in _microseconds(document):
        if worst is None or value > worst[0]:
            worst = (value, index)
    if worst:
        yield _fact(document, worst[1], "os.noise_max_us", round(worst[0]))
    for index in lines_with(document, ("compact_stall", "allocstall")):
        found = _STALLS.match(document.lines[index])
        if found and int(found["n"]) > 0:
            yield _fact(document, index, "mem.reclaim_stalls", int(found["n"]))


def _fact(document: Document, index: int, key: str, value: Value) -> Fact:
    return Fact(key, value, document.origin(index, "tool"), host_subject(hosts_by_line(document)[index]))


def _microseconds(document: Document) -> Iterator[tuple[int, float]]:
    columns: list[str] = []
    quantum = False
    numbers = _QUANTUM.search(document.text) is not None
    marked = lines_with(document, ("Max Single", "Max Noise", " #", "| max", "|  max", "max:", "T:"))
    for index in range(len(document.lines)) if numbers else marked:
        text = document.lines[index]
        if "Max Single" in text or "Max Noise" in text:
            columns = re.split(r"\s{2,}", text.strip().replace("% CPU", "%CPU"))
            continue
        quantum = quantum or (numbers and _QUANTUM.search(text) is not None)
        row = _ROW.match(text) if columns else None
        if row and columns:
            cells = [float(c) for c in row["cells"].split()]
            if len(cells) > 4:
                yield index, cells[4]
            continue
        delay = _DELAY.match(text) if "max" in text else None
        if delay and _TRAINING.search(delay["task"]):
            yield index, 1000 * float(delay["ms"])
            continue
        cyclic = _CYCLIC.match(text)
        if cyclic:
            yield index, float(cyclic["us"])
            continue
        cells_row = _CELLS.match(text) if quantum else None
        if cells_row:
            values = [float(c) for c in cells_row["cells"].split()]
            yield index, max(values) - min(values)
