"""Flight recorder dumps, pickled or JSON, as one JSON document each, which is how the parser reads them."""

from __future__ import annotations

from typing import Any

from assistant.facts import Input
from assistant.intake.document import Document
from assistant.intake.flight_dump import MARKS, SIZE, dump_to_json
from assistant.intake.redact import redact


def is_dump(head: bytes) -> bool:
    """Whether the first bytes can be those of a dump: any pickle, or JSON that has a dump's keys."""
    if head[:1] == b"\x80":
        return head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")
    return head.lstrip()[:1] in (b"{", b"[") and any(mark in head for mark in MARKS)


def read_dump(record: Input, stream: Any) -> Document | None:
    """The document of a dump; None, with a note, where it is another pickle or too large."""
    parts: list[bytes] = []
    while record.bytes <= SIZE and (block := stream.read(1 << 20)):
        parts.append(block)
        record.bytes += len(block)
    text = dump_to_json(b"".join(parts), record.path)
    if text is None:
        what = f"larger than {SIZE >> 20} MiB" if record.bytes > SIZE else "not a flight recorder dump"
        record.kind = "binary"
        record.notes.append(f"a Python pickle or dump that is {what}: left out. Nothing in a pickle is run.")
        return None
    record.lines = 1
    if '"_intake":{' in text:
        record.notes.append("a flight recorder dump that is cut off or damaged; what stands before that is used")
    return Document(record.path, redact(text), origin_kind="tool")
