"""The lines of a text in which one of some literals stands, found without a look at every line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assistant.intake.document import Document


def lines_with(document: Document, literals: Sequence[str]) -> list[int]:
    """Indices of the lines that hold one of the literals, in their order."""
    return indices_of(document.text, literals)


def indices_of(text: str, literals: Sequence[str]) -> list[int]:
    """The same for a text without a document."""
    starts: set[int] = set()
    for literal in literals:
        at = text.find(literal)
        while at >= 0:
            starts.add(text.rfind("\n", 0, at) + 1)
            end = text.find("\n", at)
            at = text.find(literal, end) if end >= 0 else -1
    indices: list[int] = []
    index = before = 0
    for start in sorted(starts):
        index += text.count("\n", before, start)
        before = start
        indices.append(index)
    return indices


def with_next(document: Document, indices: Iterable[int], answered: Sequence[str], after: int = 2) -> list[int]:
    """These lines, and the lines right after those of them that hold one of `answered`: what a command printed."""
    found = set(indices)
    for index in list(found):
        if any(literal in document.lines[index] for literal in answered):
            found.update(range(index + 1, min(index + 1 + after, len(document.lines))))
    return sorted(found)
