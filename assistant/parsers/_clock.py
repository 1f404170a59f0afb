"""Step times out of the times at the head of successive iteration lines, where the lines give no duration."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from assistant.intake.document import Document
from assistant.intake.times import time_at
from assistant.parsers._steps import Step

_ISO = re.compile(r"(20\d\d[-/]\d\d[-/]\d\d[T _]\d\d:\d\d:)(\d\d(?:[.,]\d{1,9})?)")
#: A longer time between two lines is a break between two runs.
_BREAK = 6 * 3600.0
#: Lines whose time is read in the slow way, at most.
_SLOW = 20_000
#: Clocks of whole seconds are too coarse where lines follow each other faster than this.
_COARSE = 10.0


def clocked(document: Document, lines: Sequence[tuple[int, int, int]]) -> list[Step]:
    """Steps between lines given as (position in the text, step number, index of the line).

    Lines of several ranks side by side would give differences between ranks, so the numbers must rise on one rank."""
    text = document.text
    minutes: dict[str, float | None] = {}
    times: list[tuple[float, int, int]] = []
    slow = 0
    fine = False
    for position, number, index in lines:
        start = text.rfind("\n", 0, position) + 1
        found = _ISO.search(text, start, min(position, start + 96))
        time: float | None
        if found is not None:
            minute = found[1]
            if minute not in minutes:
                minutes[minute] = time_at(minute + "00")
            base = minutes[minute]
            fine = fine or len(found[2]) > 2
            time = None if base is None else base + float(found[2].replace(",", "."))
        elif slow < _SLOW:
            slow += 1
            time = document.line(index).time
            fine = fine or (time is not None and time % 1 > 0)
        else:
            time = None
        if time is not None and not (times and times[-1][1] == number):
            times.append((time, number, index))
    if not fine:
        few = [b[0] - a[0] for a, b in pairwise(times[:64])]
        if few and median(few) < _COARSE:
            return []
    if len(times) < 3 or sum(1 for a, b in pairwise(times) if b[1] > a[1]) < 0.8 * (len(times) - 1):
        return []
    return [
        Step(number, (time - before) / (number - last), index)
        for (before, last, _), (time, number, index) in pairwise(times)
        if number > last and 0 < time - before < _BREAK
    ]
