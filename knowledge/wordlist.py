"""Splits what people write into terms: stems of words and pairs of neighbours, numbers as kinds."""

from __future__ import annotations

import itertools
import re
from functools import lru_cache

_STOP = frozenset(
    [
        "a",
        "an",
        "the",
        "and",
        "or",
        "but",
        "if",
        "of",
        "to",
        "in",
        "on",
        "at",
        "for",
        "with",
        "from",
        "by",
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "being",
        "it",
        "its",
        "this",
        "that",
        "these",
        "those",
        "i",
        "we",
        "you",
        "my",
        "our",
        "your",
        "they",
        "them",
        "their",
        "he",
        "she",
        "as",
        "so",
        "do",
        "does",
        "did",
        "have",
        "has",
        "had",
        "can",
        "could",
        "would",
        "should",
        "will",
        "just",
        "then",
        "than",
        "there",
        "here",
        "what",
        "which",
        "who",
        "how",
        "why",
        "when",
        "where",
        "all",
        "any",
        "each",
        "some",
        "more",
        "most",
        "very",
        "too",
        "also",
        "only",
        "even",
        "still",
        "into",
        "over",
        "under",
        "about",
        "up",
        "down",
        "out",
        "off",
        "me",
        "us",
        "am",
    ]
)
_WORD = re.compile(r"[a-z][a-z0-9_/+.-]*[a-z0-9]|[a-z]|\d+(?:[.,]\d+)*\s?(?:%|percent\b)?")
_ENDINGS = ("ingly", "edly", "ing", "edly", "ed", "ies", "es", "s", "ly")


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """A rough stem: endings off, so that hang, hangs and hanging meet."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)] + ("y" if ending == "ies" else "")
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":
                word = word[:-1]
            break
    return word.rstrip("e") if len(word) > 4 else word


def terms(text: str) -> list[str]:
    """Terms of a text in the order they stand: stems, and pairs joined by an underscore."""
    words = []
    for word in _WORD.findall(text.lower().replace("n't", " not").replace("’t", " not")):
        if word[0].isdigit():
            words.append("#%" if word.rstrip().endswith(("%", "percent")) else "#")
        elif word not in _STOP:
            words.append(stem(word))
    return words + [f"{a}_{b}" for a, b in itertools.pairwise(words)]
