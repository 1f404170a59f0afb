"""What a message wants, where it is not a description or an answer: why, what was ruled out, undo, help ..."""

from __future__ import annotations

from typing import Literal

from assistant.understand.text import regex

Intent = Literal[
    "why",
    "why-ask",
    "ruled-out",
    "undo",
    "facts",
    "help",
    "quit",
    "how",
    "fix",
    "more",
    "thanks",
    "where",
    "tree",
    "harmless",
    "sure",
]

_COMMANDS: dict[str, Intent] = {
    "why": "why",
    "undo": "undo",
    "facts": "facts",
    "ruledout": "ruled-out",
    "ruled-out": "ruled-out",
    "help": "help",
    "?": "help",
    "quit": "quit",
    "exit": "quit",
    "q": "quit",
    "how": "how",
    "fix": "fix",
    "more": "more",
    "tree": "tree",
}

_ASKS: tuple[tuple[Intent, str], ...] = (
    ("why-ask", r"^\W*(?:but )?why (?:do|are|would|did) you (?:ask|asking|want|need)\b|^\W*why (?:is|does) (?:this|that|it) (?:important|matter|relevant)|^\W*what (?:do you need (?:this|that|it)|has (?:this|that) to do)|^\W*(?:is|does) (?:that|this) (?:matter|important|relevant)\W*$"),
    ("how", r"^\W*(?:but )?how (?:do|can|would|could|should) (?:i|we|one) (?:find|see|check|get|tell|know|measure|look|do)\b.{0,40}$|^\W*(?:where|how) (?:do|can) i (?:see|find) (?:that|this|it)|^\W*how\W*$"),
    ("ruled-out", r"\b(?:what|which)\b.{0,40}\b(?:rule[sd]? out|exclude[ds]?|eliminat\w+|discard\w*)\b|\bwhat (?:is|was) it not\b|^\W*ruled out\W*$|\bwhy not\b.{0,60}$"),
    ("undo", r"^\W*(?:undo|take (?:that|it) back|scratch that|forget (?:that|it|the last)|go back|never ?mind the last|revert)\b"),
    ("facts", r"^\W*(?:what (?:do|did) you (?:know|understand|have)|which facts|show (?:me )?(?:the )?facts|facts|what have you (?:got|understood)|summary of facts)\b"),
    ("where", r"^\W*(?:where (?:are we|is (?:it|that)|exactly)|on which (?:node|host|rank|gpu)|which (?:node|host|rank|gpu|machine) is (?:it|bad|guilty|to blame|the bad one))\b"),
    ("sure", r"^\W*(?:how sure|are you (?:sure|certain)|how (?:certain|confident))\b|\bwhat would change your mind\b"),
    ("why", r"^\W*(?:but )?why\W*$|^\W*why (?:do|would) you (?:think|say|believe|suspect|conclude)\b|^\W*(?:what makes you|how come you|how do you know|on what grounds|what is the evidence|show (?:me )?the evidence|evidence)\b|^\W*why (?:that|this|it|is it that)\W*$|^\W*explain\W*$"),
    ("fix", r"^\W*(?:how (?:do|can|should) (?:i|we) (?:fix|solve|repair|cure|change|set|apply|remedy)|what (?:should|can|do) (?:i|we) (?:do|try|change)|what now|how to fix|the fix|fix it|fix)\b"),
    ("more", r"^\W*(?:what else|anything else|other (?:causes|ideas|options|possibilities)|(?:tell me |show )?more|what other|and otherwise|alternatives)\b.{0,30}$"),
    ("tree", r"^\W*(?:where in the tree|show (?:me )?the tree|tree|branches)\b"),
    ("help", r"^\W*(?:help|what can (?:i|you) (?:say|do|ask)|usage|commands|\?)\W*$"),
    ("quit", r"^\W*(?:quit|exit|bye|goodbye|good ?bye|stop|that'?s all|i'?m done|done)\W*$"),
    ("thanks", r"^\W*(?:thanks|thank you|thx|great|perfect|cheers|awesome|ok(?:ay)? thanks|cool|good|ok(?:ay)?|got it|i see)\b.{0,20}$"),
)  # fmt: skip

_ABOUT_MESSAGE = regex(
    r"\b(?:is|are|was|does|do|should|can|what|why)\b.{0,300}\b(?:bad|harmless|normal|expected|ok|okay|fine|worr\w+|mean|means|meaning|ignore|concern\w*|problem|dangerous|serious|about|safe|wrong)\b.{0,60}\?\W*$"
    r"|\b(?:harmless|should i worry|can i ignore|safe to ignore|what does .{2,200} mean)\b"
)


def intent_of(text: str) -> Intent | None:
    """What a short message asks of the assistant, or None where it is a statement or an answer."""
    cleaned = text.strip()
    if cleaned.startswith("/"):
        return _COMMANDS.get(cleaned[1:].split()[0].lower() if len(cleaned) > 1 else "help")
    if len(cleaned) > 160 or "\n" in cleaned:
        return None
    return next((name for name, pattern in _ASKS if regex(pattern).search(cleaned)), None)


def asks_about_message(text: str) -> bool:
    """Whether the user wonders about a message: 'is "NET/Plugin: No plugin found" bad?'"""
    return _ABOUT_MESSAGE.search(text.strip()) is not None
