"""Conclusions about the division of work: pipelines with too few micro-batches, shards that reach over a node."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from assistant.facts import CaseFile, Fact, Origin

_MICRO = re.compile(r"\b(?P<n>\d{1,3}|one|two|four|eight) micro-?batch(?:es)?\b(?! size)", re.IGNORECASE)
_WORDS = {"one": 1, "two": 2, "four": 4, "eight": 8}


def derive(case: CaseFile) -> Iterable[Fact]:
    yield from _pipeline(case)
    yield from _shards(case)


def _number(case: CaseFile, key: str) -> float:
    value = case.value(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def _pipeline(case: CaseFile) -> Iterator[Fact]:
    """Micro-batches of a step against the stages that they have to fill."""
    stages = _number(case, "config.pp")
    world = _number(case, "world_size") or _number(case, "nodes") * _number(case, "gpus_per_node")
    total, micro = _number(case, "config.global_batch"), _number(case, "batch_per_gpu")
    if stages < 2:
        return
    count = 0.0
    if world and total and micro:
        replicas = world / (stages * max(_number(case, "config.tp"), 1.0))
        count = total / (micro * replicas) if replicas >= 1 else 0.0
    else:
        said = next((m for text in case.says if (m := _MICRO.search(text))), None)
        if said is not None:
            count = float(_WORDS.get(said["n"].lower()) or said["n"])
    if count >= 1:
        yield Fact("config.microbatches", int(count), Origin("derived"))
        if count < 2 * stages:
            yield Fact(
                "config.pipeline_underfilled", f"{int(count)} micro-batches, {int(stages)} stages", Origin("derived")
            )


def _shards(case: CaseFile) -> Iterator[Fact]:
    """The group over which weights are sharded, against the GPUs of a node."""
    best, each = case.best("config.shard_group"), _number(case, "gpus_per_node")
    if best is not None and each and isinstance(best.value, int) and best.value > each:
        yield Fact(
            "config.shard_spans_nodes",
            f"{best.value} ranks in a shard group, {int(each)} GPUs in a node",
            Origin("derived", best.origin.file, best.origin.line),
        )
