"""Parsers: one module a source. Each reads a document and yields facts; none judges.

A module has

    NAME      what the source is called in reports ("nvidia-smi topo -m")
    TRIGGERS  literals of which one stands in every text that the parser can read
    LINES     for a source that is full of its triggers: literals of which one stands in every line that the parser reads
              (only those lines of very large inputs are kept for it; without LINES, what stands around a trigger is)
    SERIES    the same, where the lines are figures of one course (iterations): some thousands of them tell it
    parse     (Document) -> Iterable[Fact]

and is found by its being in this folder. Modules whose triggers do not occur are not even imported.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

from assistant.errors import strict
from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._tidy import tidy
from knowledge.load import read_cache, write_cache

HERE = Path(__file__).parent


Marks = dict[str, tuple[tuple[str, ...], tuple[str, ...]]]


@cache
def marks() -> Marks:
    """(TRIGGERS, LINES or SERIES) of every parser module, from the cache where the modules have not changed since."""
    return {name: (tuple(triggers), tuple(lines)) for name, (triggers, lines, _) in _constants().items()}


@cache
def series() -> frozenset[str]:
    """The modules with SERIES."""
    return frozenset(name for name, (_, _, of_series) in _constants().items() if of_series)


@cache
def _constants() -> dict[str, tuple[list[str], list[str], bool]]:
    files = sorted(p for p in HERE.glob("*.py") if not p.name.startswith("_"))
    mark = (
        "-".join(
            str(x) for x in (len(files), max(p.stat().st_mtime_ns for p in files), sum(p.stat().st_size for p in files))
        )
        if files
        else "0"
    )
    raw = read_cache(f"parsers-3-{mark}.json")
    if raw is not None:
        try:
            return {k: (v[0], v[1], bool(v[2])) for k, v in json.loads(raw).items()}
        except (ValueError, LookupError):  # a damaged cache is made anew
            pass
    found: dict[str, tuple[list[str], list[str], bool]] = {}
    for module in pkgutil.iter_modules([str(HERE)]):
        if not module.name.startswith("_"):
            loaded = importlib.import_module(f"assistant.parsers.{module.name}")
            of_series = list(getattr(loaded, "SERIES", ()))
            found[module.name] = (
                list(loaded.TRIGGERS),
                of_series or list(getattr(loaded, "LINES", ())),
                bool(of_series),
            )
    write_cache(f"parsers-3-{mark}.json", json.dumps(found).encode())
    return found


def parse(document: Document) -> tuple[list[Fact], list[str]]:
    """The facts of a document, and the names of the sources that were recognised in it."""
    text = document.text
    asked = [name for name, (triggers, _) in marks().items() if any(t in text for t in triggers)]
    facts: list[Fact] = []
    kinds: list[str] = []
    for _, kind, found in parse_each(document, asked):
        facts += found
        kinds.append(kind)
    return facts, kinds


def parse_each(document: Document, asked: Collection[str]) -> Iterator[tuple[str, str, list[Fact]]]:
    """(module, name of the source, its facts) of each of the modules `asked` that finds something in the document."""
    for name in marks():
        if name not in asked:
            continue
        module = importlib.import_module(f"assistant.parsers.{name}")
        try:
            found = [fact for fact in map(tidy, module.parse(document)) if fact is not None]
        except Exception as error:
            if strict():
                raise
            yield name, f"{module.NAME} (could not be read: {type(error).__name__}; please report this)", []
            continue
        if found:
            yield name, module.NAME, found
