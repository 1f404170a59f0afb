"""Stated facts, KEY=VALUE, as on the command line."""

from __future__ import annotations

import pytest

from assistant.facts import Value
from assistant.understand import read_stated


def typed(key: str, value: str) -> dict[str, Value]:
    return {f.key: f.value for f in read_stated(key, value)[0]}


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("nodes", "2", {"nodes": 2}),
        ("nodes", "2 and 4", {"nodes": 4}),
        ("gpus_per_node", "eight", {"gpus_per_node": 8}),
        ("gpu", "A100-SXM4-80GB", {"gpu_family": "A100", "gpu_class": "datacenter"}),
        ("gpu", "GeForce RTX 4090", {"gpu_family": "RTX 4090", "gpu_class": "consumer"}),
        ("gpu", "GTX 1050 Ti and GTX 1060", {"gpu_mixed": "GTX 1050 Ti, GTX 1060"}),
        ("network", "infiniband-hdr-200", {"network_kind": "infiniband", "network_gbps": 200.0, "network_rdma": True}),
        ("network", "ethernet, 2 x 10G", {"network_kind": "ethernet", "network_gbps": 10.0, "network_nics": 2}),
        ("network", "roce-200 direct cable", {"network_kind": "roce", "network_gbps": 200.0}),
        ("gpu_state", "idle", {"gpu_state": "idle"}),
        ("gpu_state", "20-30 %", {"gpu_state": "idle", "gpu_util_pct": 25.0}),
        ("framework", "something of our own", {"framework": "other"}),
        ("framework", "PyTorch", {"framework": "pytorch"}),
        ("nccl", "2.27.5+cuda13.0", {"nccl_version": "2.27.5"}),
        ("container", "nvcr.io/nvidia/pytorch:25.08-py3", {"container": "docker"}),
        ("sharding", "FULL_SHARD", {"sharding": "fsdp"}),
        ("per_gpu_batch", "2", {"batch_per_gpu": 2}),
        (
            "samples_per_s",
            "{'1 node': 23.9, '2 nodes': 18.7}",
            {"throughput.by_nodes": "1=23.9, 2=18.7", "scaling.efficiency": 0.3912},
        ),
        ("it_per_s", "{'1 GPU': 3.95, '4 GPUs': 3.8}", {"scaling.efficiency": 0.962}),
        ("network_rdma", "true", {"network_rdma": True}),
        ("gpus", "2", {"world_size": 2}),
    ],
)
def test_known_keys_get_types(key: str, value: str, expected: dict[str, Value]) -> None:
    found = typed(key, value)
    assert {k: found.get(k) for k in expected} == expected


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("nodes", "abc", "nodes is a whole number"),
        ("nodes", "0", "nodes=2"),
        ("gpus_per_node", "abc", "'abc'"),
        ("symptom", "purple", "slow, hang"),
    ],
)
def test_a_value_that_cannot_be_right_is_refused(key: str, value: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        read_stated(key, value)


def test_any_other_key_is_free_text_and_never_an_error() -> None:
    facts, free = read_stated("storage", "local hard disk (not SSD)")
    assert free == "storage: local hard disk (not SSD)"
    assert facts == []
    facts, free = read_stated("platform", "EKS, pods with hostNetwork: true")
    assert {f.key: f.value for f in facts} == {"scheduler": "kubernetes", "container": "kubernetes-pod", "cloud": "aws"}
    assert free.startswith("platform: ")


def test_words_beside_a_typed_value_are_kept() -> None:
    assert (
        read_stated("network", "ethernet-10g, docker swarm overlay")[1] == "network: ethernet-10g, docker swarm overlay"
    )
    assert read_stated("nodes", "2")[1] == ""
    assert read_stated("gpu_state", "busy")[1] == ""
