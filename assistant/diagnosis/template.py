"""Fills {names} in sentences and commands of the knowledge base."""

from __future__ import annotations

import re
from collections.abc import Mapping

_NAME = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


def fill_template(text: str, names: Mapping[str, str], missing: str = "...") -> str:
    """Replaces {name} by its value; shell braces such as ${VAR} and {1..4} stay as they are."""

    def one(found: re.Match[str]) -> str:
        if found.start() and text[found.start() - 1] == "$":
            return found[0]
        return names.get(found[1], missing)

    return _NAME.sub(one, text)
