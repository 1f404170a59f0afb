"""Shards of a data set, running means of a benchmark, a wrapped model on one rank, fingerprints on two lines."""

from __future__ import annotations

import pytest

from assistant.derive import n54_collective_ranks
from assistant.derive.n50_workload import derive
from assistant.facts import CaseFile, Fact, Origin
from assistant.intake.document import Document
from assistant.parsers import collective_debug, data_shards, throughput, training_code, watchdog


def shards(text: str) -> list[int]:
    return [int(f.value) for f in data_shards.parse(Document("listing.txt", text))]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (
            "set/a:\n-rw-r--r-- 1 ann ml 1073741824 Mar 14 18:40 part-000000.tar\n-rw-r--r-- 1 ann ml        90 Mar 14 18:41 index.json\n",
            [1],
        ),
        ("data/train:\nshard-000000.tar\nshard-000001.tar\n\ndata/valid:\nshard-000000.tar\n", [1]),
        ('urls = "s3://bucket/imagenet-train-{000000..000146}.tar"\n', [147]),
        ("train-00000-of-00004.parquet\n", [4]),
        ("IterableDataset({features: ['text'], num_shards: 3})\n", [3]),
        ("Saved model.tar\n", []),
        ("{000005..000001}.tar\n", []),
    ],
)
def test_shards_are_counted(text: str, count: list[int]) -> None:
    assert shards(text) == count


@pytest.mark.parametrize(
    ("count", "workers", "fewer", "uneven"),
    [(1, 4, True, "1 shards, 2 ranks"), (8, 4, None, None), (9, 4, None, "9 shards, 2 ranks"), (6, 4, True, None)],
)
def test_shards_against_readers(count: int, workers: int, fewer: bool | None, uneven: str | None) -> None:
    case = CaseFile()
    case.add(
        Fact(k, v, Origin("stated"))
        for k, v in {"input.shards": count, "dataloader_workers": workers, "gpus_per_node": 2}.items()
    )
    got = {f.key: f.value for f in derive(case)}
    assert got.get("input.fewer_shards") == fewer
    assert got.get("input.shards_uneven") == uneven


def test_shards_in_words() -> None:
    got = {f.key: f.value for f in derive(CaseFile(says=["We have three parquet files and 8 GPUs."]))}
    assert got["input.fewer_shards"] is True


def test_running_mean_that_falls_is_a_lasting_slowdown() -> None:
    rates = [310.2, 310.1, 310.2, 290.0, 272.2, 256.4, 242.3]
    text = "".join(f"{500 + 10 * i}\timages/sec: {r} +/- 0.5 (jitter = 3.1)\t6.911\n" * 2 for i, r in enumerate(rates))
    got = {f.key: f.value for f in throughput.parse(Document("bench.log", text))}
    assert got["step.level_shift"] == pytest.approx(4.5, abs=0.5)
    steady = "".join(f"{500 + 10 * i}\timages/sec: 310.{i} +/- 0.5 (jitter = 3.1)\t6.911\n" for i in range(7))
    assert "step.level_shift" not in {f.key for f in throughput.parse(Document("bench.log", steady))}


def test_estimator_pace_with_the_count_of_the_command_before() -> None:
    text = (
        "$ CUDA_VISIBLE_DEVICES=0 python mnist_hvd.py\nINFO:tensorflow:global_step/sec: 140.2\n"
        "$ mpirun -np 4 python mnist_hvd.py\nINFO:tensorflow:global_step/sec: 60.5\n"
    )
    assert [f.value for f in throughput.parse(Document("runs.log", text))] == [
        "1 gpus=140.2 steps",
        "4 gpus=60.5 steps",
    ]


def test_megatron_time_of_a_save() -> None:
    text = "    save-checkpoint ................................: (312410.21, 312411.93)\n"
    assert [f.value for f in throughput.parse(Document("run.log", text)) if f.key == "checkpoint.seconds"] == [312.41]


WRAPPED = """
import torch
self.net = DistributedDataParallel(self.net, device_ids=[self.dev])
for epoch in range(self.rounds):
    train()
    if torch.distributed.get_rank() == 0:
        {call}
    torch.distributed.barrier()

def validation(self{params}):
    with torch.no_grad():
        for data in self.dev_set:
            {run}
"""


@pytest.mark.parametrize(
    ("call", "params", "run", "found"),
    [
        ("self.validation()", "", "self.net(data)", True),
        ("self.net(sample)", "", "pass", True),
        ("self.validation(self.net)", ", model", "model(data)", True),
        ("self.validation()", "", "self.net.module(data)", False),
        ("self.validation(self.net.module)", ", model", "model(data)", False),
        ("print(epoch)", "", "self.net(data)", False),
    ],
)
def test_wrapped_model_on_one_rank(call: str, params: str, run: str, found: bool) -> None:
    text = WRAPPED.format(call=call, params=params, run=run)
    keys = {f.key for f in training_code.parse(Document("train.py", text))}
    assert ("code.rank0_forward" in keys) is found


def facts_of(text: str) -> dict[str, object]:
    """What the parsers of collectives yield, and what follows from it across ranks."""
    case = CaseFile()
    for module in (watchdog, collective_debug):
        case.add(module.parse(Document("run.log", text)))
    return {f.key: f.value for f in [*case.facts, *n54_collective_ranks.derive(case)]}


def test_fingerprints_on_a_line_each() -> None:
    line = "RuntimeError: Detected mismatch between collectives on ranks. Rank {} is running inconsistent collective: CollectiveFingerPrint(OpType=ALLGATHER, TensorShape=[{}, 256], TensorDtypes=Float)\n"
    got = facts_of(line.format(0, 64) + line.format(1, 63))
    assert got["fingerprint.differs_in"] == "shape" and got["fingerprint.ops"] == "ALLGATHER vs ALLGATHER"
    assert "fingerprint.differs_in" not in facts_of(line.format(0, 64))


def test_label_scan_is_a_phase_of_its_own() -> None:
    text = (
        "val: Scanning 'd/labels' images and labels... 910 found, 2 missing:  91%|#########1| 910/1000 [01:40<00:09, 9.10it/s]\n"
        + "".join(
            f"[E ProcessGroupNCCL.cpp:474] [Rank {r}] Watchdog caught collective operation timeout: WorkNCCL(OpType=ALLREDUCE, Timeout(ms)=90000) ran for 90412 milliseconds before timing out.\n"
            for r in (1, 2, 3)
        )
    )
    got = facts_of(text)
    assert got["watchdog.last_phase"] == "data-load"
    assert "progress.at_epoch_end" not in got
    assert got["watchdog.rank0_silent"] is True
