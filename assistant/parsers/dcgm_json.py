r"""`dcgmi diag -j`: tests of NVIDIA's data-centre manager as JSON, of version 2, 3 (by category) and 4 (by entity).

{"DCGM GPU Diagnostic": {"test_categories": [{"category": "Hardware", "tests": [{"name": "GPU Memory", "results": [
  {"gpu_ids": "3", "status": "Fail", "warnings": ["GPU 3 had uncorrectable memory errors"]}]}]}], "version": "3.2.3"}}
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._device import gpu_subject, host_subject, hosts_by_line

NAME = "dcgmi diag (JSON)"
TRIGGERS = ('"DCGM GPU Diagnostic"', '"DCGM Diagnostic"', '"test_categories"')
VERSIONS = "DCGM 2.0 to 4.4: dcgmi diag -j, results by gpu_ids or gpu_id and by entity"

_TESTS = 200


def parse(document: Document) -> Iterable[Fact]:
    text = document.text
    for mark in TRIGGERS:
        at = text.find(mark)
        if at >= 0:
            break
    start = text.rfind("{", 0, at)
    if at < 0 or start < 0:
        return
    try:
        data, _ = json.JSONDecoder().raw_decode(text[start:])
    except (ValueError, RecursionError):
        return
    index = text.count("\n", 0, start)
    hosts = hosts_by_line(document)
    host = hosts[min(index, len(hosts) - 1)]
    seen: set[tuple[str, str]] = set()
    for name, gpus, status in list(_results(data))[:_TESTS]:
        for gpu in gpus or [""]:
            if status == "fail" and (name, gpu) not in seen:
                seen.add((name, gpu))
                line = next((i for i in range(index, len(document.lines)) if name in document.lines[i]), index)
                subject = gpu_subject(host, gpu) if gpu.isdecimal() else host_subject(host)
                yield Fact("gpu.dcgm_failed", name, document.origin(line, "tool"), subject)


def _results(node: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, list[str], str]]:
    """(test, GPUs, status) wherever a test stands; the shape of the document differs from version to version."""
    if depth > 12:
        return
    if isinstance(node, list):
        for item in node:
            yield from _results(item, name, depth + 1)
    elif isinstance(node, dict):
        name = str(node.get("name") or node.get("test_name") or name)
        status = node.get("status")
        if isinstance(status, str) and name:
            yield name, _gpus(node), status.strip().lower()
        for key, value in node.items():
            if isinstance(value, list | dict) and key not in ("warnings", "info"):
                yield from _results(value, name, depth + 1)


def _gpus(node: dict[str, Any]) -> list[str]:
    ids = node.get("gpu_ids", node.get("gpu_id", node.get("entity_id")))
    if isinstance(ids, list):
        return [str(i) for i in ids]
    return [part.strip() for part in str(ids).split(",")] if ids is not None else []
