"""Blocks -> plain text for a terminal or a pipe. Nothing from an attachment can steer the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from assistant.diagnosis.diagnose import Diagnosis
from assistant.report.words import Block, whole
from assistant.safe_text import safe

BOLD, DIM, RESET = "\x1b[1m", "\x1b[2m", "\x1b[0m"


def to_text(diagnosis: Diagnosis, width: int = 100, *, colour: bool = False) -> str:
    """The whole diagnosis as lines of at most `width` columns; quoted lines and commands are not wrapped."""
    return blocks_to_text(whole(diagnosis), width, colour=colour)


def blocks_to_text(blocks: Iterable[Block], width: int = 100, *, colour: bool = False) -> str:
    out: list[str] = []
    step = 0
    for block in blocks:
        text = safe(block.text)
        step = step + 1 if block.kind == "step" else 0
        if block.kind in ("title", "heading"):
            lines = textwrap.wrap(text, width) or [""]
            out += ["", *(f"{BOLD}{line}{RESET}" if colour else line for line in lines)]
            if block.kind == "title":
                out.append("=" * min(width, max(map(len, lines))))
        elif block.kind in ("item", "note"):
            mark = "- " if block.kind == "item" else "! "
            out += textwrap.wrap(" ".join(text.split()), width, initial_indent=mark, subsequent_indent="  ")
        elif block.kind == "step":
            mark = f"{step}. "
            out += textwrap.wrap(" ".join(text.split()), width, initial_indent=mark, subsequent_indent="   ")
        elif block.kind == "quote":
            line = "    > " + " ".join(text.split())
            out.append(f"{DIM}{line}{RESET}" if colour else line)
        elif block.kind == "code":
            out += [
                f"    $ {line}" if number == 0 else f"      {line}" for number, line in enumerate(text.splitlines())
            ]
        else:
            out += textwrap.wrap(" ".join(text.split()), width)
    return "\n".join(out).strip("\n") + "\n"
