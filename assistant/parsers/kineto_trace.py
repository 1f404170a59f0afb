"""Traces of PyTorch's profiler (Kineto, *.pt.trace.json), one a rank, in the short form that the intake makes of them.

    {"ncclinic_trace":1,"rank":3,"world":8,"backend":"nccl","nccl":"2.21.5","model":"NVIDIA A100-SXM4-80GB","events":9961,"gpu":true,
     "span":465171.0,"comm":163535.0,"exposed":87921.0,"compute":281336.0,"busy":388587.0,"data":420.0,
     "steps":{"n":6,"us":76833.5,"max":81120.0,"comm":30094.5,"exposed":14536.0,"slow":[],"slow_n":0},
     "idle":{"us":76584.0,"sync":6472.0,"launch":70112.0},"kinds":{"all_reduce":{"n":18,"us":32880.0,"busbw":80.4}}}

Written by torch 1.8 to 2.13: categories "Kernel" and "kernel", times in whole microseconds or with a base, message sizes in the
metadata (2.2 and later) or from the shapes of the annotations; NCCL and RCCL kernels of all names; gloo on the CPU.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from assistant.facts import JOB, Fact, Origin, Subject
from assistant.intake.document import Document

NAME = "PyTorch profiler trace"
TRIGGERS = ('"ncclinic_trace":1',)
VERSIONS = "PyTorch 1.8.1 to 2.9: *.pt.trace.json, packed or not"
SIZE = 64 << 10


def parse(document: Document) -> Iterable[Fact]:
    text = document.text.strip()
    if not text.startswith('{"ncclinic_trace":1') or len(text) > SIZE:
        return []
    try:
        summary = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return list(_facts(document, summary)) if isinstance(summary, dict) else []


def _facts(document: Document, summary: dict[str, Any]) -> Iterator[Fact]:
    rank = summary.get("rank", document.rank)
    rank = rank if isinstance(rank, int) else None
    host = summary.get("host") or document.host
    origin = Origin("tool", document.name, 1, host, rank, _quote(summary))
    subject = JOB if rank is None else Subject("rank", str(rank))
    yield Fact("trace.summary", text_of(summary), origin, subject)
    if "torn" in summary:
        yield Fact("trace.torn", str(summary["torn"]), origin, subject)
    if isinstance(summary.get("world"), int):
        yield Fact("world_size", summary["world"], origin)
    backend = str(summary.get("backend", ""))
    for name in ("nccl", "gloo", "mpi", "ucc"):
        if name in backend and (name == "nccl" or summary.get("gpu")):  # gloo is no choice where no GPU is traced
            yield Fact("backend", name, origin)
            break
    if summary.get("nccl"):
        yield Fact("nccl_version", str(summary["nccl"]), origin, Subject("host", host) if host else JOB)
    if summary.get("model") and rank is not None:
        yield Fact("gpu.name", str(summary["model"]), origin, Subject("gpu", f"of rank {rank}"))
    span = summary.get("span")
    if not isinstance(span, int | float) or span <= 0:
        return
    yield Fact("trace.seconds", round(span / 1e6, 3), origin, subject)
    steps = summary.get("steps") or {}
    if steps.get("n"):
        yield Fact("trace.step_ms", round(steps["us"] / 1e3, 3), origin, subject)
    if summary.get("gpu"):
        yield Fact("trace.idle_share", round(max(0.0, 1 - summary["busy"] / span), 3), origin, subject)


def text_of(summary: dict[str, Any]) -> str:
    return json.dumps(summary, ensure_ascii=False, separators=(",", ":"))


def _quote(summary: dict[str, Any]) -> str:
    """What stands for the file where it is quoted: the trace of a rank in a line."""
    try:
        span = summary["span"] / 1e3
        n = summary["steps"]["n"]
        what = f"{n} steps" if n else "no marked steps"
        parts = [f"{what} in {span:.0f} ms", f"compute {summary['compute'] / 1e3:.0f} ms"]
        parts.append(
            f"collectives {summary['comm'] / 1e3:.0f} ms, {summary['exposed'] / 1e3:.0f} of them not behind compute"
        )
        if summary["data"]:
            parts.append(f"data loader {summary['data'] / 1e3:.0f} ms")
        return "trace: " + ", ".join(parts)
    except (KeyError, TypeError):
        return "trace without events of the training"
