"""How alike a user's words are to the ways in which people describe each cause (`knowledge/tellings`).

A plain count of words, no grammar: each cause has some dozens of example descriptions; words and pairs of neighbouring words that
are commoner among a cause's descriptions than among all others speak for it. The result is a hint in log-odds, bounded on
both sides, and it names the words that made it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from knowledge.wordlist import terms

SMOOTHING = 24.0
"""Words that each cause is credited with in the proportions of all causes together (Dirichlet prior)."""

SHARPNESS = 0.5
"""Share of the summed log-likelihood that counts: words are not independent, so less than all of it."""

ROOT = 0.5
"""The sum over n words grows as n to this power: long stories repeat themselves."""

LOWEST, HIGHEST = -1.6, 2.6
"""Bounds of the hint, in log-odds."""


@dataclass(frozen=True, slots=True)
class Wording:
    """The hint for one cause: `points` in log-odds, and the words that speak most for it."""

    points: float
    words: tuple[str, ...]


def wording(says: list[str], model: dict[str, Any]) -> dict[str, Wording]:
    """The hint for every cause, or nothing where the user said too little to tell."""
    counts: dict[str, dict[str, int]] = model.get("counts", {})
    totals: dict[str, int] = model.get("totals", {})
    known = sorted({t for say in says for t in terms(say)} & counts.keys())
    if len(known) < 4 or not totals:
        return {}
    everything = model.get("everything") or sum(totals.values())
    parts: dict[str, list[tuple[float, str]]] = {cause: [] for cause in totals}
    for term in known:
        row = counts[term]
        background = sum(row.values()) / everything
        for cause, total in totals.items():
            share = (row.get(cause, 0) + SMOOTHING * background) / (total + SMOOTHING)
            parts[cause].append((math.log(share / background), term))
    scale = SHARPNESS / len(known) ** ROOT
    scores = {cause: scale * sum(p for p, _ in pairs) for cause, pairs in parts.items()}
    middle = _log_mean_exp(list(scores.values()))
    return {
        cause: Wording(
            min(max(score - middle, LOWEST), HIGHEST),
            tuple(term.replace("_", " ") for p, term in sorted(parts[cause], key=lambda x: (-x[0], x[1]))[:5] if p > 0.5),
        )
        for cause, score in scores.items()
    }


def _log_mean_exp(values: list[float]) -> float:
    top = max(values)
    return top + math.log(sum(math.exp(v - top) for v in values) / len(values))
