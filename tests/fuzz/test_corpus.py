"""What the fuzzers found once stays mended: each file of corpus/TARGET/ goes through its target."""

from __future__ import annotations

from pathlib import Path

import fuzz_checks
import pytest

CORPUS = Path(__file__).parent / "corpus"
FILES = sorted(p for p in CORPUS.glob("*/*") if p.is_file())


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_found_once(path: Path) -> None:
    data = path.read_bytes()
    if path.parent.name == "parsers":
        fuzz_checks.parser_text(data.decode("utf-8", "surrogatepass"))
    else:
        getattr(fuzz_checks, path.parent.name)(data)
