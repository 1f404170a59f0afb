"""What a text must contain for a regular expression to match it, as a small tree of literals.

    needs(r"(hang|stuck).{0,20}epoch")  ->  ["&", ["|", "hang", "stuck"], "epoch"]

Compiling a thousand regular expressions takes longer than all else in a triage; looking for their literals first takes
a few milliseconds. The tree is made when the knowledge base is compiled. Letters are in lower case: it is meant for
patterns that do not distinguish case.
"""

from __future__ import annotations

from re import _constants as c  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

Need = str | list[Any] | None
"""A literal; ["&", need ...] all of them; ["|", need ...] one of them; None: anything may match."""

SHORTEST = 3


def needs(pattern: str) -> Need:
    """The tree for a pattern; None where nothing can be told."""
    return _of(_parser.parse(pattern))


def met(need: Need, text: str) -> bool:
    """Whether a text, in lower case, contains what is needed."""
    if need is None:
        return True
    if isinstance(need, str):
        return need in text
    if need[0] == "&":
        return all(met(part, text) for part in need[1:])
    return any(met(part, text) for part in need[1:])


def _of(parsed: Any) -> Need:
    parts: list[Need] = []
    run = ""
    for op, argument in parsed:
        if op is c.LITERAL:
            run += chr(argument).lower()
            continue
        if len(run) >= SHORTEST:
            parts.append(run)
        run = ""
        if op is c.SUBPATTERN:
            parts.append(_of(argument[-1]))
        elif op is c.BRANCH:
            parts.append(_any([_of(branch) for branch in argument[1]]))
        elif op in (c.MAX_REPEAT, c.MIN_REPEAT, c.POSSESSIVE_REPEAT) and argument[0] >= 1:
            parts.append(_of(argument[2]))
        elif op is c.ATOMIC_GROUP:
            parts.append(_of(argument))
    if len(run) >= SHORTEST:
        parts.append(run)
    known = [p for p in parts if p is not None]
    if not known:
        return None
    return known[0] if len(known) == 1 else ["&", *known]


def _any(options: list[Need]) -> Need:
    """One of the options; None as soon as one of them needs nothing."""
    if any(option is None for option in options):
        return None
    return options[0] if len(options) == 1 else ["|", *options]
