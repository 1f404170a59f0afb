"""How alike a user's words are to the ways in which people describe each cause, as a bounded hint that names the words."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

TRUST = 0.7
"""Share of the model's log-odds that counts: it knows the words only, and not what stands in the attachments."""

LOWEST, HIGHEST = -1.6, 2.6
"""Bounds of the hint, in log-odds."""

FEWEST = 5
"""Words below which nothing is concluded."""


class Words(Protocol):
    """The word model (`knowledge.words.WordModel`)."""

    def log_shares(self, texts: list[str]) -> tuple[dict[str, float], dict[str, list[tuple[float, str]]]]: ...


@dataclass(frozen=True, slots=True)
class Wording:
    """The hint for one cause: `points` in log-odds, and the words that speak most for it."""

    points: float
    words: tuple[str, ...]


def wording(sentences: list[str], model: Words) -> dict[str, Wording]:
    """The hint for every cause, or nothing where the user said too little to tell."""
    if sum(len(s.split()) for s in sentences) < FEWEST:
        return {}
    shares, parts = model.log_shares(sentences)
    even = math.log(max(len(shares), 1))
    return {
        cause: Wording(
            min(max(TRUST * (share + even), LOWEST), HIGHEST),
            _words(parts.get(cause, ())),
        )
        for cause, share in shares.items()
    }


def _words(parts: Iterable[tuple[float, str]]) -> tuple[str, ...]:
    """The words that speak most for a cause: those that a reader can make sense of."""
    ordered = [term for _, term in sorted(parts, key=lambda x: (-x[0], x[1])) if "#" not in term and len(term) > 3]
    return tuple(term.replace("_", " ") for term in ordered[:5])
