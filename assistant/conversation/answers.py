"""Reads the answer to a question: a choice, a number, yes or no, own words, or "I don't know"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assistant.diagnosis.next_step import Choice, NextStep
from assistant.facts import Value
from assistant.understand import read_sentence
from assistant.understand.text import COUNT, decimal, number, regex
from knowledge.load import Knowledge

_DONT_KNOW = regex(
    r"^\W*(?:i |we )?(?:do(?:es)?n'?t|do not|dont|cannot|can'?t|could ?n[o']t) (?:really |even )?(?:know|tell|say|remember|have (?:any |an )?(?:idea|access|it|that|one|logs?)|see|find out)\b"
    r"|^\W*(?:i have )?(?:dunno|don'?t know|dont know|no idea|no clue|not sure|unsure|unknown|idk|dk|skip|pass|n/?a|next|whatever|hard to (?:say|tell)|not known|who knows|\?+|no longer available|not available)\b"
    r"|^\W*i'?m not sure\b|^\W*\?+\W*$"
)
_YES = regex(
    r"^\W*(?:yes|yep|yeah|yup|y|sure|correct|right|true|exactly|indeed|affirmative|of course|it does|it is|they are|they do|definitely|absolutely)\b"
)
_NO = regex(
    r"^\W*(?:no|nope|nah|n|not really|not at all|false|negative|never|it does ?n[o']t|it isn'?t|they are ?n[o']t|they do ?n[o']t)\b(?! (?:idea|clue))"
)
_NOISE = frozenset(
    [
        "a",
        "an",
        "the",
        "of",
        "or",
        "and",
        "it",
        "is",
        "in",
        "on",
        "to",
        "i",
        "we",
        "my",
        "our",
        "they",
        "are",
        "was",
        "at",
        "by",
        "for",
        "with",
        "that",
        "this",
        "some",
    ]
)


@dataclass(frozen=True, slots=True)
class Answer:
    """`kind` says how the text answers; `said` means in words that were read like any sentence."""

    kind: Literal["value", "unknown", "said"]
    value: Value | None = None
    label: str = ""


def letters(step: NextStep) -> bool:
    """Whether choices are marked with letters: where the answer itself is a number."""
    return any(isinstance(c.value, int | float) and not isinstance(c.value, bool) for c in step.choices)


def marks(step: NextStep) -> list[str]:
    """The marks of the choices, as shown and as accepted."""
    return [chr(ord("a") + i) if letters(step) else str(i + 1) for i in range(len(step.choices))]


UNKNOWN_MARK = "0"
"""The mark of "I don't know" in every list of choices."""


def read_answer(text: str, step: NextStep, kb: Knowledge) -> Answer | None:
    """What a text answers to a question, or None where it is about something else."""
    cleaned = text.strip()
    if not cleaned:
        return None
    numeric = letters(step)
    if _DONT_KNOW.search(cleaned) or (cleaned == UNKNOWN_MARK and not _zero_is_value(step)):
        return Answer("unknown")
    chosen = _marked(cleaned, step)
    if chosen is not None:
        return Answer("value", chosen.value, chosen.label)
    if step.kind == "test":
        return Answer("unknown") if _NO.search(cleaned) and len(cleaned) < 60 else None
    booleans = [c for c in step.choices if isinstance(c.value, bool)]
    if booleans and len(cleaned.split()) <= 12:
        for pattern, value in ((_YES, True), (_NO, False)):
            if pattern.search(cleaned):
                found = next((c for c in booleans if c.value is value), None)
                if found is not None:
                    return Answer("value", found.value, found.label)
    facts = [f for f in read_sentence(cleaned) if f.key == step.fact]
    if facts:
        return Answer("value", facts[-1].value, cleaned[:120])
    if numeric or kb.vocabulary.get(step.fact, {}).get("type") in ("integer", "number"):
        amount = _amount(cleaned)
        if amount is not None:
            whole = kb.vocabulary.get(step.fact, {}).get("type") == "integer"
            return Answer("value", int(amount) if whole else amount, cleaned[:120])
    version = regex(r"^\W*v?(\d+(?:\.\d+)+\S*)\W*$").match(cleaned)
    if version and step.fact.endswith("_version"):
        return Answer("value", version[1], version[1])
    matched = _by_words(cleaned, step.choices)
    if matched is not None:
        return Answer("value", matched.value, matched.label)
    if _free_text(step, kb) and len(cleaned) > 2 and not cleaned.endswith("?"):
        return Answer("value", cleaned[:300], cleaned[:120])
    return None


def _zero_is_value(step: NextStep) -> bool:
    return any(c.value == 0 and not isinstance(c.value, bool) for c in step.choices)


def _marked(text: str, step: NextStep) -> Choice | None:
    """ "2", "2)", "b", "option 3", "the second one"."""
    found = regex(r"^\W*(?:option |choice |answer |number |no\. ?|#)?(\d{1,2}|[a-j])\W*$").match(text)
    if found:
        mark = found[1].lower()
        known = marks(step)
        return step.choices[known.index(mark)] if mark in known else None
    found = regex(r"^\W*(?:the )?(first|second|third|fourth|fifth|last)(?: one| option)?\W*$").match(text)
    if found and step.choices:
        names = ("first", "second", "third", "fourth", "fifth")
        place = len(step.choices) - 1 if found[1].lower() == "last" else names.index(found[1].lower())
        return step.choices[place] if place < len(step.choices) else None
    return None


def _amount(text: str) -> float | None:
    if len(text.split()) > 6:
        return None
    found = regex(rf"(?<![\w.])(\d+(?:,\d{{3}})*(?:\.\d+)?) ?(k|m|b|million|billion)?\b|\b({COUNT})\b").search(text)
    if not found:
        return None
    if found[1]:
        scale = {"k": 1e3, "m": 1e6, "million": 1e6, "b": 1e9, "billion": 1e9}.get((found[2] or "").lower(), 1.0)
        return decimal(found[1]) * scale
    word = number(found[3])
    return float(word) if word is not None else None


def _words(text: str) -> set[str]:
    return {w for w in re.findall(r"[a-z0-9]+", text.lower()) if w not in _NOISE}


def _by_words(text: str, choices: Sequence[Choice]) -> Choice | None:
    """The choice whose label or value the words name, where exactly one fits best."""
    said = _words(text)
    if not said or len(said) > 12:
        return None
    scored = []
    for choice in choices:
        label, value = _words(choice.label), _words(str(choice.value).replace("-", " "))
        if not isinstance(choice.value, bool) and value and value <= said:
            scored.append((2.0, choice))
            continue
        common = len(said & label)
        if common:
            scored.append((common / len(said) + common / max(len(label), 1) / 2, choice))
    scored.sort(key=lambda pair: -pair[0])
    if not scored or scored[0][0] < 0.6 or (len(scored) > 1 and scored[1][0] > scored[0][0] - 0.1):
        return None
    return scored[0][1]


def _free_text(step: NextStep, kb: Knowledge) -> bool:
    """Questions that want the user's own words or a name or version as it is."""
    return step.fact in ("what_changed", "torch_version", "nccl_version", "gpu_family")
