"""Reads what people write: sentences and stated facts -> facts. (First form.)"""

from __future__ import annotations

import re

from assistant.facts import Fact, Origin

_SYMPTOMS = (
    ("hang", r"\b(hang|hangs|hung|stuck|freez|frozen|deadlock|never (?:returns|goes on|continues)|stands? still|silent)"),
    ("crash", r"\b(crash|dies|died|abort|fail|error|exception|killed|segfault|time[sd]? ?out)"),
    ("jitter", r"\b(sometimes|every (?:few|hundredth)|spik|fluctuat|random(?:ly)? slow|jitter)"),
    ("slow", r"\b(slow|slower|speed|throughput|scal|takes? (?:ages|forever)|fraction of)"),
)


def read_sentence(text: str) -> list[Fact]:
    facts: list[Fact] = []
    for symptom, pattern in _SYMPTOMS:
        found = re.search(pattern, text, re.IGNORECASE)
        if found:
            facts.append(Fact("symptom", symptom, Origin("say", quote=text[:200])))
            break
    return facts


def read_stated(key: str, value: str) -> tuple[list[Fact], str]:
    """Facts of KEY=VALUE, and what is left as free text."""
    return [Fact(key, value, Origin("stated", quote=f"{key}={value}"))], f"{key}: {value}"
