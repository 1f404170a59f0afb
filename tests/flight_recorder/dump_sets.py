"""The sets of dumps of this folder, and what the project makes of them."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType

from assistant.derive.n55_flight_recorder import derive
from assistant.facts import CaseFile, Fact
from assistant.intake.document import Document
from assistant.intake.flight_dump import dump_to_json
from assistant.parsers.flight_recorder import parse

HERE = Path(__file__).parent


def _benchmark() -> ModuleType:
    name = "flight_recorder_benchmark"
    spec = importlib.util.spec_from_file_location(name, HERE.parent.parent / "benchmarks" / "flight_recorder.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


benchmark = _benchmark()


@cache
def all_sets() -> dict[str, tuple[dict[str, bytes], set[int]]]:
    return {name: (files, truth) for name, files, truth in benchmark.sets(HERE)}


def facts(dumps: Mapping[str, bytes], **stated: int) -> list[Fact]:
    """Facts of the parser and what follows from them."""
    from assistant.facts import Origin

    case = CaseFile()
    for name, data in dumps.items():
        text = dump_to_json(data, name)
        if text is not None:
            case.add(parse(Document(name, text)))
    case.add(Fact(key, value, Origin("stated")) for key, value in stated.items())
    case.add(list(derive(case)))
    return case.facts


def guilty(dumps: Mapping[str, bytes], **stated: int) -> dict[int, str]:
    return {int(f.subject.name): str(f.value) for f in facts(dumps, **stated) if f.key == "fr.guilty_rank"}


def value(found: list[Fact], key: str, rank: int | None = None) -> object:
    """The only value of a fact."""
    values = [f.value for f in found if f.key == key and (rank is None or f.subject.name == str(rank))]
    assert len(values) == 1, (key, values)
    return values[0]
