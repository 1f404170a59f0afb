"""Why a GPU had nothing to do: it waited for data, for a host that had waited for it, or for launches."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Any

from assistant.intake.intervals import Span, clip, gaps, total

#: Annotations of the program that are long enough to explain a gap, and how many of them are kept.
LONG = 5e4
KEPT = 1000
#: Gaps (us) that are the ordinary distance of two kernels.
ORDINARY = 5.0


class Annotations:
    """The longest ranges that the program or torch named."""

    def __init__(self) -> None:
        self.found: list[tuple[float, float, str]] = []

    def add(self, name: str, start: float, end: float) -> None:
        if end - start >= LONG:
            self.found.append((start, end, name[:80]))
            if len(self.found) > 2 * KEPT:
                self.found.sort(key=lambda f: f[0] - f[1])
                del self.found[KEPT:]

    def inside(self, start: float, end: float) -> str:
        """The shortest range that covers most of a stretch."""
        covers = [(b - a, name) for a, b, name in self.found if min(b, end) - max(a, start) > 0.6 * (end - start)]
        return min(covers)[1] if covers else ""


@dataclass
class Idle:
    """Idle time of a GPU by its reason, in microseconds."""

    total: float = 0.0
    data: float = 0.0
    sync: float = 0.0
    launch: float = 0.0
    long: float = 0.0
    gaps: list[tuple[float, str]] = field(default_factory=list)
    """The longest gaps with the range of the program in which they lie."""

    def short(self) -> dict[str, Any]:
        found: dict[str, Any] = {"us": round(self.total, 1)}
        for name in ("data", "sync", "launch", "long"):
            value = getattr(self, name)
            if value:
                found[name] = round(value, 1)
        if self.gaps:
            found["gaps"] = [[round(length, 1), name] for length, name in sorted(self.gaps, reverse=True)[:4]]
        return found


def idle(busy: list[Span], window: Span, data: list[Span], syncs: list[Span], names: Annotations, step: float) -> Idle:
    """Each gap belongs to the first of these that holds: data are being fetched, it is long, the host has just waited."""
    found = Idle()
    ends = [b for _, b in syncs]
    long = max(3e5, 0.5 * step)
    for start, end in gaps(busy, *window):
        length = end - start
        found.total += length
        fetch = total(clip(data, start, end)) if data else 0.0
        if fetch > 0.5 * length:
            found.data += length
        elif length >= long:
            found.long += length
            if len(found.gaps) < 200:
                found.gaps.append((length, names.inside(start, end)))
        elif length <= ORDINARY:
            found.launch += length
        else:
            at = bisect_left(ends, start - ORDINARY)
            if at < len(ends) and ends[at] <= end:
                found.sync += length
            else:
                found.launch += length
    return found
