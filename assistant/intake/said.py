"""Which of the many patterns on the user's words may match at all, told by their literals."""

from __future__ import annotations

from typing import Any

from knowledge.needs import met


def candidates(says: list[str], patterns: dict[str, Any]) -> frozenset[str]:
    """The patterns that may match one of the sentences. `patterns` gives for each what a text must contain."""
    text = "\n".join(says).lower()
    return frozenset(pattern for pattern, need in patterns.items() if met(need, text))
