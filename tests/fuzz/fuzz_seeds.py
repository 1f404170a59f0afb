"""Real text for the fuzzers, and how it is broken: one stream of choices decides both, so that any fuzzer can drive it."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

import assistant.parsers

ROOT = Path(__file__).parent.parent.parent
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
#: What stands in the place of a number.
NUMBERS = (
    "0",
    "-1",
    "9" * 19,
    "9" * 40,
    "9" * 5000,
    "-" + "9" * 400,
    "1e999",
    "0.0",
    "1" + "0" * 320 + ".5",
    "nan",
    "inf",
    "\u0661\u0662\u0663",
    "\u00b2",
    "\u0663.\u0665",
    "\uff11\uff12",
    "1,2,3",
    "1.2.3",
    ".",
    "0x1f",
    "N/A",
    "",
)
#: What is put in anywhere.
BITS = (
    "\x00",
    "\ud800",
    "\u202e",
    "\x1b[31m",
    "\x85",
    "\t",
    " " * 300,
    "\ufffd",
    "\U0001f600",
    "[",
    "]",
    "(",
    "{",
    "}",
    '"',
    "'",
    ":",
    "=",
    ",",
    "/",
    "\\",
    "%",
    "|",
    "<",
    "-",
    "+",
    "\r",
    "\n",
    "\n\n",
    "a" * 3000,
    "\u0130",
    "\ufb01",
)


class Choices:
    """Choices read from bytes; when they are used up, always the first option."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    @property
    def left(self) -> bool:
        return self.at < len(self.data)

    def pick(self, count: int) -> int:
        value = 0
        size = 1 if count <= 256 else 2 if count <= 65536 else 3
        for byte in self.data[self.at : self.at + size]:
            value = value << 8 | byte
        self.at += size
        return value % count if count else 0


@cache
def pieces() -> tuple[str, ...]:
    """Real texts: attachments of the cases, examples of the signatures, fixtures of the parsers' tests."""
    return (*_attachments(), *_fixtures(), *_examples())


def _attachments() -> Iterator[str]:
    for path in sorted((ROOT / "tests" / "cases").rglob("*")):
        if path.name not in ("case.yaml", "known_misses.txt") and path.is_file():
            yield path.read_bytes()[:200_000].decode("utf-8", "replace")


def _fixtures() -> Iterator[str]:
    for path in sorted((ROOT / "tests").glob("*/test_*.py")):
        if path.parent.name in ("parsers", "derive"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) > 24:
                    yield node.value


def _examples() -> Iterator[str]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for folder in sorted((ROOT / "knowledge" / "signatures").iterdir()):
        lines: list[str] = []
        for path in sorted(folder.glob("*.yaml")):
            try:
                found = yaml.load(path.read_text(encoding="utf-8"), loader)
            except yaml.YAMLError:
                continue
            lines += [str(x) for x in (found.get("examples") or {}).get("hit") or ()]
        if lines:
            yield "\n".join(lines)


@cache
def parser_modules() -> dict[str, Any]:
    """Every parser."""
    names = (m.name for m in pkgutil.iter_modules(assistant.parsers.__path__) if not m.name.startswith("_"))
    return {name: importlib.import_module(f"assistant.parsers.{name}") for name in names}


@cache
def by_parser() -> dict[str, tuple[str, ...]]:
    """The pieces that hold a trigger of each parser; its own sample and its triggers where there is none."""
    found = {}
    for name, module in parser_modules().items():
        fit = [p for p in pieces() if any(t in p for t in module.TRIGGERS)]
        found[name] = (module.__doc__ or "", *module.TRIGGERS, *fit)
    return found


def broken(choices: Choices) -> str:
    """A real text for one of the parsers, with mistakes."""
    names = sorted(by_parser())
    name = names[choices.pick(len(names))]
    options = by_parser()[name]
    piece = options[choices.pick(len(options))]
    lines = piece.split("\n")
    if len(lines) > 60:
        start = choices.pick(len(lines))
        lines = lines[start : start + 60]
    while choices.left:
        _break(lines, choices, options)
    return "\n".join(lines)


def _break(lines: list[str], choices: Choices, options: tuple[str, ...]) -> None:
    at = choices.pick(len(lines)) if lines else 0
    if not lines:
        lines.append("")
    line = lines[at]
    match choices.pick(10):
        case 0:
            del lines[at]
        case 1:
            lines[at] = line[: choices.pick(len(line) + 1)]
        case 2:
            lines[at:at] = [line] * (1 + choices.pick(3))
        case 3:
            other = choices.pick(len(lines))
            lines[at], lines[other] = lines[other], line
        case 4 | 5 | 6:
            spans = [m.span() for m in _NUMBER.finditer(line)]
            if spans:
                start, end = spans[choices.pick(len(spans))]
                lines[at] = line[:start] + NUMBERS[choices.pick(len(NUMBERS))] + line[end:]
        case 7:
            place = choices.pick(len(line) + 1)
            lines[at] = line[:place] + BITS[choices.pick(len(BITS))] + line[place:]
        case 8:
            other_lines = options[choices.pick(len(options))].split("\n")
            lines.insert(at, other_lines[choices.pick(len(other_lines))])
        case _:
            if at + 1 < len(lines):
                lines[at : at + 2] = [line + lines[at + 1]]
