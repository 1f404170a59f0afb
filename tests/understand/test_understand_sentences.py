"""Sentences as people write them, and the facts that stand in them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.facts import Value
from assistant.understand import read_sentence


def facts(text: str) -> dict[str, Value]:
    return {f.key: f.value for f in read_sentence(text)}


@pytest.mark.parametrize(
    ("text", "nodes", "per_node", "family"),
    [
        ("2 nodes of 8 A100, HDR InfiniBand", 2, 8, "A100"),
        ("two dgx h100", 2, 8, "H100"),
        ("4x8 a100 80gb", 4, 8, "A100"),
        ("Two p5.48xlarge", 2, 8, "H100"),
        ("on two ND H100 v5 VMs", 2, 8, "H100"),
        ("64 GPUs over 8 nodes", 8, 8, None),
        ("16 H100 across 2 nodes", 2, 8, "H100"),
        ("Four 8-GPU cloud machines.", 4, 8, None),
        ("4 hosts, each 2x RTX 3090", 4, 2, "RTX 3090"),
        ("two machines with four 1080 Ti each", 2, 4, "GTX 1080 Ti"),
        ("Two RTX PRO 6000 in one AMD box", 1, 2, "RTX PRO 6000"),
        ("Machine with three GTX 1080", None, 3, "GTX 1080"),
        ("Two single-GPU instances", 2, 1, None),
        ("An epoch takes 10 seconds on one server with four GPUs and 60 on two.", 2, 4, None),
        ("on one 8xA100 node", 1, 8, "A100"),
        ("Going from one to two nodes (8 A100 each)", 2, 8, "A100"),
        ("Llama-3-70B on 2x8 MI300X", 2, 8, "MI300X"),
    ],
)
def test_machines(text: str, nodes: int | None, per_node: int | None, family: str | None) -> None:
    found = facts(text)
    assert (found.get("nodes"), found.get("gpus_per_node"), found.get("gpu_family")) == (nodes, per_node, family)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("25gbe", {"network_kind": "ethernet", "network_gbps": 25.0, "network_rdma": False}),
        ("HDR InfiniBand", {"network_kind": "infiniband", "network_gbps": 200.0, "network_rdma": True}),
        ("NDR200 InfiniBand", {"network_kind": "infiniband", "network_gbps": 200.0}),
        ("actually it's RoCE", {"network_kind": "roce", "network_rdma": True}),
        ("8x400G RoCE", {"network_kind": "roce", "network_gbps": 400.0, "network_nics": 8}),
        ("two 10 Gbit ports", {"network_gbps": 10.0, "network_nics": 2}),
        (
            "we have no InfiniBand, only 10 GbE",
            {"network_kind": "ethernet", "network_gbps": 10.0, "network_rdma": False},
        ),
        ("The network is 1GB/s.", {"network_gbps": 1.0, "network_unit_doubt": "1 GB/s"}),
        (
            "On the wire I only see 20 MB/s although it is a 10 Gbit card",
            {"net.observed_gbps": 0.16, "network_gbps": 10.0},
        ),
        ("I see 600 to 800 MB/s on the wire", {"net.observed_gbps": 5.6}),
        ("iperf3 shows 9.4 Gbit/s between them", {"net.iperf_gbps": 9.4}),
        ("all_reduce_perf busbw is 3.2 GB/s", {"nccl_tests.busbw_peak_gbs": 3.2}),
        ("ping is 0.2 ms", {"net.rtt_ms": 0.2}),
    ],
)
def test_network(text: str, expected: dict[str, Any]) -> None:
    found = facts(text)
    assert {k: found.get(k) for k in expected} == expected


def test_a_setting_is_not_a_network() -> None:
    assert "network_kind" not in facts("I set NCCL_IB_DISABLE=1 and ran ib_write_bw")


def test_the_network_of_a_machine_type_is_inferred_not_said() -> None:
    kinds = {f.key: f.origin.kind for f in read_sentence("two p4d.24xlarge")}
    assert kinds["network_kind"] == "derived"
    assert kinds["gpu_family"] == "say"
    assert facts("two p4d.24xlarge")["network_kind"] == "efa"
    assert facts("a3-mega VMs, one slow")["network_rdma"] is False


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("Megatron-DeepSpeed run", "framework", "deepspeed"),
        ("TensorFlow with Horovod", "framework", "horovod"),
        ("DDP with PyTorch 1.2", "torch_version", "1.2"),
        ("NGC PyTorch 25.08 container", "torch_version", None),
        ("NCCL 2.20.5, driver 550.54.15 and CUDA 12.4", "nccl_version", "2.20.5"),
        ("NCCL 2.20.5, driver 550.54.15 and CUDA 12.4", "driver_version", "550.54.15"),
        ("NCCL 2.20.5, driver 550.54.15 and CUDA 12.4", "cuda_version", "12.4"),
        ("FSDP with HYBRID_SHARD", "precision", None),
        ("DeepSpeed ZeRO-3 with bf16", "sharding", "zero3"),
        ("DeepSpeed ZeRO-3 with bf16", "precision", "bf16"),
        ("not using docker", "container", "no"),
        ("inside Docker", "container", "docker"),
        ("a 176B model", "model_params", 176e9),
        ("1.3B parameters", "model_params", 1.3e9),
        ("Batch size 2 per GPU, gradient accumulation 4", "batch_per_gpu", 2),
        ("Batch size 2 per GPU, gradient accumulation 4", "accumulation", 4),
        ("a global batch of 16", "batch_global", 16),
        ("a global batch of 16", "batch_per_gpu", None),
        ("exits with code -9", "exit_code", -9),
        ("started with srun on Slurm", "launcher", "srun"),
    ],
)
def test_job(text: str, key: str, value: Value | None) -> None:
    assert facts(text).get(key) == value


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("gpus at 30%", "gpu_state", "idle"),
        ("GPUs look idle", "gpu_state", "idle"),
        ("GPU utilisation is 95-100 %", "gpu_state", "busy"),
        ("the GPUs are at zero most of the time", "gpu_state", "idle"),
        ("GPU memory is at 30 %", "gpu_state", None),
        ("training is 4x slower", "slowdown_factor", 4.0),
        ("a third of the speed of one", "slowdown_factor", 3.0),
        ("a 30% speed hit", "slowdown_factor", 1.429),
        ("all-reduce went from roughly 180 to 10 GB/s", "slowdown_factor", 18.0),
        ("took 7 hours with torch 2.0 and takes 16 hours with torch 2.3", "slowdown_factor", 2.286),
        ("23.9 samples/s on one node and 18.7 samples/s on two nodes", "throughput.by_nodes", "1=23.9, 2=18.7"),
        ("23.9 samples/s on one node and 18.7 samples/s on two nodes", "scaling.efficiency", 0.3912),
        ("an epoch takes 10 seconds on one server and 60 on two", "scaling.efficiency", 0.0833),
        ("On one node it is fine", "single_node_ok", True),
        ("slower than on one node", "single_node_ok", True),
        ("Standalone every machine works", "single_node_ok", True),
        ("the same problem on a single node", "single_node_ok", False),
        ("On several nodes it is fine, on a single node I always get this", "single_node_ok", False),
        ("since we moved our nodes to the new OS release", "when_began", "after-change"),
        ("since we moved our nodes to the new OS release", "what_changed", "we moved our nodes to the new OS release"),
        ("it suddenly got slow", "when_began", "suddenly"),
        ("With NCCL_P2P_DISABLE=1 it goes through", "p2p_off_helps", True),
        ("NCCL_P2P_DISABLE=1 does not help", "p2p_off_helps", False),
        ("with synthetic data it is fast", "data_free_fast", True),
        ("hangs in the first evaluation", "hang_where", "evaluation"),
        ("it dies in the checkpoint save", "crash_when", "checkpoint"),
    ],
)
def test_performance_and_experiments(text: str, key: str, value: Value | None) -> None:
    assert facts(text).get(key) == value


def test_several_facts_in_one_sentence_are_all_taken() -> None:
    found = facts("2 nodes of 8 A100, HDR InfiniBand, training is 4x slower than on one node, GPUs look idle")
    expected = {
        "nodes": 2, "gpus_per_node": 8, "world_size": 16, "gpu_family": "A100", "gpu_class": "datacenter", "network_kind": "infiniband",
        "network_gbps": 200.0, "network_rdma": True, "slowdown_factor": 4.0, "single_node_ok": True, "gpu_state": "idle", "symptom": "slow",
    }  # fmt: skip
    assert {k: found.get(k) for k in expected} == expected


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=300))
def test_no_text_makes_it_fail(text: str) -> None:
    read_sentence(text)


@pytest.mark.parametrize(
    "text",
    [
        "one node was reinstalled with torch 2.4, the others have 2.1",
        "In one machine I see 20 us latency, between nodes 300 us",
    ],
)
def test_one_host_among_several_is_not_the_job(text: str) -> None:
    assert "nodes" not in facts(text)
