"""Text that can be shown in a terminal."""

from __future__ import annotations

import unicodedata


def safe(text: str) -> str:
    """The text without control, escape and direction characters; newlines and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co"))
