"""Diagnosis -> blocks of words: what every face and report says, before it is laid out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from assistant.diagnosis.diagnose import SURE, Diagnosis, Finding, FixOffer, Place
from assistant.diagnosis.rank import Evidence
from assistant.facts import Input, Origin
from assistant.report.transports import transport_lines

BlockKind = Literal["title", "heading", "text", "item", "step", "quote", "code", "note"]

WHO = {
    "user": "you",
    "cluster-admin": "the cluster's administrators",
    "provider": "the cloud provider",
    "vendor": "the vendor",
}


@dataclass(frozen=True, slots=True)
class Block:
    """One paragraph, list item, quoted line or command; `text` may hold text from attachments, not yet made safe."""

    kind: BlockKind
    text: str


def sureness(probability: float) -> str:
    """A probability in words and per cent."""
    percent = min(max(round(probability * 100), 1), 99)
    for bound, words in (
        (0.9, "almost certain"),
        (0.75, "very likely"),
        (SURE, "likely"),
        (0.25, "possible"),
        (0.0, "less likely"),
    ):
        if probability >= bound:
            return f"{words}, {percent} %"
    return f"{percent} %"


def place_words(place: Place) -> str:
    """Where the cause sits, or an empty text where that is not known."""
    parts = []
    for word, names in (
        ("host", place.hosts),
        ("rank", [str(r) for r in place.ranks]),
        ("link", place.links),
        ("device", place.devices),
    ):
        if names:
            shown = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
            parts.append(f"{word}{'s' if len(names) > 1 else ''} {shown}")
    return "; ".join(parts)


def origin_words(origin: Origin) -> str:
    if origin.file:
        return f"{origin.file}:{origin.line}" if origin.line else origin.file
    return {"say": "you said", "stated": "you stated", "answer": "you answered"}.get(origin.kind, "from other facts")


def summary(diagnosis: Diagnosis) -> list[Block]:
    """The verdict in a sentence or two."""
    if diagnosis.verdict == "healthy":
        return [Block("title", "Nothing is wrong that the evidence shows.")]
    read = [i for i in diagnosis.inputs if i.lines and i.kind not in ("text", "binary", "empty")]
    if not diagnosis.findings and read:
        return [
            Block("title", "Nothing wrong was found in what was read."),
            Block(
                "text",
                "No message, setting or figure in it speaks for a problem; that alone does not prove that all is well. Say in a sentence what "
                "the trouble is (--say), or hand over more: the logs of all ranks, the launch script, or the output of nvidia-smi, ibstat or nccl-tests.",
            ),
        ]
    if not diagnosis.findings:
        return [
            Block("title", "There is nothing to go on yet."),
            Block(
                "text",
                "Describe the trouble in a sentence (--say), or hand over the log of the job, its launch script or the output of nvidia-smi, ibstat or nccl-tests.",
            ),
        ]
    best = diagnosis.findings[0]
    if diagnosis.verdict == "problem":
        return [Block("title", f"{best.title} ({sureness(best.probability)})")]
    return [
        Block("title", "The evidence does not settle it."),
        Block("text", "What it points to so far, and what would decide it, follows."),
    ]


def finding_blocks(finding: Finding, *, full: bool) -> list[Block]:
    """One cause: place, evidence and, where `full`, explanation, confirmation and fixes."""
    out = [Block("heading", f"{finding.title}: {sureness(finding.probability)} [{finding.id}]")]
    place = place_words(finding.where)
    if place:
        out.append(Block("text", f"Where: {place}."))
    if full:
        out.append(Block("text", finding.explanation))
    out += evidence_blocks(finding.evidence[: 6 if full else 2])
    if finding.against:
        out.append(Block("text", "Against it: " + " ".join(e.text for e in finding.against[:3])))
    if full:
        for offer in finding.fixes:
            out += fix_blocks(offer)
    return out


def evidence_blocks(evidence: list[Evidence]) -> list[Block]:
    out = []
    for item in evidence:
        out.append(Block("item", f"{item.text} ({item.strength})"))
        shown: set[str] = set()
        for origin in item.support.origins:
            quote = (origin.quote or "").strip()
            if quote and quote not in shown and len(shown) < 2:
                shown.add(quote)
                out.append(Block("quote", f"{origin_words(origin)}: {quote}"))
    return out


def fix_blocks(offer: FixOffer) -> list[Block]:
    cure = "cures it" if offer.kind == "cures" else "only mitigates it"
    out = [Block("heading", f"Fix: {offer.title} ({cure}; done by {WHO[offer.who]}; {offer.effort})")]
    out += [Block("step", s) for s in offer.steps]
    out += [Block("code", c) for c in offer.commands]
    out.append(Block("text", f"Gain: {offer.gain}"))
    if offer.hides:
        out.append(Block("text", f"What it hides: {offer.hides}"))
    out.append(Block("text", f"Risk: {offer.risk} Undo: {offer.undo}"))
    out.append(Block("text", f"Verify: {offer.verify}"))
    return out


def confirm_blocks(finding: Finding) -> list[Block]:
    out = [Block("heading", "To make sure"), *(block for step in finding.confirm for block in confirm_step(step))]
    for other in finding.mistaken_for:
        out.append(Block("item", f"Not to be mistaken for {other['cause']}: {other['tell']}"))
    return out


def confirm_step(step: dict[str, str]) -> list[Block]:
    """One way to confirm a cause."""
    command = [Block("code", step["command"])] if step.get("command") else []
    return [Block("item", step["how"]), *command, Block("text", step["expect"])]


def whole(diagnosis: Diagnosis) -> list[Block]:
    """The whole diagnosis, most important first."""
    out = summary(diagnosis)
    for sentence in diagnosis.contradictions:
        out.append(Block("note", sentence))
    if diagnosis.verdict == "healthy" and diagnosis.healthy is not None:
        out += evidence_blocks(diagnosis.healthy.evidence[:5])
        out += fix_blocks(diagnosis.healthy.fixes[0]) if diagnosis.healthy.fixes else []
    for number, finding in enumerate(diagnosis.findings):
        if finding.probability < 0.02 and number:
            continue
        out += finding_blocks(finding, full=finding.probability >= SURE)
        if number == 0 and diagnosis.verdict == "problem":
            out += confirm_blocks(finding)
        elif number < 3 and diagnosis.verdict == "inconclusive":
            out += confirm_step(finding.confirm[0])
    if diagnosis.ruled_out:
        out.append(Block("heading", "Ruled out"))
        out += [Block("item", f"{r.title}: {r.why}") for r in diagnosis.ruled_out[:8]]
    if diagnosis.harmless:
        out.append(Block("heading", "Harmless messages"))
        out += [
            Block("item", f"{h.means} (seen {h.count} time{'s' if h.count > 1 else ''}; {origin_words(h.origin)})")
            for h in diagnosis.harmless[:8]
        ]
    if diagnosis.next is not None and diagnosis.verdict != "healthy":
        out.append(Block("heading", "What would tell more"))
        out.append(Block("text", " ".join(p for p in (diagnosis.next.text, diagnosis.next.why) if p)))
        if diagnosis.next.how:
            out.append(Block("text", f"How to find out: {diagnosis.next.how}"))
    transports = transport_lines(diagnosis.facts)
    if transports:
        out.append(Block("heading", "Transports between ranks (pairs)"))
        out += [Block("item", line) for line in transports]
    out += input_blocks(diagnosis)
    return out


#: Inputs that are listed one by one; of more, those of one kind of name are told together.
LISTED = 12
_NUMBER = re.compile(r"\d+")


def input_blocks(diagnosis: Diagnosis) -> list[Block]:
    if not diagnosis.inputs:
        return []
    out = [Block("heading", "What was read")]
    groups: dict[str, list[Input]] = {}
    for item in diagnosis.inputs:
        shape = _NUMBER.sub("#", item.path) if len(diagnosis.inputs) > LISTED else item.path
        groups.setdefault(shape, []).append(item)
    for items in list(groups.values())[:40]:
        out.append(Block("item", _together(items)))
    if len(groups) > 40:
        out.append(Block("item", f"and {sum(map(len, list(groups.values())[40:]))} more"))
    return out


def _together(items: list[Input]) -> str:
    """One input, or many whose names differ in their numbers only."""
    first = items[0]
    if len(items) == 1:
        own = f" ({'; '.join(first.notes)})" if first.notes else ""
        return f"{first.path}: {first.kind}, {first.lines} lines{own}"
    kinds = list(dict.fromkeys(kind for item in items for kind in item.kind.split(", ")))
    notes = list(dict.fromkeys(_NUMBER.sub("some", note) for item in items for note in item.notes))
    told = f" ({'; '.join(notes[:4])})" if notes else ""
    return (
        f"{len(items)} files, {first.path} to {items[-1].path}: {', '.join(kinds)}, "
        f"{sum(item.lines for item in items)} lines in all{told}"
    )
