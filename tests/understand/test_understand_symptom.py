"""The kind of trouble: every shown case, and sentences in which people mix the kinds up."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from assistant.understand.symptom import symptom_of

CASES = Path(__file__).parent.parent / "cases"


def test_agrees_with_nine_of_ten_cases() -> None:
    cases = [yaml.safe_load(f.read_text(encoding="utf-8")) for f in sorted(CASES.glob("*/case.yaml"))]
    assert cases
    right = sum(symptom_of(c["say"]) == c["symptom"] for c in cases)
    assert right / len(cases) >= 0.9


@pytest.mark.parametrize(
    ("text", "symptom"),
    [
        ("My job just sits there after Init COMPLETE, all GPUs at 100%, no output", "hang"),
        ("After 30 minutes the NCCL watchdog kills the job with a timeout; until then nothing is printed", "hang"),
        ("training freezes at step 1200 on all ranks and then dies with a collective timeout after 30 minutes", "hang"),
        ("the run does not continue after saving the checkpoint; timeouts don't fire either", "hang"),
        ("init_process_group never returns on the second node", "hang"),
        ("all ranks are waiting in all_reduce and don't make any progress", "hang"),
        ("Rendezvous times out after 600 seconds", "crash"),
        ("It hangs at the start and after a while we get a rendezvous timeout and both nodes give up", "crash"),
        ("one of the workers was OOM killed and everything went down", "crash"),
        ("Job exits with code -9, no traceback", "crash"),
        ("the second node can't connect to the master: connection refused", "crash"),
        ("2 nodes of 8 A100, HDR InfiniBand, training is 4x slower than on one node, GPUs look idle", "slow"),
        ("We bought a second DGX but training isn't any faster", "slow"),
        ("tokens/sec dropped from 42k to 11k after the driver update", "slow"),
        ("No errors, it does not crash, but the allreduce busbw is 3 GB/s, expected about 40", "slow"),
        ("step time is normally 1.2 s but every 50th step takes 9 s", "jitter"),
        ("Throughput goes up and down between 200 and 900 img/s for no reason", "jitter"),
        ("Every few minutes training pauses for 20 seconds, then goes on", "jitter"),
        ('is "NET/Plugin: No plugin found" bad?', "question"),
        ("What does 'barrier() using device 0' mean, should I worry?", "question"),
    ],
)
def test_symptom(text: str, symptom: str) -> None:
    assert symptom_of(text) == symptom


@pytest.mark.parametrize("text", ["two dgx h100", "25gbe", "actually it's RoCE", "here is the log", ""])
def test_a_text_without_trouble_has_no_symptom(text: str) -> None:
    assert symptom_of(text) is None


@pytest.mark.parametrize(
    ("text", "symptom"),
    [
        ("The cards stay stuck at 200 W the whole time, tokens per second as well.", "slow"),
        ("Utilisation sits at 50 % on all of the eight GPUs.", "slow"),
        ("Since the kernel update the speedup is gone, four GPUs do the work of one.", "slow"),
        ("After a few hours all GPUs sit at 100 % and the log does not move.", "hang"),
        ("Every other day a run stops dead and I have to restart it.", "hang"),
        ("All ranks print 'initialised' and that is the last thing I see.", "hang"),
        ("Worker 3 was lost and the whole group was torn down.", "crash"),
        ("the pods are restarted again and again, last state OOMKilled", "crash"),
        ("Throughput looks like a saw tooth.", "jitter"),
        (
            "Every ten minutes the whole job pauses for some seconds and then continues as if nothing had happened.",
            "jitter",
        ),
        ("The same script needs anything between 400 and 900 ms per iteration.", "jitter"),
        ("Are 1.9 seconds per step reasonable for 7B on 8 A100?", "question"),
        ("Which of algbw and busbw do I compare with the data sheet?", "question"),
        ("Scaling from 8 to 16 GPUs gives 1.9x. Can it be better?", "question"),
    ],
)
def test_paraphrases(text: str, symptom: str) -> None:
    assert symptom_of(text) == symptom
