"""Fills {names} in sentences and commands of the knowledge base."""

from __future__ import annotations

import re
from collections.abc import Mapping

_NAME = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SAFE = re.compile(r"[\w.:/@%+,=^~-]+")
"""What a shell takes as one plain word."""


def fill_template(text: str, names: Mapping[str, str], missing: str = "...") -> str:
    """Replaces {name} by its value; shell braces such as ${VAR} and {1..4} stay as they are."""

    def one(found: re.Match[str]) -> str:
        if found.start() and text[found.start() - 1] == "$":
            return found[0]
        return names.get(found[1], missing)

    return _NAME.sub(one, text)


def fill_command(text: str, names: Mapping[str, str], fallbacks: Mapping[str, str]) -> str:
    """Like `fill_template`, for a command to paste into a shell: what comes from a log and is no plain word, which might
    run as a command of its own, gives way to the placeholder's fallback.

    >>> fill_command("ping {host}", {"host": "10.0.0.1;id"}, {"host": "<host>"})
    'ping <host>'
    """
    safe = {n: v if _SAFE.fullmatch(v) else fallbacks.get(n, "<...>") for n, v in names.items()}
    return fill_template(text, safe, "<...>")
