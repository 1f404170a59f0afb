"""Blocks -> Markdown, for tickets and chat channels. Text from attachments is fenced or escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable

from assistant.diagnosis.diagnose import Diagnosis
from assistant.report.words import Block, whole
from assistant.safe_text import safe

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~@!])")


def to_markdown(diagnosis: Diagnosis) -> str:
    return blocks_to_markdown(whole(diagnosis))


def escape(text: str) -> str:
    """Text that shows as it is: no emphasis, link, mention, image or HTML comes of it."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _fenced(text: str, language: str = "") -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"


def blocks_to_markdown(blocks: Iterable[Block]) -> str:
    out: list[str] = []
    for block in blocks:
        text = safe(block.text)
        if block.kind == "title":
            out.append(f"# {escape(text)}")
        elif block.kind == "heading":
            out.append(f"## {escape(text)}")
        elif block.kind == "item":
            out.append(f"- {escape(text)}")
        elif block.kind == "step":
            out.append(f"1. {escape(text)}")
        elif block.kind == "note":
            out.append(f"> **Note:** {escape(text)}")
        elif block.kind == "quote":
            out.append(_fenced(text))
        elif block.kind == "code":
            out.append(_fenced(text, "sh"))
        else:
            out.append(escape(text))
    return "\n\n".join(out) + "\n"
