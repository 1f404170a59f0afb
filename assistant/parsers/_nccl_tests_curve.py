"""What the rows of an nccl-tests table say together: latency and bandwidth apart, dips, in place against out of place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Protocol

KIB, MIB = 1 << 10, 1 << 20
#: Messages up to here take the time of the latency alone.
SMALL = 16 * KIB
#: Below this size bandwidth steps with the protocol, and means little.
STEPS_UNTIL = MIB
_FALL = 2 / 3


class Row(Protocol):
    """A row of the table; times in the table's unit."""

    @property
    def size(self) -> int: ...
    @property
    def time(self) -> float: ...
    @property
    def busbw(self) -> float: ...
    @property
    def outside(self) -> float | None: ...
    @property
    def inside(self) -> float | None: ...


@dataclass(frozen=True, slots=True)
class Fit:
    """time = alpha + bytes / beta; `alpha` in the table's unit of time, `beta` as bus bandwidth in GB/s."""

    alpha: float | None
    beta: float | None


def fit(rows: Sequence[Row]) -> Fit:
    """Robust: latency is the median of the small sizes, bandwidth the median slope between the large ones."""
    small = [row.time for row in rows if 0 < row.size <= SMALL and row.time > 0]
    alpha = median(small) if small else None
    top = max((row.size for row in rows), default=0)
    large = [row for row in rows if row.size >= max(top / 64, 4 * MIB) and row.time > 0 and row.busbw > 0]
    slopes = [
        (b.size - a.size) / (b.time - a.time)
        for a, b in combinations(large[-8:], 2)
        if b.size > a.size and b.time > a.time
    ]
    if not slopes:
        return Fit(alpha, None)
    last = large[-1]
    return Fit(alpha, median(slopes) * last.busbw * last.time / last.size)


@dataclass(frozen=True, slots=True)
class Dip:
    """A size at which bandwidth falls by more than a third below what smaller messages had."""

    row: Row
    before: float
    kind: str
    """one-size: the next size is as good as before; switch: it recovers at larger sizes; tail: it stays low to the end."""


def dip(rows: Sequence[Row]) -> Dip | None:
    ordered = sorted(rows, key=lambda row: row.size)
    high = 0.0
    for at, row in enumerate(ordered):
        if row.size >= STEPS_UNTIL // 16 and high > 0 and row.busbw < _FALL * high:
            after = ordered[at + 1 :]
            if not after:
                return Dip(row, high, "tail") if row.size >= STEPS_UNTIL else None
            if after[0].busbw >= 0.9 * high:
                return Dip(row, high, "one-size")
            if max(later.busbw for later in after) >= 0.9 * high:
                return Dip(row, high, "switch")
            return Dip(row, high, "tail") if row.size >= STEPS_UNTIL else None
        high = max(high, row.busbw)
    return None


def place_ratio(rows: Sequence[Row]) -> float | None:
    """Median of out-of-place over in-place bandwidth at large sizes."""
    top = max((row.size for row in rows), default=0)
    ratios = [row.outside / row.inside for row in rows if row.size >= max(top / 64, MIB) and row.outside and row.inside]
    return median(ratios) if len(ratios) >= 2 else None


def at_size(size: int) -> str:
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << shift:
            return f"{size / (1 << shift):.4g} {unit}"
    return f"{size} B"
