"""Which lines of a text each step has to look at: cheap patterns, all searched for at once."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from typing import Any

SMALL = 1 << 12
"""Characters below which every step looks at every line."""


class Finder:
    """`patterns[n]` are those of step n: where none of them is on a line, the step would change nothing there."""

    def __init__(self, patterns: Sequence[Sequence[str]]) -> None:
        self._patterns = patterns
        self._steps = [n for n, some in enumerate(patterns) for _ in some]

    @property
    def count(self) -> int:
        return len(self._patterns)

    def lines(self, text: str) -> list[list[int]] | None:
        """For each step the lines it has to look at, by their index; None: all of them."""
        database = _database(tuple(p for some in self._patterns for p in some)) if len(text) > SMALL else None
        if database is None:
            return None
        raw = text.encode("utf-8", "surrogatepass")
        breaks = [found.start() for found in re.finditer(rb"\n", raw)]
        found: list[set[int]] = [set() for _ in self._patterns]
        steps = self._steps

        def hit(number: int, start: int, end: int, flags: int, context: Any) -> None:
            found[steps[number]].add(end)

        database.scan(raw, match_event_handler=hit)
        out: list[list[int]] = []
        for ends in found:
            out.append(sorted({bisect_right(breaks, end - 2) for end in ends}))
        return out


@cache
def _database(patterns: tuple[str, ...]) -> Any:
    try:
        import hyperscan
    except ImportError:
        return None
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    flags = hyperscan.HS_FLAG_CASELESS | hyperscan.HS_FLAG_MULTILINE
    database.compile(
        expressions=[p.encode() for p in patterns],
        ids=list(range(len(patterns))),
        elements=len(patterns),
        flags=[flags] * len(patterns),
    )
    return database
