"""What must hold for any input: one function for each thing that is handed over. Used by the tests and by fuzz/run.py."""

from __future__ import annotations

import io
import json
import math
import os
import pickle
from collections.abc import Iterable

from fuzz_seeds import Choices, broken, parser_modules
from hypothesis import HealthCheck, Phase, settings

from assistant.facts import Fact, Hit, Input
from assistant.intake import chunks
from assistant.intake.chunks import Chunker
from assistant.intake.document import Document
from assistant.intake.flight_dump import dump_to_json
from assistant.intake.safe_pickle import PickleError, load
from assistant.intake.scan import scanner_for
from assistant.intake.shorter import shorter_numbers, shorter_runs
from assistant.intake.source import Source
from assistant.parsers._tidy import tidy
from assistant.safe_text import CONTROLS
from knowledge.load import knowledge

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"


def bounded(examples: int) -> settings:
    """Settings of a test: few examples, always the same ones; with HYPOTHESIS_PROFILE=long many new ones."""
    return settings(
        max_examples=examples * (100 if LONG else 1),
        derandomize=not LONG,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.explicit, Phase.generate, Phase.shrink) if LONG else (Phase.explicit, Phase.generate),
    )


def well_formed(facts: Iterable[Fact], *, clean: bool = True) -> None:
    """Every fact is in the vocabulary, has a value of its type, and can be shown."""
    vocabulary = knowledge().vocabulary
    for fact in facts:
        if fact.key.startswith("env."):
            kind = "text"
        else:
            assert fact.key in vocabulary, f"{fact.key} is not in the vocabulary"
            kind = vocabulary[fact.key]["type"]
        value = fact.value
        if kind == "boolean":
            assert isinstance(value, bool), (fact.key, value)
        elif kind == "integer":
            assert isinstance(value, int) and not isinstance(value, bool), (fact.key, value)
        elif kind == "number":
            assert isinstance(value, int | float) and not isinstance(value, bool), (fact.key, value)
            assert math.isfinite(value), (fact.key, value)
        else:
            assert isinstance(value, str), (fact.key, value)
            assert not clean or not CONTROLS.search(value), (fact.key, value)
        assert fact.count >= 1
        assert fact.origin.line is None or fact.origin.line >= 1
        if fact.origin.time is not None:
            assert math.isfinite(fact.origin.time)
        if clean:
            assert not CONTROLS.search(f"{fact.subject} {fact.origin.quote} {fact.origin.host}"), fact


def parse_all(document: Document, *, clean: bool = True) -> list[Fact]:
    """Facts of every parser whose triggers occur, all of them well-formed."""
    facts: list[Fact] = []
    for module in parser_modules().values():
        if any(t in document.text for t in module.TRIGGERS):
            facts += module.parse(document)
    facts = [fact for fact in map(tidy, facts) if fact is not None]
    well_formed(facts, clean=clean)
    return facts


def documents_of(
    data: bytes, name: str = "rank3.log", block: int = 1 << 16, chunk: int = chunks.CHUNK
) -> list[Document]:
    """Bytes as the documents that a file of them gives; nothing in these can steer a terminal."""
    record = Input(name, 0, 0, "text")
    chunker = Chunker(record, chunk=chunk)
    found = [d for i in range(0, len(data), block) for d in chunker.feed(data[i : i + block])]
    found += chunker.finish()
    for document in found:
        assert not CONTROLS.search(document.text)
        assert document.text.count("\n") + 1 <= record.lines + 1 or document.shifts
    return found


def text(data: bytes) -> None:
    """Any bytes as a file: decoded, cleaned, redacted, cut; then every parser."""
    for document in documents_of(data):
        parse_all(document)


def parsers(data: bytes) -> str:
    """Bytes as choices: a real text with mistakes, as it stands and as a file."""
    raw = broken(Choices(data))
    parser_text(raw)
    return raw


def parser_text(raw: str) -> None:
    parse_all(Document("rank3.log", shorter_runs(shorter_numbers(raw))), clean=False)
    text(raw.encode("utf-8", "surrogatepass"))


def scanner(data: bytes) -> None:
    """Any bytes as a file, looked through for all signatures and rules."""
    scan = scanner_for(knowledge().fingerprint)
    for document in documents_of(data):
        hits: dict[str, Hit] = {}
        scan.scan(document, hits)
        for hit in hits.values():
            assert 0 < len(hit.samples) == len(hit.fields) <= hit.count
            for origin in hit.samples:
                assert origin.quote is not None and len(origin.quote) <= 305


def archive(data: bytes) -> None:
    """Any bytes as a file that may be packed."""
    source = Source("bundle", lambda: io.BytesIO(data))
    for document in source.documents():
        assert not CONTROLS.search(document.text)
        assert not CONTROLS.search(document.name)
        assert ".." not in document.name.split("/")
    for note in [*source.notes, source.error or "", *(n for r in source.inputs for n in r.notes)]:
        assert not CONTROLS.search(note) and len(note) < 400


def pickled(data: bytes) -> None:
    """Any bytes as a pickle: plain data or a refusal; and what Python itself would read of it is the same."""
    try:
        loaded = load(data)
    except PickleError:
        return
    finally:
        found = dump_to_json(data, "dump")
        if found is not None:
            assert isinstance(json.loads(found), dict)
    _plain(loaded.value)


def _plain(value: object, depth: int = 0) -> None:
    assert isinstance(value, dict | list | tuple | str | bytes | int | float | None)
    if depth > 6:
        return
    if isinstance(value, dict):
        for key, item in list(value.items())[:50]:
            _plain(key, depth + 1)
            _plain(item, depth + 1)
    elif isinstance(value, list | tuple):
        for item in value[:50]:
            _plain(item, depth + 1)


def pickle_seeds() -> list[bytes]:
    entry = {"profiling_name": "nccl:all_reduce", "collective_seq_id": 1, "pg_id": 0, "state": "scheduled", "input_sizes": [[2, 3]],
             "frames": [{"name": "f", "filename": "train.py", "line": 3}], "process_group": ("0", "default_pg"), "x": [1.5, None, True, b"y", -7, 1 << 70]}  # fmt: skip
    dump = {"version": "2.9", "pg_config": {"0": {"name": "0", "ranks": "[0, 1]"}}, "entries": [entry, entry]}
    return [pickle.dumps(dump, p) for p in range(2, 6)] + [
        pickle.dumps([entry], 0),
        json.dumps({"version": "1", "entries": []}).encode(),
    ]
