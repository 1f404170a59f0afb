"""Watchdog, desync and fingerprint lines; stack dumps."""

from __future__ import annotations

import pytest

from assistant.derive import n54_collective_ranks
from assistant.facts import CaseFile
from assistant.intake.document import Document
from assistant.parsers import collective_debug, stack_dump, watchdog

TIMEOUT = (
    "[rank{rank}]:[E1129 11:56:57.204055508 ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn={numel}, NumelOut={numel}, Timeout(ms)=600000) ran for 600001 milliseconds before timing out.\n"
)


def timeout(rank: int, seq: int = 90, op: str = "ALLREDUCE", numel: int = 1) -> str:
    return TIMEOUT.format(rank=rank, seq=seq, op=op, numel=numel)


def facts(text: str, name: str = "run.log") -> dict[str, object]:
    document = Document(name, text)
    found = [*watchdog.parse(document), *collective_debug.parse(document)]
    found += n54_collective_ranks.derive(CaseFile(list(found)))
    return {f.key: f.value for f in found if f.subject.kind == "job"}


def test_missing_rank_zero_in_a_barrier_after_a_save() -> None:
    got = facts(
        "100%|##########| 101/101 [1:54:39<00:00, 69.96s/it]\nINFO Saving checkpoint. This may take some time.\n"
        + "".join(timeout(r) for r in (1, 2, 3))
    )
    assert got["watchdog.barrier_like"] is True
    assert got["watchdog.silent_ranks"] == "0"
    assert got["watchdog.silent_ranks"] == "0"
    assert got["watchdog.last_phase"] == "checkpoint"
    assert got["watchdog.timeout_ms"] == 600000


def test_tokenising_on_the_line_of_the_timeout_itself() -> None:
    got = facts(
        "Running tokenizer on dataset:   9%|#    | 280000/2969526 [29:55<4:48:08, 155.57 examples/s]" + timeout(2)
    )
    assert got["watchdog.last_phase"] == "data-load"
    assert got["progress.no_step"] is True


def test_end_of_an_epoch() -> None:
    got = facts("100%|##########| 125/125 [00:59<00:00, 2.12it/s]\n" + timeout(1, numel=25557032))
    assert got["progress.at_epoch_end"] is True
    assert got["watchdog.last_phase"] == "train"
    assert "watchdog.barrier_like" not in got


def test_ranks_that_ran_apart() -> None:
    got = facts(timeout(0, op="BROADCAST") + timeout(1, seq=91, numel=4096))
    assert got["watchdog.ops_differ"] is True
    assert got["watchdog.seq_differs"] is True


def test_the_same_place_on_all_ranks() -> None:
    got = facts(timeout(0) + timeout(1) + timeout(2))
    assert not {"watchdog.ops_differ", "watchdog.seq_differs", "watchdog.silent_ranks"} & set(got)


def test_named_laggards() -> None:
    assert (
        facts(" - [2] finished collective #13, but didn't join collective #14 (count from 1)")["watchdog.lagging_ranks"]
        == "2"
    )
    assert facts("[Rank 0]: Ranks 1, 2 failed to pass monitoredBarrier in 30000 ms")["watchdog.lagging_ranks"] == "1,2"


def test_fingerprint_mismatch() -> None:
    got = facts(
        "RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running collective: CollectiveFingerPrint(SequenceNumber=485, "
        "OpType=BROADCAST, TensorShape=[1], TensorDtypes=Long, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cuda)), but Rank 1 is running "
        "collective: CollectiveFingerPrint(SequenceNumber=485, OpType=ALLREDUCE, TensorShape=[25], TensorDtypes=Float, "
        "TensorDeviceTypes=TensorOptions(dtype=float (default), device=cuda)).Collectives differ in the following aspects: Op type: BROADCASTvs ALLREDUCE"
    )
    assert got["fingerprint.differs_in"] == "op,shape,dtype"
    assert got["fingerprint.ops"] == "BROADCAST vs ALLREDUCE"


def test_status_of_each_rank() -> None:
    text = (
        "[rank7]:[E1129 11:56:57.6 ProcessGroupNCCL.cpp:1834] [PG ID 0 PG GUID 0(default_pg) Rank 7] Timeout at NCCL work: 28956, "
        "last enqueued NCCL work: 28960, last completed NCCL work: 28955.\n"
    )
    found = {(f.key, str(f.subject)): f.value for f in watchdog.parse(Document("a.log", text))}
    assert found[("watchdog.enqueued", "rank 7")] == 28960
    assert found[("watchdog.completed", "rank 7")] == 28955


PY_SPY = """$ py-spy dump --pid 211064
Process 211064: python train.py
Python v3.10.13 (/usr/bin/python3.10)

Thread 211064 (idle): "MainThread"
    wait (threading.py:306)
    get (queue.py:180)
    _try_get_data (torch/utils/data/dataloader.py:1011)
    _next_data (torch/utils/data/dataloader.py:1275)
    train (train.py:88)
Thread 211190 (active): "Thread-3"
    run (threading.py:953)
"""


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (PY_SPY, "dataloader"),
        (
            'Process 1: python\nThread 1 (active): "MainThread"\n    barrier (torch/distributed/distributed_c10d.py:2784)\n',
            "collective",
        ),
        (
            'Process 1: python\nThread 1 (active): "MainThread"\n    _save (torch/serialization.py:655)\n    save_checkpoint (train.py:10)\n',
            "checkpoint",
        ),
        (
            'Thread 0x00007f1c00 (most recent call first):\n  File "/usr/lib/python3.10/site-packages/torch/distributed/distributed_c10d.py", line 2784 in all_reduce\n',
            "collective",
        ),
        (
            'Thread 1 (LWP 40117) "python3":\n#0  0x00007fec9b630c50 in ?? () from lib/libcuda.so.1\n#12 0x00007fecdf7a56c8 in ncclLaunchKernel(ncclComm*, ncclKernelPlan*) ()\n',
            "collective",
        ),
        (
            'Process 1: python\nThread 1 (active): "MainThread"\n    compile_fx (torch/_inductor/compile_fx.py:100)\n',
            "compile",
        ),
    ],
)
def test_where_a_process_stands(text: str, where: str) -> None:
    found = [f.value for f in stack_dump.parse(Document("dump.txt", text)) if f.key == "stack.where"]
    assert found == [where]


@pytest.mark.parametrize("module", [watchdog, stack_dump])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "WorkNCCL(",
        "Detected mismatch between collectives on ranks.",
        "Thread",
        "#0  0x",
        "last enqueued work: -1",
        "[Rank 0]: Rank",
    ],
)
def test_damaged_text_is_no_error(module: object, text: str) -> None:
    list(module.parse(Document("x.log", text)))  # type: ignore[attr-defined]
