"""Pipelines with too few micro-batches, shard groups larger than a node."""

from __future__ import annotations

from assistant.derive import n52_layout
from assistant.facts import CaseFile, Fact, Origin


def _case(**values: int) -> CaseFile:
    case = CaseFile()
    case.add(Fact(k.replace("__", "."), v, Origin("config")) for k, v in values.items())
    return case


def _derived(case: CaseFile) -> dict[str, object]:
    return {f.key: f.value for f in n52_layout.derive(case)}


def test_micro_batches_of_a_pipeline() -> None:
    few = _case(config__pp=8, config__tp=8, config__global_batch=8, batch_per_gpu=2, nodes=8, gpus_per_node=8)
    assert _derived(few) == {"config.microbatches": 4, "config.pipeline_underfilled": "4 micro-batches, 8 stages"}
    many = _case(config__pp=8, config__tp=8, config__global_batch=256, batch_per_gpu=2, nodes=8, gpus_per_node=8)
    assert _derived(many) == {"config.microbatches": 128}


def test_shard_group_over_a_node() -> None:
    assert "config.shard_spans_nodes" in _derived(_case(config__shard_group=16, gpus_per_node=8))
    assert "config.shard_spans_nodes" not in _derived(_case(config__shard_group=8, gpus_per_node=8))
