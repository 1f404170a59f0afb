"""The short form of a profiler trace gives facts about its rank; anything else that bears the mark gives none."""

from __future__ import annotations

import json

import pytest

from assistant.facts import JOB, Fact, Subject
from assistant.intake.document import Document
from assistant.parsers import parse

SUMMARY = {
    "ncclinic_trace": 1, "rank": 3, "world": 8, "backend": "cpu:gloo,cuda:nccl", "nccl": "2.21.5", "host": "node07",
    "model": "NVIDIA A100-SXM4-80GB", "events": 9961, "gpu": True, "devices": 1, "span": 465171.0, "comm": 163535.0,
    "exposed": 87921.0, "compute": 281336.0, "busy": 388587.0, "data": 420.0, "copies": 54638.0,
    "steps": {"n": 6, "us": 76833.5, "max": 81120.0, "spread": 991.0, "comm": 30094.5, "exposed": 14536.0,
              "compute": 47077.0, "busy": 65823.0, "data": 70.5, "slow": [], "slow_n": 0},
    "idle": {"us": 76584.0, "sync": 6472.0, "launch": 70112.0}, "kinds": {"all_reduce": {"n": 18, "us": 32880.0}},
    "sync": {"n": 61, "us": 210.0}, "item": {"n": 30, "us": 36976.0}, "loads": 6, "copied": {}, "kernels": {},
}  # fmt: skip


def facts(text: str, name: str = "trace.json") -> dict[str, Fact]:
    found, kinds = parse(Document(name, text))
    assert kinds in ([], ["PyTorch profiler trace"])
    return {f.key: f for f in found}


def text(**changes: object) -> str:
    return json.dumps({**SUMMARY, **changes}, separators=(",", ":"))


def test_facts_of_a_rank() -> None:
    found = facts(text())
    rank = Subject("rank", "3")
    assert json.loads(str(found["trace.summary"].value)) == SUMMARY
    assert found["trace.summary"].subject == found["trace.step_ms"].subject == rank
    assert (found["world_size"].value, found["world_size"].subject) == (8, JOB)
    assert (found["backend"].value, found["nccl_version"].value) == ("nccl", "2.21.5")
    assert found["nccl_version"].subject == Subject("host", "node07")
    assert found["gpu.name"].value == "NVIDIA A100-SXM4-80GB"
    assert found["trace.step_ms"].value == 76.834
    assert found["trace.seconds"].value == 0.465
    assert found["trace.idle_share"].value == pytest.approx(1 - 388587 / 465171, abs=1e-3)
    origin = found["trace.summary"].origin
    assert (origin.kind, origin.rank, origin.host, origin.line) == ("tool", 3, "node07", 1)
    assert (
        origin.quote
        == "trace: 6 steps in 465 ms, compute 281 ms, collectives 164 ms, 88 of them not behind compute, data loader 0 ms"
    )


def test_the_rank_of_the_file_name_where_the_trace_names_none() -> None:
    short = {k: v for k, v in SUMMARY.items() if k not in ("rank", "world", "host")}
    found = facts(json.dumps(short, separators=(",", ":")), "rank-5.Jul_15.pt.trace.json")
    assert found["trace.summary"].subject == Subject("rank", "5")
    assert facts(json.dumps(short, separators=(",", ":")))["trace.summary"].subject == JOB


def test_a_torn_trace_without_events() -> None:
    found = facts('{"ncclinic_trace":1,"torn":"cut off before its end","events":0,"gpu":false,"devices":0}')
    assert found["trace.torn"].value == "cut off before its end"
    assert set(found) == {"trace.summary", "trace.torn"}


@pytest.mark.parametrize(
    "broken",
    [
        '{"ncclinic_trace":1',
        '{"ncclinic_trace":1,"span":[]}',
        'x {"ncclinic_trace":1}',
        '{"ncclinic_trace":1,' + "[" * 2000,
    ],
)
def test_garbage(broken: str) -> None:
    assert not {k for k in facts(broken) if k != "trace.summary"}
