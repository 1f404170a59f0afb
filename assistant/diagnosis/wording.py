"""How alike a user's words are to the ways in which people describe each cause, as a bounded hint that names the words."""

from __future__ import annotations

import math
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
            tuple(term.replace("_", " ") for _, term in sorted(parts.get(cause, ()), key=lambda x: (-x[0], x[1]))[:5]),
        )
        for cause, share in shares.items()
    }
