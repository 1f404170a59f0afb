"""NCCL's own reports of several ranks and hosts together."""

from __future__ import annotations

import pytest

from assistant.derive import n12_nccl_tuning, n12_ras, n31_inspector_expected
from assistant.facts import JOB, CaseFile, Fact, Origin, Subject, Value


def fact(key: str, value: Value, subject: Subject = JOB, host: str | None = None) -> Fact:
    return Fact(key, value, Origin("tool", "report.txt", 1, host), subject)


def derived(case: CaseFile, module: object) -> dict[str, Value]:
    return {f.key: f.value for f in module.derive(case)}  # type: ignore[attr-defined]


def missing(rank: int, host: str) -> Fact:
    return fact("ras.missing_rank", "unresponsive", Subject("rank", str(rank)), host)


def test_one_host_has_all_that_is_missing() -> None:
    case = CaseFile([fact("ras.nodes", 4), *(missing(r, "10.0.0.7") for r in range(8, 16))])
    assert derived(case, n12_ras) == {"ras.suspect_host": "10.0.0.7"}


def test_two_hosts_or_a_rank_without_host_name_no_host() -> None:
    two = CaseFile([fact("ras.nodes", 4), missing(3, "10.0.0.7"), missing(9, "10.0.0.8")])
    assert derived(two, n12_ras) == {}
    single = CaseFile([fact("ras.nodes", 1), missing(3, "10.0.0.7")])
    assert derived(single, n12_ras) == {}


def test_a_lag_of_one_operation_accuses_nobody() -> None:
    behind = fact("ras.behind", "AllReduce 6649, others 6650", Subject("rank", "5"), "10.0.0.7")
    case = CaseFile([fact("ras.nodes", 4), fact("ras.count_gap", 1), behind])
    assert derived(case, n12_ras) == {}
    case.add([fact("ras.count_gap", 12)])
    assert derived(case, n12_ras) == {"ras.suspect_host": "10.0.0.7"}


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ("27a0 AllReduce: 6 ranks below 6650, lowest 6649", "ras.stuck"),
        ("27a0 AllReduce: 6 ranks below 6712, lowest 6711", "ras.moving"),
        ("91ff AllReduce: 6 ranks below 6650, lowest 6649", None),
    ],
)
def test_two_reports(second: str, expected: str | None) -> None:
    first = "27a0 AllReduce: 6 ranks below 6650, lowest 6649"
    found = derived(CaseFile([fact("ras.counts", first), fact("ras.counts", second)]), n12_ras)
    assert list(found) == ([expected] if expected else [])


def test_inspector_beside_what_the_hardware_gives() -> None:
    case = CaseFile(
        [
            fact("inspector.large_op", "AllReduce of 512 MiB on 8 ranks, 1 nodes"),
            fact("inspector.best_gbs", 90.0),
            fact("gpu", "NVIDIA H100 80GB HBM3"),
        ]
    )
    found = derived(case, n31_inspector_expected)
    assert found["inspector.bound"] == "nvlink"
    assert 300 < float(found["inspector.expected_gbs"]) < 500
    assert float(found["inspector.share_of_expected"]) < 0.3
    assert not any(key.startswith("nccl_tests") for key in found)


def test_point_to_point_has_no_expectation() -> None:
    case = CaseFile(
        [fact("inspector.large_op", "AllToAll of 64 MiB on 8 ranks, 1 nodes"), fact("inspector.best_gbs", 90.0)]
    )
    assert derived(case, n31_inspector_expected) == {}


@pytest.mark.parametrize(("nodes", "told"), [(2, []), (8, [8]), (64, [64])])
def test_ring_for_small_messages(nodes: int, told: list[int]) -> None:
    case = CaseFile([fact("tuning.ring_at_small", 4096), fact("nccl.nnodes", nodes)])
    assert list(derived(case, n12_nccl_tuning).values()) == told
