"""The scanner's needles: with and without Hyperscan the same is found, and nothing that a pattern matches is missed."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from assistant.facts import Hit
from assistant.intake.document import Document
from assistant.intake.needles import COMMON, Needle, Weight
from assistant.intake.scan import Scanner
from assistant.parsers import marks
from knowledge.check import full_base
from knowledge.load import knowledge

CASES = Path(__file__).parent.parent / "cases"


@cache
def scanner(engine: str) -> Scanner:
    return Scanner(knowledge(), engine=engine, parsers=marks())


def hits(engine: str, text: str) -> dict[str, int]:
    found: dict[str, Hit] = {}
    scanner(engine).scan(Document("a.log", text), found)
    return {name: hit.count for name, hit in found.items()}


def attachments() -> list[Path]:
    files = sorted(p for p in CASES.glob("*/*") if p.suffix in (".log", ".txt", ".out") and p.stat().st_size < 9000)
    return files[::4]


@pytest.mark.parametrize("path", attachments(), ids=lambda p: f"{p.parent.name}-{p.name}")
def test_both_engines_find_the_same(path: Path) -> None:
    text = path.read_text(errors="replace")
    assert hits("hyperscan", text) == hits("re", text)


def test_every_example_of_a_signature_is_found() -> None:
    """The examples of all signatures in one text: each is found on its line."""
    full, _ = full_base()
    examples = [(name, str(s["examples"]["hit"][0])) for name, s in full["signatures"].items()]
    text = "\n".join(line.replace("\n", " ") for _, line in examples)
    found = hits("hyperscan", text)
    missed = [name for name, line in examples if name not in found and "\n" not in line]
    assert missed == []


def test_weights() -> None:
    needles = {n.text: n for n in scanner("hyperscan").needles.needles}
    assert needles["Init COMPLETE"].weight is Weight.LINES
    assert needles["Traceback (most recent call last)"].context
    assert all(needles[text].weight is Weight.LIGHT for text in COMMON if text in needles)


def test_finding() -> None:
    needle = Needle("abc")
    assert needle.find(b"xxabcabc", 3) == (5, 8) and needle.find(b"xx", 0) == (-1, -1)
    assert needle.count(b"abcabc", 1) == 1
    assert Needle("a.c", pattern="a.c").find(b"xxabc", 0) == (2, 5)
