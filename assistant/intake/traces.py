"""Traces of PyTorch's profiler (*.pt.trace.json) as one small JSON document each, which is how the parser reads them.

{"ncclinic_trace": 1, "rank": 3, "world": 8, "backend": "nccl", "span": 1204000.5, "steps": {"n": 5, "us": 240100.2}, ...}
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from assistant.facts import Input
from assistant.intake.document import Document
from assistant.intake.packed import TooMuch, damage
from assistant.intake.redact import redact
from assistant.intake.trace_events import Reader, is_trace
from assistant.intake.trace_summary import Summary

__all__ = ["MARK", "is_trace", "read_trace"]

MARK = "ncclinic_trace"
BLOCK = 1 << 20
_INFO = re.compile(r'"distributedInfo"\s*:\s*')
_GPU = re.compile(r'"id"\s*:\s*(\d+)\s*,\s*"name"\s*:\s*"([^"]{1,80})"')
_TEXT = re.compile(r'"(host_name|hostname)"\s*:\s*"([^"]{1,120})"')
_NUMBER = re.compile(r'"(cuda_runtime_version|cuda_driver_version|with_stack|profile_memory)"\s*:\s*(\d+)')


def read_trace(record: Input, stream: Any) -> Document:
    """Reads a trace to its end. What stands before damage, or before a bound that was reached, is good."""
    blocks = _Blocks(record, stream)
    reader = Reader(iter(blocks))
    summary = Summary()
    info: dict[str, Any] = {}
    for events in reader.events():
        if not summary.events:
            info = _info(reader.head)
            summary.world = info.get("world", 0)
        summary.take(events)
    info = info or _info(reader.tail)
    found: dict[str, Any] = {MARK: 1, **info, **_machine(reader.head + reader.tail[:200_000], summary)}
    if reader.torn or blocks.damage:
        found["torn"] = blocks.damage or "cut off before its end"
        record.notes.append(f"a profiler trace, not read to its end: {found['torn']}; what stands before that is used")
    found |= summary.short()
    record.lines = 1
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    return Document(record.path, redact(text), origin_kind="tool")


class _Blocks:
    """The bytes of a stream in blocks of about one size, up to its end or to damage in it."""

    def __init__(self, record: Input, stream: Any) -> None:
        self.record = record
        self.stream = stream
        self.damage = ""

    def __iter__(self) -> Iterator[bytes]:
        parts: list[bytes] = []
        size = 0
        while True:
            try:
                block = self.stream.read(BLOCK)
            except TooMuch as limit:
                self.damage, block = str(limit), b""
            except Exception as error:  # damaged data: what came before it is good
                self.damage, block = damage(error), b""
            self.record.bytes += len(block)
            parts.append(block)
            size += len(block)
            if size and (size >= BLOCK or not block):
                yield b"".join(parts)
                parts, size = [], 0
            if not block:
                return


def _info(text: str) -> dict[str, Any]:
    """What the trace says about the job: {"rank": 0, "world_size": 4, "backend": "gloo", ...}."""
    at = _INFO.search(text)
    if at is None:
        return {}
    try:
        value = json.JSONDecoder().raw_decode(text, at.end())[0]
    except (ValueError, RecursionError):
        return {}
    if not isinstance(value, dict):
        return {}
    found: dict[str, Any] = {}
    for key, name in (("rank", "rank"), ("world_size", "world")):
        if isinstance(value.get(key), int) and 0 <= value[key] < 1 << 24:
            found[name] = value[key]
    for key, name in (("backend", "backend"), ("nccl_version", "nccl")):
        if isinstance(value.get(key), str):
            found[name] = value[key][:40]
    return found


def _machine(text: str, summary: Summary) -> dict[str, Any]:
    """Host, GPU model and versions."""
    found: dict[str, Any] = {}
    host = _TEXT.search(text)
    if host:
        found["host"] = host[2]
    models = dict(_GPU.findall(text[:400_000]))
    main = max(summary.devices, key=lambda pid: summary.devices[pid].time, default=None)
    if main is not None and models:
        found["model"] = models.get(main.strip('"'), next(iter(models.values())))
    for key, value in _NUMBER.findall(text):
        found[key] = int(value)
    return found
