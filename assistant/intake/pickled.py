"""Pickles of plain data (flight recorder dumps) as JSON, which is how every parser reads them."""

from __future__ import annotations

import json
from typing import Any

from assistant.facts import Input
from assistant.intake.document import Document
from assistant.intake.redact import redact
from assistant.intake.safe_pickle import SIZE, PickleError, load
from assistant.safe_text import safe_line


def is_pickle(head: bytes) -> bool:
    return head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")


def read_pickle(record: Input, stream: Any) -> Document | None:
    """The document of a pickle; None, with a note, where it holds more than plain data or can't be read."""
    parts: list[bytes] = []
    while record.bytes <= SIZE and (block := stream.read(1 << 20)):
        parts.append(block)
        record.bytes += len(block)
    record.kind = "binary"
    try:
        loaded = load(b"".join(parts))
        text = json.dumps(loaded.value, default=str, skipkeys=True)
    except (PickleError, TypeError, ValueError, RecursionError) as error:
        record.notes.append(f"a Python pickle: left out. Nothing in a pickle is run, and this one can't be read as plain data ({safe_line(error)[:100]})")
        return None
    if not isinstance(loaded.value, dict | list):
        record.notes.append("a Python pickle: left out. It holds no records.")
        return None
    record.kind, record.lines = "text", 1
    if loaded.truncated:
        record.notes.append("a Python pickle that is cut off; what stands before that is used")
    return Document(record.path, redact(text), origin_kind="tool")
