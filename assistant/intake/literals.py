"""Literals that a line must contain for a regular expression to match it: a cheap test before the dear one."""

from __future__ import annotations

from functools import lru_cache
from re import _constants as c  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

MINIMUM = 4


@lru_cache(maxsize=4096)
def literals_of(pattern: str, minimum: int = MINIMUM) -> tuple[str, ...]:
    """Alternatives of which one stands in every text that matches; empty where none of `minimum` characters can be told.

    >>> literals_of(r"Using network (?P<net>\\w+)")
    ('Using network ',)
    >>> literals_of("out of memory|Killed process")
    ('out of memory', 'Killed process')
    """
    best = _best(_parser.parse(pattern))
    return tuple(best) if best and min(map(len, best)) >= minimum else ()


def _weight(options: list[str]) -> int:
    return min(map(len, options)) if options else 0


def _best(parsed: Any) -> list[str]:
    candidates: list[list[str]] = []
    run = ""
    for op, argument in parsed:
        if op is c.LITERAL:
            run += chr(argument)
            continue
        if run:
            candidates.append([run])
            run = ""
        if op is c.SUBPATTERN:
            candidates.append(_best(argument[-1]))
        elif op is c.BRANCH:
            options: list[str] = []
            for branch in argument[1]:
                found = _best(branch)
                if not found:
                    options = []
                    break
                options += found
            candidates.append(options)
        elif op in (c.MAX_REPEAT, c.MIN_REPEAT) and argument[0] >= 1:
            candidates.append(_best(argument[2]))
    if run:
        candidates.append([run])
    return max(candidates, key=_weight, default=[])
