"""Step times, waiting for data and throughput out of progress lines."""

from __future__ import annotations

import pytest

from assistant.derive import n51_step_series
from assistant.facts import CaseFile, Fact
from assistant.intake.document import Document
from assistant.parsers import (
    horovod_stall,
    profile_table,
    progress_lightning,
    progress_megatron,
    progress_nemo,
    progress_titan,
    progress_trainers,
    throughput,
    training_progress,
)
from assistant.parsers._series import KEY
from assistant.parsers._steps import Step, level_shift, spike_period


def facts(module: object, text: str, name: str = "run.log") -> dict[str, object]:
    """What the parser found and what follows from the series of steps in it."""
    found: list[Fact] = list(module.parse(Document(name, text)))  # type: ignore[attr-defined]
    found += n51_step_series.derive(CaseFile(list(found)))
    return {f.key: f.value for f in found if f.key != KEY}


#: Lines of frameworks go to modules of their own.
MODULES = (training_progress, progress_megatron, progress_nemo, progress_titan, progress_trainers, progress_lightning)


def all_facts(text: str) -> dict[str, object]:
    found: list[Fact] = [f for module in MODULES for f in module.parse(Document("run.log", text))]
    found += n51_step_series.derive(CaseFile(list(found)))
    return {f.key: f.value for f in found if f.key != KEY}


def test_imagenet_meter_gives_the_share_of_waiting_for_data() -> None:
    got = facts(
        training_progress,
        "Epoch: [0][0/5005]\tTime 48.842 (48.842)\tData 45.054 (45.054)\tLoss 6.9073 (6.9073)\n"
        "Epoch: [0][10/5005]\tTime 22.424 (7.498)\tData 22.372 (7.070)\tLoss 6.9065 (6.9074)\n"
        "Epoch: [0][20/5005]\tTime 10.452 (5.893)\tData 10.404 (5.632)\tLoss 6.9075 (6.9076)\n",
    )
    assert got["step.data_share"] == pytest.approx(0.956, abs=0.001)
    assert got["step.data_time_s"] == pytest.approx(5.632)


def test_ranks_that_wait_unequally_are_noticed() -> None:
    got = facts(
        training_progress,
        "[GPU rank 1] Epoch: [1][86/344]\tTime 0.783 (2.771)\tData 0.006 (1.204)\tLoss 58\n"
        "[GPU rank 2] Epoch: [1][86/344]\tTime 0.783 (2.771)\tData 0.017 (0.021)\tLoss 58\n",
    )
    assert got["step.data_ranks_differ"] is True
    assert got["step.data_share"] == pytest.approx(1.204 / 2.771, abs=0.001)


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        (
            " iteration {n}/ 500000 | consumed samples: 71447472 | elapsed time per iteration (ms): 10519.0 | learning rate: 4E-05 |",
            10.519,
        ),
        (
            " iteration {n}/ 500000 | consumed samples: 71447472 | elapsed time per iteration (s): 105.19 | learning rate: 4E-05 |",
            105.19,
        ),
        ("iter {n}: loss 1.8702, time: 4377.60ms, speed: 1786 toks/s/device", 4.3776),
        ("iter {n}: loss 4.5, time 250.33ms, mfu 3.10%", 0.25033),
        ("step {n} | loss: 5.201 | dt: 123.45ms | tok/sec: 4200", 0.12345),
        ("steps: {n} loss: 10.9 iter time (s): 1.234 samples/sec: 12.97", 1.234),
        (" 46%|####6     | {n}/1250 [00:11<00:13, 5.00it/s, train_loss=0.697]", 0.2),
        ("1|101|Loss: 0.13: 99%|#########9| {n}/1010 [1:53:29<01:10, 70.02s/it]", 70.02),
        (
            "Epoch 0:   1%| | 10/1000 [00:50<1:20:00, v_num=0, reduced_train_loss=7.1, global_step={n}.0, train_step_timing in s=4.71]",
            4.71,
        ),
        (
            "Train: 0 [  {n}/1251 (  4%)]  Loss: 6.92 (6.93)  Time: 0.362s, 2829.27/s  (0.411s, 2490.66/s)  LR: 1e-05  Data: 0.011 (0.060)",
            0.362,
        ),
        (
            "[06/01 12:00:00 d2.utils.events]:  eta: 1:00  iter: {n}  total_loss: 1.2  time: 0.5120  data_time: 0.0120  lr: 0.02",
            0.512,
        ),
    ],
)
def test_forms_of_a_timed_step(line: str, seconds: float) -> None:
    text = "\n".join(line.replace("{n}", str(n)) for n in range(100, 112))
    assert all_facts(text)["step.time_s"] == pytest.approx(seconds, rel=1e-3)


def test_spikes_have_a_period() -> None:
    text = "\n".join(f"step {n} time {9.0 if n % 20 == 0 else 1.0}s" for n in range(1, 101))
    got = facts(training_progress, text)
    assert got["step.spike_period"] == 20
    assert got["step.spike_ratio"] == pytest.approx(9.0)
    assert "step.level_shift" not in got


def test_random_spikes_have_no_period() -> None:
    steps = [Step(n, 5.0 if n in (7, 19, 22, 41, 77) else 1.0, n) for n in range(100)]
    assert spike_period(steps) is None


def test_a_lasting_change_is_a_level_shift_and_noise_is_not() -> None:
    changed = [Step(n, (105.1 if n < 30 else 110.9) + 0.05 * (n % 3), n) for n in range(60)]
    found = level_shift(changed)
    assert found is not None
    assert found[0] == pytest.approx(1.055, abs=0.002)
    assert found[1].number == 30
    assert level_shift([Step(n, 1.0 + 0.3 * (n * 7919 % 13) / 13, n) for n in range(60)]) is None


def test_rates_tell_the_course_but_no_seconds() -> None:
    text = "\n".join(
        f"step: {n}  loss: 8.0  memory: 29.16GiB(36.87%)  tps: {'2,400' if n < 30 else '1,200'}  mfu: 14%"
        for n in range(60)
    )
    got = facts(progress_titan, text)
    assert got["step.level_shift"] == pytest.approx(2.0)
    assert "step.time_s" not in got


def test_bars_of_side_tasks_are_no_steps() -> None:
    assert all_facts("Running tokenizer on dataset:   3%|#     | 90/2969 [09:36<5:07:12, 156.24it/s]\n") == {}


def test_tf_benchmark_total_knows_its_gpus() -> None:
    rows = "".join(f"100\timages/sec: 152.1 +/- 0.2 (jitter = 2.2)\t{loss}\n" for loss in (1.6, 1.7, 1.8, 1.9))
    assert facts(throughput, rows + "total images/sec: 608.38\n")["throughput.at"] == "4 gpus=608.38 total"
    assert facts(throughput, "Total img/sec on 8 GPU(s): 2069.3 +-2.1")["throughput.at"] == "8 gpus=2069.3 total"


def test_timing_table_of_a_user() -> None:
    text = "seconds per epoch\nusing 1 GPU:\nbatch_size=64         43 seconds\nusing 2 GPUs:\nbatch_size=64         78 seconds\n"
    found = [f.value for f in throughput.parse(Document("t.txt", text))]
    assert found == ["1 gpus=0.0232558 epoch", "2 gpus=0.0128205 epoch"]


def test_checkpoint_time() -> None:
    assert (
        facts(throughput, "Finished saving the checkpoint (or staging if async is enabled)in 393.86 seconds.")[
            "checkpoint.seconds"
        ]
        == 393.86
    )


def test_horovod_stall() -> None:
    got = facts(
        horovod_stall,
        "[2020-05-06 10:11:12.3: W horovod/common/stall_inspector.cc:105] One or more tensors were submitted to be reduced, gathered or "
        "broadcasted by subset of ranks and are waiting for remainder of ranks for more than 60 seconds.\nMissing ranks:\n"
        "1: [DistributedAdam_Allreduce/HorovodAllreduce_grads_0, DistributedAdam_Allreduce/HorovodAllreduce_grads_1]\n",
    )
    assert got == {
        "horovod.missing_ranks": "1",
        "horovod.missing_rank": 1,
        "horovod.stalled_tensors": 2,
        "horovod.stalled_kind": "gradients",
    }


def test_profile_tables() -> None:
    lightning = (
        "|  Action                                     |  Mean duration (s)  |  Num calls  |  Total time (s)  |  Percentage %   |\n"
        "|  [_TrainingEpochLoop].train_dataloader_next  |  0.31  |  1000  |  310.2  |  75.2  |\n"
    )
    assert facts(profile_table, lightning)["trace.data_share"] == pytest.approx(0.752)
    torch = (
        "Name    Self CPU %      Self CPU   Self CUDA     Self CUDA %    CUDA total  CUDA time avg    # of Calls\n"
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL      0.00%     0.000us    1.2s     61.20%    1.2s     240.000us    5000\n"
        "cudaStreamSynchronize     40.00%     2.0s    0.000us     0.00%    0.000us     0.000us    100\n"
    )
    got = facts(profile_table, torch)
    assert got["trace.comm_share"] == pytest.approx(0.612)
    assert got["trace.sync_share"] == pytest.approx(0.4)
    assert got["trace.small_kernels"] is True


@pytest.mark.parametrize("module", [training_progress, throughput, horovod_stall, profile_table])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "Epoch: [0][",
        "Time 1.0 (",
        "\x00\ufffd%|",
        "Missing ranks",
        "1: [",
        "Name Self CPU %",
        "| Action | Percentage %",
        "step 1 time s",
    ],
)
def test_damaged_text_is_no_error(module: object, text: str) -> None:
    list(module.parse(Document("x.log", text)))  # type: ignore[attr-defined]
