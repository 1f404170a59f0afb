"""What follows from NCCL's facts together, and the data behind it."""

from __future__ import annotations

import re

import pytest

from assistant.derive import n10_nccl, n20_nccl_versions, n30_expected
from assistant.facts import JOB, CaseFile, Fact, Origin, OriginKind, Subject, Value
from knowledge.hardware_tables import find_gpu, find_host, gpus, hosts, measurements, nvlink_busbw, rdma_gbs, tcp_gbs
from knowledge.settings_table import settings


def fact(key: str, value: Value, host: str | None = None, kind: OriginKind = "log") -> Fact:
    return Fact(key, value, Origin(kind, "a.log", 1, host), Subject("host", host) if host else JOB)


def values(facts: object, key: str) -> list[Value]:
    return [f.value for f in facts if f.key == key]  # type: ignore[attr-defined]


def test_rdma_stated_and_sockets_used() -> None:
    case = CaseFile(
        [
            fact("nccl.net", "Socket", "n1"),
            fact("network", "infiniband-hdr-200", kind="stated"),
            fact("nodes", 2, kind="stated"),
        ]
    )
    assert values(n10_nccl.derive(case), "nccl.rdma_unused") == ["stated"]


@pytest.mark.parametrize(("network", "nodes"), [("25 GbE", 2), ("no InfiniBand, 10 GbE", 2), ("infiniband", 1)])
def test_sockets_are_right_without_rdma_or_on_one_node(network: str, nodes: int) -> None:
    case = CaseFile(
        [fact("nccl.net", "Socket", "n1"), fact("network", network, kind="stated"), fact("nodes", nodes, kind="stated")]
    )
    assert values(n10_nccl.derive(case), "nccl.rdma_unused") == []


def test_instance_type_tells_that_rdma_is_there() -> None:
    case = CaseFile(
        [fact("nccl.net", "Socket", "n1"), fact("nodes", 2, kind="stated")], says=["Two p5.48xlarge are slow."]
    )
    assert values(n10_nccl.derive(case), "nccl.rdma_unused") == ["instance"]


def test_versions_differ_between_hosts_only() -> None:
    two = CaseFile([fact("nccl_version", "2.14.3", "n1"), fact("nccl_version", "2.19.3", "n2")])
    assert values(n10_nccl.derive(two), "versions.differ") == ["NCCL"]
    runs = CaseFile([fact("nccl_version", "2.14.3", "n1"), fact("nccl_version", "2.19.3", "n1")])
    assert values(n10_nccl.derive(runs), "versions.differ") == []


@pytest.mark.parametrize(
    ("name", "value", "key"),
    [
        ("NCCL_P2P_DISABLE", "1", "nccl.env_harmful"), ("NCCL_ALGO", "Tree", "nccl.env_harmful"), ("NCCL_PROTO", "LL", "nccl.env_harmful"),
        ("NCCL_MAX_NCHANNELS", "2", "nccl.env_harmful"), ("NCCL_IB_TIMEOUT", "14", "nccl.env_harmful"),
        ("NCCL_P2P_LEVEL", "NVLINK", "nccl.env_invalid"), ("NCCL_IB_DISABLE", "yes", "nccl.env_invalid"),
    ],
)  # fmt: skip
def test_harmful_and_invalid_settings(name: str, value: str, key: str) -> None:
    case = CaseFile([fact(f"env.{name}", value, "n1")])
    assert values(n10_nccl.derive(case), key) == [f"{name}={value}"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NCCL_P2P_DISABLE", "0"),
        ("NCCL_DEBUG", "INFO"),
        ("NCCL_IB_TIMEOUT", "22"),
        ("NCCL_ALGO", "^NVLS"),
        ("NCCL_SOCKET_IFNAME", "^lo,docker"),
        ("NCCL_IB_HCA", "=mlx5_0:1,mlx5_1:1"),
    ],
)
def test_ordinary_settings_are_neither(name: str, value: str) -> None:
    case = CaseFile([fact(f"env.{name}", value, "n1")])
    assert [f.key for f in n10_nccl.derive(case)] == []


def test_setting_that_differs_between_hosts() -> None:
    case = CaseFile([fact("env.NCCL_PROTO", "Simple", "n1"), fact("env.NCCL_PROTO", "LL", "n2")])
    assert values(n10_nccl.derive(case), "nccl.env_differs") == ["NCCL_PROTO"]


def test_removed_setting() -> None:
    case = CaseFile([fact("env.NCCL_IB_CUDA_SUPPORT", "1", "n1"), fact("nccl_version", "2.18.5", "n1")])
    assert values(n10_nccl.derive(case), "nccl.env_obsolete") == ["NCCL_IB_CUDA_SUPPORT"]


@pytest.mark.parametrize(
    ("version", "known"), [("2.13.4", True), ("2.14.3", True), ("2.12.12", False), ("2.17.1", False)]
)
def test_regression_needs_its_version(version: str, known: bool) -> None:
    case = CaseFile(
        [fact("nccl_version", version), fact("symptom", "hang", kind="say")],
        says=["It hangs with CUDA_LAUNCH_BLOCKING=1."],
    )
    assert bool(values(n20_nccl_versions.derive(case), "nccl.regression")) is known


def test_regression_by_the_version_of_pytorch() -> None:
    case = CaseFile(
        [fact("torch", "2.3", kind="stated"), fact("symptom", "hang", kind="say")], says=["It hangs with CUDA graphs."]
    )
    assert "2.22.3" in str(values(n20_nccl_versions.derive(case), "nccl.regression")[0])


def _table(peak: float, nodes: int, local: int, gpu: str) -> list[Fact]:
    return [
        fact("nccl_tests.busbw_peak_gbs", peak, kind="tool"), fact("nccl_tests.nodes", nodes, kind="tool"), fact("gpu", gpu, kind="tool"),
        fact("nccl_tests.ranks", nodes * local, kind="tool"), fact("nccl_tests.gpus_per_node", local, kind="tool"),
        fact("nccl_tests.op", "all_reduce", kind="tool"), fact("nccl_tests.size_max", 8 << 30, kind="tool"),
    ]  # fmt: skip


def test_healthy_h100_host() -> None:
    facts = list(n30_expected.derive(CaseFile(_table(478.0, 1, 8, "NVIDIA H100 80GB HBM3"))))
    assert values(facts, "nccl_tests.bound") == ["nvlink"]
    assert 0.95 < float(values(facts, "nccl_tests.share_of_expected")[0]) < 1.1


def test_two_hosts_at_a_fraction_of_their_adapters() -> None:
    case = CaseFile([*_table(44.0, 2, 8, "NVIDIA H100 80GB HBM3"), fact("network", "8x400G InfiniBand", kind="stated")])
    facts = list(n30_expected.derive(case))
    assert values(facts, "expected.nic_gbs") == [400.0]
    assert float(values(facts, "nccl_tests.share_of_expected")[0]) < 0.2


def test_pcie_host_without_nvlink() -> None:
    facts = list(n30_expected.derive(CaseFile(_table(18.0, 1, 4, "NVIDIA GeForce RTX 4090"))))
    assert values(facts, "nccl_tests.bound") == ["pcie"]
    assert float(values(facts, "nccl_tests.share_of_expected")[0]) > 0.8


def test_adapters_in_use_against_adapters_there() -> None:
    case = CaseFile([fact("nccl.hca_count", 2, "n1"), fact("ib.devices", 8, "n1", "tool")])
    assert values(n30_expected.derive(case), "nccl.nic_share") == [0.25]


def test_hardware_tables() -> None:
    assert len(gpus()) > 30 and len(hosts()) > 40 and len(measurements()) > 60
    h100 = find_gpu("NVIDIA H100 80GB HBM3")
    assert h100 is not None and h100.nvlink_gbs == 450
    assert nvlink_busbw(h100, 8) == (460, 485)
    assert find_gpu("A100-PCIE-80GB") is not find_gpu("A100-SXM4-80GB")
    assert find_gpu("Some CPU") is None
    p4d = find_host("4 p4d nodes in one placement group")
    assert p4d is not None and p4d.nic_count == 4
    assert find_host("two servers") is None
    assert tcp_gbs(10) == (1.0, 1.18)
    assert rdma_gbs(400)[1] == pytest.approx(49.0)


def test_settings_are_sound() -> None:
    found = settings()
    assert len(found) > 200
    for setting in found.values():
        assert setting.does and setting.source.startswith("https://")
        for flag in setting.flags:
            re.compile(flag.value)
            assert flag.effect in ("slow", "hang", "crash", "corrupt") and flag.scope in (
                "any",
                "single-node",
                "multi-node",
            )
    assert found["NCCL_IB_DISABLE"].flag("1") is not None
    assert found["NCCL_IB_DISABLE"].flag("0") is None
    assert found["NCCL_ALGO"].is_valid("Ring,Tree") and found["NCCL_ALGO"].is_valid("allreduce:tree;broadcast:ring")
    assert not found["NCCL_ALGO"].is_valid("Rings2")
