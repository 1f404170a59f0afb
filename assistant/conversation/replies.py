"""The replies of a conversation, as blocks of words: findings, reasons, what was ruled out, facts, help."""

from __future__ import annotations

from assistant.conversation.words import fact_words
from assistant.diagnosis.diagnose import Diagnosis, Finding, telling_facts
from assistant.report.words import (
    Block,
    confirm_blocks,
    evidence_blocks,
    finding_blocks,
    fix_blocks,
    origin_words,
    place_words,
    sureness,
)
from knowledge.load import Knowledge

HELP = (
    'Say what is wrong in your own words: "2 nodes of 8 A100, HDR InfiniBand, 4x slower than one node, GPUs look idle". Several facts in one sentence are all taken.',
    "Attach logs, job scripts or command output with /attach PATH, or paste them: a pasted block of log lines counts as an attachment.",
    'Answer a question by its number, a word, or in your own words; "I don\'t know" is an answer as well. Correct yourself at any time: "actually it\'s RoCE".',
    'Ask back: "why?", "why do you ask?", "how do I find that out?", "what did you rule out?", "how sure are you?", "what else could it be?", "is <message> bad?"',
)
COMMANDS = (
    ("/attach PATH", "read a file, folder or archive"),
    ("/why", "the evidence for and against, and what would change the mind"),
    ("/fix", "the fix again, with commands"),
    ("/ruledout", "what was ruled out, and by what"),
    ("/tree", "where in the tree of causes we stand"),
    ("/facts", "what is known, and from where"),
    ("/undo", "take back the last message, answer or attachment"),
    ("/help", "this text"),
    ("/quit", "leave"),
)


def help_blocks() -> list[Block]:
    return [*(Block("text", line) for line in HELP), *(Block("item", f"{name}: {what}") for name, what in COMMANDS)]


def told_finding(diagnosis: Diagnosis, *, sure: bool) -> list[Block]:
    """The first cause whole: what, where, how sure, the lines that show it, the fix; then the runners-up in a line each."""
    best = diagnosis.findings[0]
    head = (
        f"{best.title}: {sureness(best.probability)}."
        if sure
        else f"The likeliest so far: {best.title} ({sureness(best.probability)})."
    )
    out = [Block("title", head)]
    place = place_words(best.where)
    if place:
        out.append(Block("text", f"Where: {place}."))
    out.append(Block("text", best.explanation))
    out += evidence_blocks(best.evidence[:4])
    out += [block for offer in best.fixes[:2] for block in fix_blocks(offer)]
    others = [f for f in diagnosis.findings[1:4] if f.probability >= 0.05]
    if others:
        out.append(Block("text", "Also possible: " + "; ".join(_short(f) for f in others) + "."))
    if sure:
        out.append(Block("text", 'Ask "why?" for all evidence, or "what else?" for other causes.'))
    return out


def _short(finding: Finding) -> str:
    return f"{finding.title} ({sureness(finding.probability)}) [{finding.id}]"


def so_far(diagnosis: Diagnosis) -> list[Block]:
    """What it points to while nothing stands clear."""
    shown = [f for f in diagnosis.findings[:3] if f.probability >= 0.08]
    return [Block("text", "It could be: " + "; ".join(_short(f) for f in shown) + ".")] if shown else []


def exhausted(diagnosis: Diagnosis) -> list[Block]:
    """The end of the questions without a cause that stands clear: the best guess and what would decide."""
    if not diagnosis.findings:
        return [
            Block(
                "text",
                "Nothing of this tells me what is wrong yet. The log of the job (with NCCL_DEBUG=INFO), its launch script or a sentence on what happens would.",
            )
        ]
    out = [Block("text", "There is nothing more to ask that would change the answer; this is what the evidence gives.")]
    out += told_finding(diagnosis, sure=False)
    out += confirm_blocks(diagnosis.findings[0])
    return out


def healthy_blocks(diagnosis: Diagnosis) -> list[Block]:
    out = [Block("title", "Nothing is wrong that the evidence shows.")]
    if diagnosis.healthy is not None:
        out += evidence_blocks(diagnosis.healthy.evidence[:4])
        out.append(Block("text", diagnosis.healthy.explanation))
    return out


def harmless_blocks(diagnosis: Diagnosis) -> list[Block]:
    return [
        Block("item", f"Harmless: {h.means} ({h.count} line{'s' if h.count > 1 else ''}, {origin_words(h.origin)})")
        for h in diagnosis.harmless[:5]
    ]


def why_blocks(diagnosis: Diagnosis, kb: Knowledge) -> list[Block]:
    """The evidence for and against the first causes, and what would change the mind."""
    if not diagnosis.findings:
        return [Block("text", "Nothing points anywhere yet, so there is nothing to give reasons for.")]
    best = diagnosis.findings[0]
    out = [Block("heading", f"Why {best.title}: {sureness(best.probability)} [{best.id}]")]
    out += evidence_blocks(best.evidence)
    if best.against:
        out.append(Block("text", "Against it:"))
        out += evidence_blocks(best.against)
    else:
        out.append(Block("text", "Nothing known speaks against it."))
    if len(diagnosis.findings) > 1:
        rival = diagnosis.findings[1]
        out.append(Block("text", f"The next one is {_short(rival)}."))
        tell = next((m["tell"] for m in best.mistaken_for if m["cause"] == rival.id), None)
        if tell:
            out.append(Block("text", f"How to tell them apart: {tell}"))
    out += change_of_mind(best)
    return out


def change_of_mind(best: Finding) -> list[Block]:
    out = [Block("heading", "What would change my mind")]
    for step in best.confirm[:3]:
        out.append(Block("item", f"{step['how']} {step['expect']}"))
        if step.get("command"):
            out.append(Block("code", step["command"]))
    return out


def ruled_out_blocks(diagnosis: Diagnosis) -> list[Block]:
    if not diagnosis.ruled_out:
        return [Block("text", "Nothing is ruled out for certain yet; causes that nothing points to are only unlikely.")]
    return [
        Block("heading", "Ruled out"),
        *(Block("item", f"{r.title} [{r.id}]: {r.why}") for r in diagnosis.ruled_out),
    ]


def facts_blocks(diagnosis: Diagnosis) -> list[Block]:
    """Every fact in words or as key and value, each with where it was read."""
    facts = telling_facts(diagnosis.facts)
    if not facts:
        return [Block("text", "No facts yet.")]
    out = [Block("heading", "What is known")]
    for fact in facts[:60]:
        words = fact_words(fact.key, fact.value) if fact.subject.kind == "job" else None
        about = "" if fact.subject.kind == "job" else f"{fact.subject}: "
        out.append(Block("item", f"{about}{words or f'{fact.key} = {fact.value}'} ({origin_words(fact.origin)})"))
    if len(facts) > 60:
        out.append(Block("text", f"and {len(facts) - 60} more."))
    return out


def more_blocks(diagnosis: Diagnosis) -> list[Block]:
    rest = diagnosis.findings[1:]
    if not rest:
        return [Block("text", "Nothing else has evidence so far.")]
    return [block for finding in rest for block in finding_blocks(finding, full=False)]


def fix_again(diagnosis: Diagnosis) -> list[Block]:
    if not diagnosis.findings:
        return [Block("text", "There is no cause yet that could be fixed.")]
    best = diagnosis.findings[0]
    out = [Block("text", f"For {best.title} ({sureness(best.probability)}):")]
    return out + [block for offer in best.fixes for block in fix_blocks(offer)]


def where_blocks(diagnosis: Diagnosis) -> list[Block]:
    if not diagnosis.findings:
        return [Block("text", "Nothing points to a place yet.")]
    best = diagnosis.findings[0]
    place = place_words(best.where)
    if not place:
        return [Block("text", "The evidence does not tie it to a single host, rank or link.")]
    return [Block("text", f"{best.title}: {place}."), *evidence_blocks(best.evidence[:2])]
