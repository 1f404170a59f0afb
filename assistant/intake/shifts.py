"""Line numbers of a text whose lines and those of its file do not run in step.

Shifts are (index in the text, line number there), sorted; between two of them both count on alike.
"""

from __future__ import annotations

Shifts = list[tuple[int, int]]


def compose(numbers: Shifts, dropped: Shifts) -> Shifts:
    """Shifts of lines to numbers, where `dropped` (new index, old index) lines were then left out of them."""
    result: Shifts = []
    edges = [(0, 0), *dropped]
    at = 0
    current = (0, 0)
    for i, (new, old) in enumerate(edges):
        while at < len(numbers) and numbers[at][0] <= old:
            current = numbers[at]
            at += 1
        if i or current[1] != current[0]:
            result.append((new, current[1] + old - current[0]))
        end = edges[i + 1][0] - new if i + 1 < len(edges) else None
        while at < len(numbers) and (end is None or numbers[at][0] < old + end):
            current = numbers[at]
            result.append((new + current[0] - old, current[1]))
            at += 1
    return result
