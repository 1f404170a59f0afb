"""Explains a message that a user quotes: is it harmless, what does it mean, to what does it point?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from assistant.facts import Hit
from assistant.intake.document import Document
from assistant.intake.scan import scanner_for
from assistant.report.words import Block
from assistant.understand.text import regex
from knowledge.load import Knowledge

_QUOTED = regex(r"[\"“”`«»](.{4,400}?)[\"“”`«»]|(?<!\w)'(.{6,400}?)'(?!\w)")
_ASKING = regex(
    r"^\W*(?:is|are|what (?:does|do|is)|what'?s|why (?:do|does|is|are) (?:i|it|there|nccl|we)?|should i (?:worry about|care about)|can i ignore|do i need to worry about|tell me about|i (?:see|get))\s+(?:the |this |that |it |a )?(?:message |warning |line |error |say )?"
    r"|\s*(?:\b(?:bad|harmless|normal|a problem|an error|dangerous|serious|ok|okay|expected|fine|safe|mean|means|wrong|about|messages?|warnings?|something to worry about)\b\s*)+\W*$"
)
_COMMON = frozenset(
    [
        "the",
        "and",
        "for",
        "with",
        "that",
        "this",
        "not",
        "can",
        "was",
        "are",
        "nccl",
        "info",
        "warn",
        "error",
        "warning",
        "message",
        "line",
        "found",
        "use",
        "used",
        "using",
        "has",
        "have",
        "from",
    ]
)


@dataclass(frozen=True, slots=True)
class Explained:
    signature: str
    blocks: list[Block]
    harmless: bool


def explain(text: str, kb: Knowledge) -> Explained | None:
    """What is known of the message in a text, or None where none is recognised in it."""
    snippets = [next(g for g in m.groups() if g) for m in _QUOTED.finditer(text)]
    for snippet in [*snippets, text]:
        found = _scanned(snippet, kb)
        if found is not None:
            return _explained(found, snippet, kb)
    for snippet in snippets or [_ASKING.sub("", text)]:
        found = _similar(snippet, kb)
        if found is not None:
            return _explained(found, snippet, kb)
    return None


def _scanned(snippet: str, kb: Knowledge) -> dict[str, Any] | None:
    hits: dict[str, Hit] = {}
    scanner_for(kb.fingerprint).scan(Document("message", snippet), hits)
    known = [kb.signatures[name] for name in hits if name in kb.signatures]
    order = {"benign": 0, "root": 1, "either": 2, "echo": 3, "info": 4}
    return min(known, key=lambda s: (order[s["role"]], s["id"]), default=None)


def _words(text: str) -> set[str]:
    return {w for w in re.findall(r"[a-z][a-z_]{2,}|\d{3,}", text.lower()) if w not in _COMMON}


def _similar(snippet: str, kb: Knowledge) -> dict[str, Any] | None:
    """The signature whose own words hold nearly all words of a part of a message."""
    wanted = _words(snippet)
    if len(wanted) < 2:
        return None
    best: tuple[float, int, str] | None = None
    for name, signature in kb.signatures.items():
        own = _words(
            signature["title"] + " " + re.sub(r"\\[a-zA-Z]|\[[^\]]*\][*+?]?|\(\?\w*[:<]?", " ", signature["match"])
        )
        share = len(wanted & own) / len(wanted)
        if share >= 0.75:
            key = (share, -len(own) + (20 if signature["role"] == "benign" else 0), name)
            best = max(best, key) if best else key
    return kb.signatures[best[2]] if best else None


def _explained(signature: dict[str, Any], snippet: str, kb: Knowledge) -> Explained:
    role = signature["role"]
    quote = " ".join(snippet.split())[:160]
    if role == "benign":
        head = "That message is harmless."
    elif role == "echo":
        head = "That message only follows another failure: look for what came before it, on this rank or another."
    elif role == "info":
        head = "That message is information, not an error; by itself it is harmless."
    else:
        head = "That message points to a real problem."
    blocks = [Block("title", head), Block("quote", quote), Block("text", signature["means"])]
    if signature.get("false_positives"):
        blocks.append(
            Block(
                "text",
                ("When it does mean something: " if role == "benign" else "When it means nothing bad: ")
                + signature["false_positives"],
            )
        )
    causes = [c for c in signature.get("causes", {}) if c in kb.causes]
    if causes:
        blocks.append(
            Block("text", "It can come from: " + "; ".join(f"{kb.causes[c]['title']} [{c}]" for c in causes[:4]) + ".")
        )
    return Explained(signature["id"], blocks, role == "benign")
