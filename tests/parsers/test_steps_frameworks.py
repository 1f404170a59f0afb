"""Iteration lines of each framework, in the form in which it prints them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

from assistant.derive import n51_step_series
from assistant.facts import CaseFile, Fact
from assistant.intake.document import Document
from assistant.parsers import (
    _marks,
    ddp_logging,
    megatron_timers,
    progress_composer,
    progress_deepspeed,
    progress_fairseq,
    progress_lightning,
    progress_megatron,
    progress_nemo,
    progress_titan,
    progress_trainers,
    training_progress,
)
from assistant.parsers._series import KEY, RUNS, SINGLES, SLOW

MODULES = (
    training_progress,
    progress_composer,
    progress_deepspeed,
    progress_fairseq,
    progress_lightning,
    progress_megatron,
    progress_nemo,
    progress_titan,
    progress_trainers,
)


def found(text: str, name: str = "run.log") -> list[Fact]:
    return [f for m in MODULES for f in m.parse(Document(name, text))]


def facts(text: str) -> dict[str, object]:
    raw = found(text)
    return {f.key: f.value for f in [*raw, *n51_step_series.derive(CaseFile(raw))] if f.key != KEY}


def clock(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d},{round(seconds % 1 * 1000) % 1000:03d}"


def test_deepspeed_by_the_clock() -> None:
    """Ten steps between two lines, 12.5 s apart: 1.25 s a step."""
    text = "\n".join(
        f"[2023-08-02 {clock(3600 + 12.5 * n)}] [INFO] [logging.py:96:log_dist] [Rank 0] step={10 * n}, skipped={min(n, 2)}, "
        f"lr=[0.0001], mom=[(0.9, 0.999)]\n"
        f"[2023-08-02 {clock(3600 + 12.5 * n)}] [INFO] [timer.py:215:stop] epoch=0/micro_step={10 * n}/global_step={10 * n}, "
        f"RunningAvgSamplesPerSec=220.69, CurrSamplesPerSec=222.88, MemAllocated=0.07GB, MaxMemAllocated=1.36GB"
        for n in range(1, 20)
    )
    got = facts(text)
    assert got["step.time_s"] == pytest.approx(1.25)
    assert got["step.skipped"] == 2


def test_deepspeed_breakdown() -> None:
    line = (
        "[2024-03-20 16:22:19,683] [INFO] [logging.py:96:log_dist] [Rank {r}] time (ms) | fwd: {f} | bwd: 150.00 | "
        "bwd_inner: 100.00 | bwd_allreduce: 50.00 | step: 20.00\n"
    )
    text = "".join(line.format(r=r, f="60.00" if r == 2 else "30.00") for _ in range(6) for r in range(4))
    got = facts(text)
    assert got["step.exchange_share"] == pytest.approx(0.25)
    assert got["step.optimizer_share"] == pytest.approx(0.1)
    slow = {
        str(f.subject): f.value for f in n51_step_series.derive(CaseFile(found(text))) if f.key == "rank.slow_compute"
    }
    assert slow == {"rank 2": pytest.approx(160 / 130, abs=0.001)}


def test_megatron_rate_and_skipped() -> None:
    text = "\n".join(
        f" iteration {n:8d}/  5000 | consumed samples: {n * 256:12d} | elapsed time per iteration (ms): {1200.0 + n % 2} | "
        f"throughput per GPU (TFLOP/s/GPU): 402.1 | learning rate: 4.0E-05 | lm loss: 2.1 | number of skipped iterations:   {n % 5 == 0:d} | number of nan iterations:   0 |"
        for n in range(1, 41)
    )
    got = facts(text)
    assert got["step.time_s"] == pytest.approx(1.2005, abs=0.0006)
    assert got["step.tflops_per_gpu"] == 402.1
    assert got["step.skipped"] == 8


def test_megatron_bridge() -> None:
    text = "Step Time : 12.31s GPU utilization: 512.4MODEL_TFLOP/s/GPU\n" * 6
    got = facts(text)
    assert got["step.time_s"] == 12.31
    assert got["step.tflops_per_gpu"] == 512.4


def test_nemo_lines_and_list() -> None:
    text = "\n".join(
        f"0: Training epoch 0, iteration {n}/99 | lr: 5.6e-06 | global_batch_size: 32 | global_step: {n} | reduced_train_loss: 2.778 | "
        f"train_step_timing in s: {2.5 if n else 30} | consumed_samples: 928"
        for n in range(12)
    )
    got = facts(text)
    assert got["step.time_s"] == 2.5
    assert got["step.first_time_s"] == 30.0
    assert got["step.slow_start"] == 1
    listed = "[NeMo I 2025-03-04 02:58:29 perf_metrics_utils:56] train_step_timing in s: [11.85, 6.98, 2.18, 2.18, 2.18, 2.12, 2.12, 2.18, 2.18]\n"
    assert facts(listed)["step.time_s"] == 2.18


def test_torchtitan() -> None:
    text = "\n".join(
        f"[rank0]:[titan] 2025-01-12 {clock(8 * 3600 + 10 * 3.0 * n)} - root - INFO - step: {10 * n:2d}  loss:  8.0123  grad_norm:  1.2  "
        f"memory: 29.16GiB(36.87%)  tps: 2,456  tflops: 142.22  mfu: 14.38%"
        for n in range(1, 15)
    )
    got = facts(text)
    assert got["step.time_s"] == pytest.approx(3.0)
    assert got["step.mfu_pct"] == 14.38
    assert got["step.tflops_per_gpu"] == 142.22


def test_composer() -> None:
    text = "".join(
        f"[batch={n}/1000]:\n\t Train loss/train/total: 8.4213\n\t Train throughput/batches_per_sec: 0.4000\n"
        f"\t Train throughput/device/batches_per_sec: 0.0500\n"
        for n in range(1, 9)
    )
    assert facts(text)["step.time_s"] == 2.5


def test_fairseq_by_rate_and_by_the_clock() -> None:
    line = (
        "2021-01-01 12:00:00 | INFO | train_inner | epoch 001:    {n} / 5000 loss=12.3, ppl=5043, wps=12345, ups={u}, wpb=10036, "
        "bsz=340, num_updates={n}, lr=1e-05, gnorm=2.1, train_wall=80, gb_free=9.1{w}\n"
    )
    assert facts("".join(line.format(n=10 * n, u="4", w="") for n in range(1, 9)))["step.time_s"] == 0.25
    slow = "".join(line.format(n=10 * n, u="0.03", w=f", wall={400 * n}") for n in range(1, 9))
    assert facts(slow)["step.time_s"] == 40.0


def test_trainer_summary_and_bar() -> None:
    bars = "\n".join(f" 12%|#2        | {n}/1000 [02:00<14:40,  1.00s/it]" for n in range(1, 31))
    end = "\n{'train_runtime': 2000.0, 'train_samples_per_second': 8.88, 'train_steps_per_second': 0.5, 'train_loss': 1.9, 'epoch': 3.0}\n"
    got = facts(bars + end)
    assert got["step.time_s"] == 1.0
    assert got["step.run_mean_s"] == 2.0
    assert got["step.mean_ratio"] == 2.0


def test_lightning_bars_of_tqdm_and_of_rich() -> None:
    tqdm = "\n".join(
        f"Epoch 0:  12%|#2        | {n}/1000 [02:00<14:40,  2.00it/s, v_num=3, train_loss=2.31]" for n in range(1, 9)
    )
    assert facts(tqdm)["step.time_s"] == 0.5
    rich = "\n".join(
        f"Epoch 0/9  ━━━━━━━━━━━━━━━━━━━━ {n}/1000 0:02:00 • 0:14:40 4.00it/s v_num: 3.000" for n in range(1, 9)
    )
    assert facts(rich)["step.time_s"] == 0.25
    assert facts(tqdm.replace("Epoch 0", "Validation DataLoader 0")) == {}


def test_steps_without_a_duration_are_timed_by_their_lines() -> None:
    text = "\n".join(f"2024-01-01 {clock(36000 + 2.0 * n)} INFO train step {n} loss 1.87 lr 0.001" for n in range(30))
    got = facts(text)
    assert got["step.time_s"] == pytest.approx(2.0)


def test_maxtext() -> None:
    text = "\n".join(f"completed step: {n}, seconds: 12.310, TFLOP/s/device: 402.113, loss: 8.1" for n in range(9))
    assert facts(text)["step.time_s"] == 12.31


def test_megatron_times_of_all_ranks() -> None:
    text = "times across ranks (ms):\n" + "".join(
        f"  {name}:\n" + "".join(f"     rank {r:2d}: {v * (1.4 if r == 5 else 1 + r / 1000):.2f}\n" for r in range(8))
        for name, v in (("forward-compute", 100.0), ("backward-compute", 200.0), ("batch-generator", 5.0))
    )
    got = list(megatron_timers.parse(Document("run.log", text)))
    assert {str(f.subject): f.value for f in got if f.key == "rank.compute_ms"}["rank 5"] == 420.0
    slow = [f for f in n51_step_series.derive(CaseFile(got)) if f.key == "rank.slow_compute"]
    assert [str(f.subject) for f in slow] == ["rank 5"]
    assert slow[0].value == pytest.approx(420 / 301.2, abs=0.002)


DDP = """[rank2]:[I1130 22:00:54.340965952 logger.cpp:223] [Rank 2]: DDP Initialized with:
broadcast_buffers: 1
bucket_cap_bytes: 26214400
find_unused_parameters: 0
gloo_num_threads: 2
gradient_as_bucket_view: 0
has_sync_bn: 0
rank: 2
total_parameter_size_bytes: 160
world_size: 4
backend_name: gloo
"""
STATS = """I0607 16:18:58.085681 544067 logger.cpp:344] [Rank 1 / 2] [before iteration 1] Training TwoLinLayerNet unused_parameter_size=0
 Avg forward compute time: 40000000
 Avg backward compute time: 50000000
Avg backward comm. time: 30000000
 Avg backward comm/comp overlap time: 20000000
"""


def test_ddp_settings_and_times() -> None:
    got = {f.key: f.value for f in ddp_logging.parse(Document("a.log", DDP + STATS))}
    assert got["config.find_unused"] is False
    assert got["config.bucket_mb"] == 25.0
    assert got["ddp.backend"] == "gloo"
    assert got["rank.compute_ms"] == 40.0
    assert got["ddp.exposed_share"] == 0.1


def test_marks_tell_what_stands_between_steps() -> None:
    text = (
        "saving checkpoint at iteration     500 to /ckpt in torch_dist format\n iteration 501/ 900 | elapsed time per iteration (ms): 10.0\n"
        "***** Running Evaluation *****\n{'eval_loss': 1.3, 'eval_runtime': 31.2}\nsave_interval .................. 500\neval_iters ......... 10\n"
        "Epoch 0:  12%|#2  | 120/1000 [02:00<14:40, 1.00it/s, val_loss=2.3]\nUploading checkpoint to s3://bucket/run\n"
    )
    assert _marks.marks(Document("a.log", text)) == [(0, "checkpoint"), (2, "eval"), (3, "eval"), (7, "upload")]


def test_a_summary_is_bounded() -> None:
    text = "\n".join(f"step {n} time {9.0 if n % 50 == 0 else 1.0}s" for n in range(20_000))
    (fact,) = [f for f in training_progress.parse(Document("a.log", text)) if f.key == KEY]
    raw = json.loads(str(fact.value))
    assert raw["n"] == 20_000
    assert len(raw["p"]) == SINGLES
    assert len(raw["b"]) <= RUNS
    assert len(raw["x"]) <= SLOW
    assert len(str(fact.value)) < 16_000


def lines_of(megabytes: int) -> Iterator[str]:
    size = number = 0
    while size < megabytes << 20:
        number += 1
        line = f" iteration {number:8d}/  500000 | consumed samples: {number * 256:12d} | elapsed time per iteration (ms): 1234.5 | learning rate: 4.0E-05 | lm loss: 2.1 |"
        size += len(line) + 1
        yield line


def test_a_text_of_nothing_but_steps_is_read_fast() -> None:
    document = Document("run.log", "\n".join(lines_of(4)))
    begin = time.process_time()
    list(progress_megatron.parse(document))
    assert time.process_time() - begin < 2.0


@pytest.mark.parametrize("module", [*MODULES, megatron_timers, ddp_logging])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "step=1, skipped=",
        "iteration 1/ 2 | elapsed time per iteration (ms): .",
        "%| 1/2 [::<?, 0.0it/s]",
        "%| 1/2 [1<2, ...s/it]",
        "tps: ,",
        "step: 1 tps: ,,",
        "[batch=1/2] throughput/batches_per_sec: 0",
        "ups=0, num_updates=1",
        "DDP Initialized with:",
        "times across ranks (ms):\n  forward-compute:\n     rank  x: 1",
        "step 1 time 1.0s\nstep 2 time 0.0s\nstep 1 time 1e9ms",
        "CurrSamplesPerSec=1.0",
        "Parameters which did not receive grad for rank 0: ",
    ],
)
def test_damaged_lines_are_no_error(module: object, text: str) -> None:
    raw = list(module.parse(Document("x.log", text)))  # type: ignore[attr-defined]
    list(n51_step_series.derive(CaseFile(raw)))
