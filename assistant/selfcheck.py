"""Runs the examples of the knowledge base against the real scanner, parsers and conditions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from assistant.diagnosis.conditions import holds
from assistant.facts import CaseFile, Fact, Origin
from assistant.intake.document import Document
from assistant.triage import build
from knowledge.check import full_base, references
from knowledge.load import Knowledge, knowledge


def case_of(example: dict[str, Any], kb: Knowledge) -> CaseFile:
    """The case file of an example of a rule."""
    documents = [Document(example.get("name", "example.log"), example["log"])] if example.get("log") else []
    says = [example["say"]] if example.get("say") else []
    stated = [(k, str(v)) for k, v in example.get("facts", {}).items()]
    case = build(kb, says=says, stated=stated, documents=documents)
    case.add(Fact(key, value, Origin("tool")) for key, value in example.get("known", {}).items())
    return case


def check_rule(rule: dict[str, Any], kb: Knowledge, *, asked: bool = False) -> Iterator[str]:
    """What is wrong with the examples of an evidence rule; nothing when all is well. `asked`: as for `healthy`, questions count."""
    for kind, wanted in (("hit", True), ("miss", False), ("silent", False)):
        for number, example in enumerate(rule["examples"].get(kind, ())):
            case = case_of(example, kb)
            fired = holds(rule["when"], case, asked=asked) is not None
            silenced = rule.get("unless") is not None and holds(rule["unless"], case, asked=asked) is not None
            shown = " ".join(str(example.get("say") or example.get("log") or example.get("facts")).split())[:90]
            if kind == "silent" and not (fired and silenced):
                reason = "`unless` does not hold" if fired else "`when` does not hold"
                yield f"rule {rule['id']}: silent example {number}: {reason}: {shown}"
            elif (fired and not silenced) is not wanted:
                yield f"rule {rule['id']}: {kind} example {number} {'does not match' if wanted else 'matches'}: {shown}"


def check_signature(signature: dict[str, Any]) -> Iterator[str]:
    """What is wrong with the examples of a signature."""
    match = re.compile(signature["match"])
    for text in signature["examples"]["hit"]:
        if not match.search(text):
            yield f"hit example does not match: {text[:90]}"
        elif signature.get("extract") and not re.search(signature["extract"], text):
            yield f"extract does not match the hit example: {text[:90]}"
    for text in signature["examples"]["miss"]:
        if match.search(text):
            yield f"miss example matches: {text[:90]}"


def check(only: str = "") -> Iterator[str]:
    """Every mistake in the knowledge base; `only` keeps those of files whose path contains it."""
    full, problems = full_base()
    kb = knowledge()
    yield from (p for p in problems if only in p)
    yield from (p for p in references(full) if only in p)
    for cause in full["causes"].values():
        if only in cause["_file"]:
            for rule in cause["evidence"]:
                yield from (f"{cause['_file']}: {p}" for p in check_rule(rule, kb, asked=cause["id"] == "healthy"))
    for signature in full["signatures"].values():
        if only in signature["_file"]:
            yield from (f"{signature['_file']}: {p}" for p in check_signature(signature))
