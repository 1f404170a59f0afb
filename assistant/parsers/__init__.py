"""Parsers: one module a source. Each reads a document and yields facts; none judges.

A module has

    NAME      what the source is called in reports ("nvidia-smi topo -m")
    TRIGGERS  literals of which one stands in every text that the parser can read
    parse     (Document) -> Iterable[Fact]

and is found by its being in this folder. Modules whose triggers do not occur are not even imported.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from assistant.errors import strict
from assistant.facts import Fact
from assistant.intake.document import Document
from knowledge.load import read_cache, write_cache

HERE = Path(__file__).parent


@cache
def _triggers() -> dict[str, tuple[str, ...]]:
    """Triggers of every parser module, from the cache where the modules have not changed since."""
    files = sorted(p for p in HERE.glob("*.py") if not p.name.startswith("_"))
    mark = (
        "-".join(
            str(x) for x in (len(files), max(p.stat().st_mtime_ns for p in files), sum(p.stat().st_size for p in files))
        )
        if files
        else "0"
    )
    raw = read_cache(f"parsers-{mark}.json")
    if raw is not None:
        try:
            return {k: tuple(v) for k, v in json.loads(raw).items()}
        except ValueError:
            pass
    found: dict[str, tuple[str, ...]] = {}
    for module in pkgutil.iter_modules([str(HERE)]):
        if not module.name.startswith("_"):
            found[module.name] = tuple(importlib.import_module(f"assistant.parsers.{module.name}").TRIGGERS)
    write_cache(f"parsers-{mark}.json", json.dumps(found).encode())
    return found


def parse(document: Document) -> tuple[list[Fact], list[str]]:
    """The facts of a document, and the names of the sources that were recognised in it."""
    facts: list[Fact] = []
    kinds: list[str] = []
    for name, triggers in _triggers().items():
        if not any(t in document.text for t in triggers):
            continue
        module = importlib.import_module(f"assistant.parsers.{name}")
        try:
            found: Iterable[Fact] = list(module.parse(document))
        except Exception as error:
            if strict():
                raise
            kinds.append(f"{module.NAME} (could not be read: {type(error).__name__}; please report this)")
            continue
        if found:
            facts += found
            kinds.append(module.NAME)
    return facts, kinds
