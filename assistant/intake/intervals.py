"""Stretches of time as sorted, disjoint (start, end) pairs: union, what two have in common, what one leaves open.

>>> spans = Spans()
>>> for start, end in ((5.0, 7.0), (0.0, 2.0), (1.0, 3.0)): spans.add(start, end)
>>> spans.union()
[(0.0, 3.0), (5.0, 7.0)]
>>> total(minus(spans.union(), [(2.0, 6.0)]))
3.0
"""

from __future__ import annotations

from bisect import bisect_right

Span = tuple[float, float]

#: Pairs that are held before they are merged, and pairs that may be left after it.
HELD = 300_000
LEFT = 200_000


class Spans:
    """Collects stretches in any order, in bounded memory: where too many are left, the shortest gaps are closed."""

    def __init__(self) -> None:
        self._held: list[Span] = []
        self._closed = 0.0
        self._end = float("-inf")

    def add(self, start: float, end: float) -> None:
        held = self._held
        if start <= self._end and held and start >= held[-1][0]:
            if end > self._end:
                held[-1] = (held[-1][0], end)
                self._end = end
            return
        held.append((start, end))
        self._end = end
        if len(held) > HELD:
            self._merge()
            while len(self._held) > LEFT:
                self._closed = max(0.5, self._closed * 2)
                self._merge()

    def _merge(self) -> None:
        self._held = merged(self._held, self._closed)
        self._end = self._held[-1][1] if self._held else float("-inf")

    def union(self) -> list[Span]:
        self._merge()
        return self._held


def merged(spans: list[Span], gap: float = 0.0) -> list[Span]:
    """The union; stretches that are no more than `gap` apart become one."""
    if not spans:
        return []
    found: list[Span] = []
    ordered = sorted(spans)
    start, end = ordered[0]
    for a, b in ordered:
        if a <= end + gap:
            if b > end:
                end = b
        else:
            found.append((start, end))
            start, end = a, b
    found.append((start, end))
    return found


def total(spans: list[Span]) -> float:
    return sum(b - a for a, b in spans)


def clip(spans: list[Span], start: float, end: float) -> list[Span]:
    """The part of a union inside one stretch."""
    at = max(bisect_right(spans, (start, float("inf"))) - 1, 0)
    found: list[Span] = []
    for index in range(at, len(spans)):
        a, b = spans[index]
        if a >= end:
            break
        if b > start:
            found.append((max(a, start), min(b, end)))
    return found


def common(left: list[Span], right: list[Span]) -> list[Span]:
    """What both unions cover."""
    found: list[Span] = []
    i = j = 0
    while i < len(left) and j < len(right):
        start = max(left[i][0], right[j][0])
        end = min(left[i][1], right[j][1])
        if start < end:
            found.append((start, end))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return found


def gaps(spans: list[Span], start: float, end: float) -> list[Span]:
    """What a union leaves open of one stretch."""
    found: list[Span] = []
    at = start
    for a, b in spans:
        if b <= at:
            continue
        if a >= end:
            break
        if a > at:
            found.append((at, a))
        at = b
    if at < end:
        found.append((at, end))
    return found


def minus(left: list[Span], right: list[Span]) -> list[Span]:
    """What the left union covers and the right one does not."""
    if not left:
        return []
    return common(left, gaps(right, left[0][0], left[-1][1]))
