"""Flight recorder dumps of PyTorch, pickled or JSON, as one JSON text each.

    text = dump_to_json(data, "nccl_trace_rank_3")     # None: not such a dump

What a torn dump still holds is kept, and `"_intake": {"torn": "..."}` says what is wrong with it. Of each call stack the
innermost frames of the program are kept, since a dump repeats them thousands of times.
"""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import Any

from assistant.intake.safe_pickle import PickleError, PickleTooLarge, load

SIZE = 64 << 20
#: Values and characters of the JSON text: a small pickle can name one list a million times.
NODES = 12_000_000
TEXT = 64 << 20
DEPTH = 40
FRAMES = 6
ENTRIES = 200_000
FIELDS = 256

MARKS = (b"profiling_name", b"pg_config", b"collective_seq_id")
_LIBRARY = re.compile(r"[/\\](?:site|dist)-packages[/\\]|[/\\]torch[/\\]|[/\\]lib[/\\]python3|^<")


def dump_to_json(data: bytes, name: str) -> str | None:
    """The dump as JSON text; None where this is no flight recorder dump. `name` is that of the file, for messages."""
    if len(data) > SIZE or not any(mark in data for mark in MARKS):
        return None
    first = data[:64].lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if first in (b"{", b"["):
        dump, torn = read_text(data.decode("utf-8-sig", "replace")), ""
    elif data[:1] == b"\x80" and data[1:2] <= b"\x05":
        dump, torn = _read_pickle(data)
    else:
        return None
    if dump is None:
        return None
    if torn:
        dump["_intake"] = {"torn": torn, "file": name}
    try:
        plain = dump if first in (b"{", b"[") else _Plain().of(dump, 0)
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    except (PickleTooLarge, ValueError, RecursionError) as error:
        return json.dumps(
            {"version": "", "pg_config": {}, "entries": [], "_intake": {"torn": str(error), "file": name}}
        )


def _read_pickle(data: bytes) -> tuple[dict[str, Any] | None, str]:
    try:
        loaded = load(data)
    except PickleError as error:
        return {"version": "", "pg_config": {}, "entries": []}, str(error)
    return as_dump(loaded.value), "cut off before its end" if loaded.truncated else ""


def read_text(text: str) -> dict[str, Any] | None:
    """The dump that a JSON text holds; what a torn one still holds is marked as torn."""
    try:
        return as_dump(json.loads(text))
    except (ValueError, RecursionError):
        dump = _torn_json(text)
    if dump is not None:
        dump["_intake"] = {"torn": "cut off before its end or damaged"}
    return dump


def as_dump(value: Any) -> dict[str, Any] | None:
    """The dump, where this value is one. Torch 2.2 wrote the list of entries only."""
    if isinstance(value, list):
        if not value or not all(isinstance(e, dict) for e in value[:3]) or "profiling_name" not in value[0]:
            return None
        value = {"version": "1", "entries": value}
    if not isinstance(value, dict):
        return None
    entries = value.get("entries")
    if not isinstance(entries, list) or (entries and not _is_entry(entries[0])):
        entries = []
        if "pg_config" not in value:
            return None
    dump = dict(value)
    dump["entries"] = [_trimmed(e) for e in entries[-ENTRIES:] if isinstance(e, dict)]
    return dump


def _is_entry(value: Any) -> bool:
    return isinstance(value, dict) and any(
        k in value for k in ("profiling_name", "collective_seq_id", "seq_id", "record_id", "frames")
    )


def _trimmed(entry: dict[Any, Any]) -> dict[Any, Any]:
    frames = entry.get("frames")
    if not isinstance(frames, list) or len(frames) <= FRAMES:
        return entry
    own = [f for f in frames[:200] if isinstance(f, dict) and not _LIBRARY.search(str(f.get("filename", "")))]
    return {**entry, "frames": (own or frames)[:FRAMES]}


_ENTRIES = re.compile(r'"entries"\s*:\s*\[')
_FIELD = re.compile(r'"(version|pg_config|pg_status|nccl_version|comm_lib_version|rank)"\s*:\s*')


def _torn_json(text: str) -> dict[str, Any] | None:
    """The whole entries and fields that a damaged JSON text still holds."""
    decoder = json.JSONDecoder()
    dump: dict[str, Any] = {"version": "", "pg_config": {}, "entries": []}
    for found in islice(_FIELD.finditer(text), FIELDS):
        try:
            dump[found[1]] = decoder.raw_decode(text, found.end())[0]
        except (ValueError, RecursionError):
            continue
    start = _ENTRIES.search(text)
    at = start.end() if start else len(text)
    while at < len(text):
        try:
            entry, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        if not isinstance(entry, dict):
            break
        dump["entries"].append(_trimmed(entry))
        while at < len(text) and text[at] in ", \t\r\n":
            at += 1
    return dump if dump["entries"] or dump["pg_config"] else None


class _Plain:
    """A copy that JSON can hold, with bounds: values that are named several times are written out each time."""

    def __init__(self) -> None:
        self.nodes = 0
        self.text = 0

    def of(self, value: Any, depth: int) -> Any:
        self.nodes += 1
        if isinstance(value, str):
            self.text += len(value)
            self._check(depth)
            return value
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, bytes):
            return self.of(value.decode("latin-1"), depth)
        self._check(depth)
        if isinstance(value, dict):
            return {str(k): self.of(v, depth + 1) for k, v in value.items()}
        return [self.of(v, depth + 1) for v in value]

    def _check(self, depth: int) -> None:
        if depth > DEPTH:
            raise PickleTooLarge(f"nested deeper than {DEPTH}")
        if self.nodes > NODES or self.text > TEXT:
            raise PickleTooLarge("it unfolds to more than this tool reads")
