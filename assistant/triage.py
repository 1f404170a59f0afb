"""From what a user hands over to a case file: sentences, stated facts, texts."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from assistant.errors import UserError
from assistant.facts import JOB, CaseFile, Fact, Input, Origin, Subject, Value
from assistant.gather import add_document, gather
from assistant.intake.document import Document
from assistant.intake.read import read_inputs, require_text
from assistant.intake.redact import typed
from assistant.progress import bar
from assistant.understand import read_sentence, read_stated
from knowledge.load import Knowledge

SAID = 20_000
"""Characters of one sentence that are read; more is handed over as a file."""


def build(
    kb: Knowledge,
    *,
    says: Iterable[str] = (),
    stated: Iterable[tuple[str, str]] = (),
    documents: Iterable[Document] = (),
) -> CaseFile:
    """The case file of one triage; `stated` are KEY, VALUE pairs as the user gave them."""
    case = CaseFile()
    for document in documents:
        kinds = add_document(case, kb, document)
        case.inputs.append(
            Input(
                document.name,
                len(document.text.encode("utf-8", "replace")),
                len(document.lines),
                ", ".join(kinds) or "text",
            )
        )
    return complete(case, kb, says, stated)


def complete(case: CaseFile, kb: Knowledge, says: Iterable[str], stated: Iterable[tuple[str, str]]) -> CaseFile:
    """Adds what the user says and states to a case file of attachments, and all that follows."""
    for sentence in (typed(s)[:SAID] for s in says):
        case.says.append(sentence)
        case.sentences.append(sentence)
        case.add(read_sentence(sentence))
    for key, value in stated:
        try:
            facts, free = read_stated(key, typed(value))
        except ValueError as error:
            raise UserError(
                f"--fact {key}={value}: {error}", "Give a value of that kind, or leave the fact out."
            ) from None
        case.add(facts)
        if free:
            case.says.append(free)
    finish(case, kb)
    return case


def finish(case: CaseFile, kb: Knowledge) -> None:
    """Adds what follows from the facts together (see `assistant.derive`)."""
    case.add(signature_facts(case, kb))
    derive_more(case, kb)


def derive_more(case: CaseFile, kb: Knowledge) -> None:
    """The same, where the facts of signatures are there already."""
    from assistant.derive import derive
    from assistant.intake.said import candidates

    case.candidates = candidates(case.says, kb.said)
    case.add_derived(derive(case))


def triage_paths(
    kb: Knowledge, paths: Iterable[str], *, says: Iterable[str] = (), stated: Iterable[tuple[str, str]] = ()
) -> CaseFile:
    """The case file of files, folders, archives or standard input (-). Raises UserError where nothing can be read."""
    sources = read_inputs(list(paths), sys.stdin.buffer)
    with bar("reading", sum(source.size for source in sources)) as progress:
        case = gather(kb, sources, progress)
    if sources:
        require_text(sources)
    return complete(case, kb, says, stated)


def signature_facts(case: CaseFile, kb: Knowledge) -> list[Fact]:
    """Facts that signatures yield from the lines they hit."""
    from assistant.diagnosis.template import fill_template

    facts: list[Fact] = []
    for name, hit in case.hits.items():
        for spec in kb.signatures.get(name, {}).get("facts", ()):
            seen: set[tuple[Value, str]] = set()
            for origin, fields in zip(hit.samples, hit.fields, strict=True):
                value: Value = fill_template(spec["value"], fields) if isinstance(spec["value"], str) else spec["value"]
                subject = _subject(spec.get("subject", "job"), origin)
                if (value, str(subject)) not in seen:
                    seen.add((value, str(subject)))
                    facts.append(Fact(spec["key"], value, origin, subject, hit.count))
    return facts


def _subject(kind: str, origin: Origin) -> Subject:
    if kind == "host" and origin.host:
        return Subject("host", origin.host)
    if kind == "rank" and origin.rank is not None:
        return Subject("rank", str(origin.rank))
    return JOB
