"""TF_CONFIG: the members of a TensorFlow cluster and which of them this one is.

{"cluster": {"worker": ["10.0.0.1:12345", "10.0.0.2:12345"]}, "task": {"type": "worker", "index": 0}}
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from itertools import islice
from typing import Any

from assistant.facts import Fact
from assistant.intake.document import Document

NAME = "TF_CONFIG"
TRIGGERS = ('"cluster"', "'cluster'")
VERSIONS = "TensorFlow 1.4 to 2.20: TF_CONFIG as JSON or Python dictionary, chief or worker"

_LONGEST = 20_000
_MOST = 64


def parse(document: Document) -> Iterable[Fact]:
    text = document.text
    for opened in islice(re.finditer(r"\{\s{0,80}[\"']cluster[\"']\s*:", text), _MOST):
        data = _read(text[opened.start() : opened.start() + _LONGEST])
        if data is None:
            continue
        origin = document.origin(text.count("\n", 0, opened.start()), "config")
        cluster = data.get("cluster")
        members = [
            m for kind in ("chief", "worker") for m in _list(cluster.get(kind) if isinstance(cluster, dict) else None)
        ]
        if not members:
            continue
        yield Fact("launch.nnodes", len(members), origin)
        yield Fact("launch.rdzv_endpoint", members[0], origin)
        if len(set(members)) < len(members):
            yield Fact("launch.member_twice", next(m for m in members if members.count(m) > 1), origin)
        task = data.get("task")
        if isinstance(task, dict) and str(task.get("index", "")).isdecimal():
            yield Fact("launch.node_rank", str(task["index"]), origin)


def _list(value: Any) -> list[str]:
    return [str(v) for v in value] if isinstance(value, list) else []


def _read(text: str) -> dict[str, Any] | None:
    """The object at the beginning of the text; Python's quotes are taken for JSON's."""
    depth = 0
    for position, char in enumerate(text):
        depth += (char == "{") - (char == "}")
        if depth == 0:
            try:
                data = json.loads(text[: position + 1].replace("'", '"'))
            except (ValueError, RecursionError):
                return None
            return data if isinstance(data, dict) else None
    return None
