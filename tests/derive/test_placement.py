"""Ranks and containers whose cores lie away from the GPUs."""

from __future__ import annotations

import pytest

from assistant.derive import n40_gpu_host, n42_placement
from assistant.facts import JOB, CaseFile, Fact, Origin, Subject, Value


def case(*facts: tuple[str, Value, Subject]) -> CaseFile:
    made = CaseFile()
    made.facts += [Fact(key, value, Origin("tool", "t.txt", 1), subject) for key, value, subject in facts]
    return made


def gpu(index: int, cpus: str) -> tuple[str, Value, Subject]:
    return "gpu.cpu_affinity", cpus, Subject("gpu", str(index))


def rank(index: int, cpus: str) -> tuple[str, Value, Subject]:
    return "cpu.local_rank_cpus", cpus, Subject("rank", str(index))


def far(made: CaseFile) -> list[Value]:
    return [f.value for f in n42_placement.derive(made) if f.key == "numa.gpu_far"]


def test_ranks_against_their_gpus() -> None:
    assert far(case(gpu(0, "0-15"), gpu(1, "16-31"), rank(0, "0-7"), rank(1, "8-15"))) == ["GPU1"]
    assert far(case(gpu(0, "0-15"), gpu(1, "16-31"), rank(0, "0-7"), rank(1, "16-23"))) == []


@pytest.mark.parametrize(("allowed", "expected"), [("24-39,72-87", ["GPU0, GPU1"]), ("0-15", [])])
def test_container_against_gpus(allowed: str, expected: list[str]) -> None:
    made = case(gpu(0, "0-23,48-71"), gpu(1, "0-23,48-71"), ("cpu.allowed_list", allowed, JOB))
    assert far(made) == expected


def test_cpus_of_each_rank_are_not_shared() -> None:
    made = case(("cpu.affinity_count", 8, JOB), ("gpus_per_node", 8, JOB), rank(0, "0-7"), rank(1, "8-15"))
    assert {f.key: f.value for f in n40_gpu_host.derive(made)}["cpu.per_gpu"] == 8.0


def test_ports_in_use() -> None:
    made = case(("port.tcp_sockets", 28110, JOB), ("port.range_size", 28232, JOB))
    assert {f.key: f.value for f in n40_gpu_host.derive(made)}["port.range_used"] == 1.0
