"""Small tools for reading sentences: number words, units, clauses and negation."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache, lru_cache

_WORDS = {
    "a": 1, "an": 1, "one": 1, "single": 1, "both": 2, "two": 2, "couple": 2, "pair": 2, "three": 3, "four": 4, "five": 5, "six": 6,
    "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "sixteen": 16, "twenty": 20, "twenty-four": 24,
    "thirty-two": 32, "forty-eight": 48, "sixty-four": 64, "hundred": 100, "dozen": 12,
}  # fmt: skip

#: A count as people write it: digits or a word.
COUNT = (
    r"(?:\d{1,3}(?:,\d{3})+|\d+|(?:a (?:couple|pair|dozen)(?: of)?)|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|sixteen|twenty(?:-four)?|thirty-two|forty-eight|sixty-four)"
)

#: A decimal number.
NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?"

#: What people call a host of a job.
HOST_WORD = r"(?:nodes?|machines?|servers?|hosts?|box(?:es)?|instances?|workstations?|pcs?|vms?|computers?|systems?|rigs?|dgx(?:es|s)?|pods?)"

_NEGATION = re.compile(
    r"\b(?:no|not|never|without|neither|nor|none|nothing|isn'?t|aren'?t|wasn'?t|weren'?t|don'?t|doesn'?t|didn'?t|haven'?t|hasn'?t|won'?t"
    r"|can'?t|cannot|instead of|rather than|free of|(?-i:zero)|any longer|gone are|rid of|not a single)(?:\s+(?:really|even|actually|seem to|appear to|have|has|had"
    r"|use|using|used|get|got|see|seen|show|shows|a|an|any|the|single|more|python|nccl|cuda|of|on|in|and|or|be|been|there|is|are|running|run|just|simply))*\s*$",
    re.IGNORECASE,
)

_CLAUSE = re.compile(
    r"(?<=[.!?;:])\s+|\n+|,\s+(?=(?:but|while|whereas|and then|then|so)\b)|\s+(?=(?:but|whereas|although|though)\b)"
)


@cache
def regex(pattern: str) -> re.Pattern[str]:
    """A pattern, compiled when first used, without regard to case."""
    return re.compile(pattern, re.IGNORECASE)


def number(word: str) -> int | None:
    """The count that a word or digits mean: "two" -> 2, "1,024" -> 1024, "a couple of" -> 2."""
    text = word.strip().lower().removesuffix(" of")
    if text.replace(",", "").isdecimal():
        return int(text.replace(",", ""))
    if text in _WORDS:
        return _WORDS[text]
    return _WORDS.get(text.split()[-1]) if text.split() else None


def decimal(text: str) -> float:
    return float(text.replace(",", ""))


def negated(text: str, start: int) -> bool:
    """Whether what begins at `start` is denied by the words right before it, within its clause."""
    before = text[max(0, start - 60) : start]
    cut = max(before.rfind(mark) for mark in (". ", "; ", "? ", "! ", ": ", "\n", ", but ", ", then"))
    return _NEGATION.search(before[cut + 1 :] if cut >= 0 else before) is not None


def mentions(text: str, pattern: str) -> Iterator[re.Match[str]]:
    """Places where the pattern stands and is not denied."""
    for found in regex(pattern).finditer(text):
        if not negated(text, found.start()):
            yield found


def mentioned(text: str, pattern: str) -> re.Match[str] | None:
    """The first place where the pattern stands and is not denied."""
    return next(mentions(text, pattern), None)


def denied(text: str, pattern: str) -> re.Match[str] | None:
    """The first place where the pattern stands only to be denied."""
    return next((m for m in regex(pattern).finditer(text) if negated(text, m.start())), None)


@lru_cache(maxsize=64)
def clauses(text: str) -> tuple[tuple[int, str], ...]:
    """The clauses of a text with their offsets: asked for again and again while a text is read."""
    out, start = [], 0
    for found in _CLAUSE.finditer(text):
        if text[start : found.start()].strip():
            out.append((start, text[start : found.start()]))
        start = found.end()
    if text[start:].strip():
        out.append((start, text[start:]))
    return tuple(out)


def clause_at(text: str, position: int) -> str:
    """The clause in which a position lies."""
    found = clauses(text)
    at = bisect_right(found, position, key=lambda clause: clause[0])
    return found[at - 1][1] if at else text
