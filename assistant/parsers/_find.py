"""Lines of a text that hold one of several literals, without looking at the others."""

from __future__ import annotations

from collections.abc import Iterator

from assistant.intake.document import Document


def lines_with(document: Document, literals: tuple[str, ...], limit: int = 20_000) -> Iterator[int]:
    """Indexes of the lines that hold one of the literals, in order; at most `limit` for each of them."""
    text = document.text
    starts: set[int] = set()
    for literal in literals:
        at = text.find(literal)
        for _ in range(limit):
            if at == -1:
                break
            starts.add(text.rfind("\n", 0, at) + 1)
            end = text.find("\n", at)
            at = text.find(literal, end) if end != -1 else -1
    index = before = 0
    for start in sorted(starts):
        index += text.count("\n", before, start)
        before = start
        yield index
