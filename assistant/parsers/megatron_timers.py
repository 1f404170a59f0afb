"""Megatron's timers -> how unequal the ranks are, which rank computes longest, how long they wait for a batch.

Sample (options minmax, max and all of --timing-log-option):

    (min, max) time across ranks (ms):
        forward-backward ...............................: (6042.11, 6050.88)
        forward-compute ................................: (1210.40, 3805.17)
        batch-generator ................................: (12.40, 410.02)
        save-checkpoint ................................: (312410.21, 312411.93)
    max time across ranks (ms):
        forward-compute ................................: 3805.17
    times across ranks (ms):
      forward-compute:
         rank  0: 1210.40
         rank  1: 3805.17
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from statistics import median

from assistant.facts import Fact, Subject
from assistant.intake.document import Document
from assistant.parsers._find import lines_with

NAME = "Megatron timers"
TRIGGERS = ("time across ranks (ms)", "times across ranks (ms)", "forward-compute ..", "batch-generator ..")
VERSIONS = "Megatron-LM 2 and 3, Megatron Core 0.4 to 0.14"

_TIMER = re.compile(r"^\s*(?P<name>[a-z][\w-]+) \.*: \((?P<low>\d+(?:\.\d+)?), (?P<high>\d+(?:\.\d+)?)\)")
_HEAD = re.compile(r"^\s*(?P<name>[a-z][\w-]+):\s*$")
_RANK = re.compile(r"^\s*rank +(?P<rank>\d+): (?P<ms>\d+(?:\.\d+)?)")
_COMPUTE = ("forward-compute", "backward-compute")
#: Lines of one block of all ranks, and blocks read.
_BLOCK = 70_000
_BLOCKS = 64


def parse(document: Document) -> Iterable[Fact]:
    yield from _extremes(document)
    yield from _all_ranks(document)


def _extremes(document: Document) -> Iterator[Fact]:
    seen: dict[str, list[tuple[float, float, int]]] = {}
    for index in lines_with(document, ("-compute ..", "batch-generator ..", "forward-backward ..")):
        found = _TIMER.match(document.messages[index])
        if found is not None:
            seen.setdefault(found["name"], []).append((float(found["low"]), float(found["high"]), index))
    compute = [t for name in _COMPUTE for t in seen.get(name, ()) if t[0] > 0]
    if compute:
        ratio = median(high / low for low, high, _ in compute)
        yield Fact("step.skew", round(ratio, 2), document.origin(compute[-1][2]))
    batch, whole = seen.get("batch-generator"), seen.get("forward-backward")
    if batch and whole:
        wait, total = median(h for _, h, _ in batch) / 1000, median(h for _, h, _ in whole) / 1000
        yield Fact("step.data_time_s", round(wait, 4), document.origin(batch[-1][2]))
        if total > 0:
            yield Fact("step.data_share", round(min(wait / total, 1.0), 3), document.origin(batch[-1][2]))


def _all_ranks(document: Document) -> Iterator[Fact]:
    """Time of forward and backward of every rank: the median of the blocks, as one number for each rank."""
    times: dict[str, dict[int, list[tuple[float, int]]]] = {}
    for start in list(lines_with(document, ("times across ranks (ms)",), _BLOCKS)):
        name = None
        for index in range(start + 1, min(start + _BLOCK, len(document.lines))):
            message = document.messages[index]
            row = _RANK.match(message)
            if row is not None:
                if name is not None:
                    times.setdefault(name, {}).setdefault(int(row["rank"]), []).append((float(row["ms"]), index))
                continue
            head = _HEAD.match(message)
            if head is None:
                break
            name = head["name"] if head["name"] in (*_COMPUTE, "batch-generator") else None
    compute: dict[int, tuple[float, int]] = {}
    for name in _COMPUTE:
        for rank, values in times.get(name, {}).items():
            known = compute.get(rank, (0.0, 0))[0]
            compute[rank] = (known + median(v for v, _ in values), values[-1][1])
    for rank, (value, index) in compute.items():
        yield Fact("rank.compute_ms", round(value, 2), document.origin(index), Subject("rank", str(rank)))
    for rank, values in times.get("batch-generator", {}).items():
        value, index = median(v for v, _ in values), values[-1][1]
        yield Fact("rank.data_ms", round(value, 2), document.origin(index), Subject("rank", str(rank)))
