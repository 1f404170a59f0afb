"""Habits of training code in how it exchanges gradients, weights and metrics."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._python_code import CodeLine

_BACKWARD = re.compile(r"\.backward\(")
_OWN_REDUCTION = re.compile(
    r"(?:all_?reduce\w*|grouped_allreduce\w*|all_reduce_coalesced)\([^\n]{0,300}?grad|\b(?:average|sync|reduce|allreduce)_grad\w*\("
)
_PREFETCH = re.compile(r"(?P<off>(?:backward_prefetch\s*=\s*None|forward_prefetch\s*=\s*False))")
_MESH = re.compile(r"init_device_mesh\([^()\n]{0,200}\(\s*(?P<outer>\w+)\s*,\s*(?P<inner>\d+)\s*,?\s*\)")
_HYBRID = re.compile(
    r"HYBRID_SHARD|mesh_dim_names\s*=\s*[\[(][^\])]{0,200}?(?:repl|dp_rep)[^\])]{0,200}?shard", re.IGNORECASE
)
_LOG = re.compile(r"\bself\.log(?:_dict)?\(")
_STEP = re.compile(r"def training_step\(")


def exchange_habits(document: Document, program: list[CodeLine]) -> Iterator[Fact]:
    text = "\n".join(line.text for line in program)
    hybrid = _HYBRID.search(text) is not None
    step_indent: int | None = None
    backward = -100
    for position, line in enumerate(program):
        origin = document.origin(line.index, "config")
        if _STEP.search(line.text):
            step_indent = line.indent
        elif step_indent is not None and line.indent <= step_indent:
            step_indent = None
        if (
            step_indent is not None
            and _LOG.search(line.text)
            and "sync_dist=True" in line.text
            and "on_step=False" not in line.text
        ):
            yield Fact("code.local_metrics_synced", True, origin)
        if _BACKWARD.search(line.text):
            backward = position
        elif position - backward <= 6 and _OWN_REDUCTION.search(line.text):
            yield Fact("code.reduces_after_backward", True, origin)
        off = _PREFETCH.search(line.text)
        if off is not None and "backward" in off["off"]:
            yield Fact("config.prefetch_off", off["off"].replace(" ", ""), origin)
        mesh = _MESH.search(line.text)
        if mesh is not None and hybrid:
            yield Fact("config.shard_group", int(mesh["inner"]), origin)
