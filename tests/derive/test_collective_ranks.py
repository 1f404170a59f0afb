"""Ranks of a collective that hangs, each with its own log: the place is the one that does not stand with the others."""

from __future__ import annotations

import pytest

from assistant.derive import n54_collective_ranks
from assistant.facts import CaseFile, Fact, Input
from assistant.intake.document import Document
from assistant.parsers import collective_debug, ddp_logging, horovod_stall, watchdog


def case(*texts: str) -> CaseFile:
    """One document for each text, as of ranks that log to files of their own."""
    return named({f"rank{number}.log": text for number, text in enumerate(texts)})


def named(texts: dict[str, str]) -> CaseFile:
    result = CaseFile()
    for name, text in texts.items():
        document = Document(name, text)
        result.inputs.append(Input(name, len(text), text.count("\n"), "log"))
        for module in (watchdog, collective_debug, ddp_logging, horovod_stall):
            result.add(module.parse(document))
    return result


def told(c: CaseFile, key: str) -> dict[str, object]:
    return {str(f.subject): f.value for f in [*c.facts, *n54_collective_ranks.derive(c)] if f.key == key}


def timeout(rank: int, seq: int = 90, op: str = "ALLREDUCE", numel: int = 4096) -> str:
    return (
        f"[rank{rank}]:[E1129 11:56:57.204055508 ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective operation timeout: "
        f"WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn={numel}, NumelOut={numel}, Timeout(ms)=600000) ran for 600001 milliseconds before timing out.\n"
    )


def counters(rank: int, enqueued: int, completed: int, group: str = "PG ID 0 PG GUID 0(default_pg)") -> str:
    return (
        f"[rank{rank}]:[E1129 11:56:57.6 ProcessGroupNCCL.cpp:1834] [{group} Rank {rank}] Timeout at NCCL work: {completed + 1}, "
        f"last enqueued NCCL work: {enqueued}, last completed NCCL work: {completed}.\n"
    )


def test_the_rank_that_called_fewer_collectives() -> None:
    c = case(*(counters(r, 88 if r == 5 else 91, 88 if r == 5 else 89) for r in range(8)))
    assert told(c, "watchdog.behind_enqueued") == {"rank 5": 3}
    assert told(c, "watchdog.behind_completed") == {}
    (fact,) = [f for f in n54_collective_ranks.derive(c) if f.key == "watchdog.behind_enqueued"]
    assert fact.origin.file == "rank5.log"
    assert "last enqueued NCCL work: 88" in str(fact.origin.quote)


def test_the_rank_that_is_stuck_inside_a_collective_all_called() -> None:
    c = case(*(counters(r, 91, 85 if r == 2 else 90) for r in range(4)))
    assert told(c, "watchdog.behind_completed") == {"rank 2": 5}
    assert told(c, "watchdog.all_called") == {"job": 91}


def test_groups_are_compared_by_themselves() -> None:
    tensor = "PG ID 2 PG GUID 3(tensor_model_parallel_group)"
    c = case(*(counters(r, 50, 49) + counters(r, 7000 + (r == 1), 6999, tensor) for r in range(4)))
    assert told(c, "watchdog.behind_enqueued") == {}


def test_the_rank_at_a_lower_number_and_the_one_in_another_operation() -> None:
    c = case(*(timeout(r, 90 if r == 3 else 91) for r in range(8)))
    assert told(c, "watchdog.behind_seq") == {"rank 3": 1}
    c = case(*(timeout(r, op="BROADCAST", numel=1) if r == 6 else timeout(r) for r in range(8)))
    assert told(c, "watchdog.odd_op") == {"rank 6": "#90 BROADCAST(1:1), most: ALLREDUCE(4096:4096)"}
    assert told(c, "watchdog.ops_differ") == {"job": True}


def test_two_ranks_have_no_majority() -> None:
    assert told(case(timeout(0, 90), timeout(1, 91)), "watchdog.behind_seq") == {}


def test_the_rank_that_never_reported() -> None:
    c = case(*(timeout(r) if r != 4 else "world_size: 8\nEpoch 3 step 20 loss 1.2" for r in range(8)))
    assert told(c, "watchdog.silent_ranks") == {"job": "4"}
    assert told(c, "watchdog.ranks") == {"job": "0,1,2,3,5,6,7"}


def test_ranks_without_a_log_are_not_called_silent() -> None:
    c = named({f"rank{r}.log": timeout(r) for r in (0, 1, 2, 3, 4, 5, 6, 9)})
    assert told(c, "watchdog.silent_ranks") == told(c, "odd.watchdog") == {}
    c = named({f"rank_{r + 1}.log": in_group(r, "PG ID 0 PG GUID 0(default_pg)", r)[9:] for r in range(1, 16)})
    assert told(c, "watchdog.ranks") == {"job": ",".join(map(str, range(1, 16)))}
    assert told(c, "watchdog.silent_ranks") == told(c, "odd.watchdog") == {}


def test_the_silent_one_of_a_stream_of_all_ranks() -> None:
    c = named({"train.log": "".join(timeout(r) for r in range(16) if r != 4)})
    assert told(c, "odd.watchdog") == {"rank 4": "reported no timeout; 15 others did"}


def in_group(rank: int, group: str, within: int, seq: int = 90, op: str = "ALLREDUCE") -> str:
    line = timeout(rank, seq, op).replace(f"[Rank {rank}]", f"[{group} Rank {within}]")
    return line + counters(rank, seq, seq - 1, group).replace(f" Rank {rank}]", f" Rank {within}]")


def test_groups_of_one_number_are_told_apart_by_their_guid() -> None:
    def logs(form: str) -> CaseFile:
        stage = {r: (80, "BROADCAST") if r < 4 else (90, "ALLREDUCE") for r in range(16)}
        return case(*(in_group(r, form.format(r // 4 + 17), r % 4, *stage[r]) for r in range(16)))

    for form in ("PG ID 1 PG GUID {}(mesh_tp)", "PG 1"):
        c = logs(form)
        for key in ("watchdog.odd_op", "watchdog.behind_enqueued", "watchdog.behind_completed", "odd.watchdog"):
            assert told(c, key) == {}, (form, key)
    c = case(*(in_group(r, "PG ID 1 PG GUID 17(mesh_tp)", r, 88 if r == 2 else 90) for r in range(4)))
    assert told(c, "watchdog.behind_enqueued") == {"rank 2": 2}


def test_the_last_report_of_a_file_counts() -> None:
    c = case(
        *((timeout(r, 30) + counters(r, 30, 29) if r < 2 else "") + timeout(r) + counters(r, 90, 89) for r in range(8))
    )
    for key in ("odd.watchdog", "watchdog.seq_differs", "watchdog.behind_seq", "watchdog.behind_enqueued"):
        assert told(c, key) == {}, key


def test_runs_in_several_folders_are_compared_each_by_itself() -> None:
    first = {f"run1/rank_{r}.log": timeout(r, 30) for r in range(2)}
    c = named(first | {f"run2/rank_{r}.log": timeout(r) for r in range(8)})
    assert told(c, "odd.watchdog") == told(c, "watchdog.seq_differs") == {}
    c = named(first | {f"run2/rank_{r}.log": timeout(r, 88 if r == 5 else 90) for r in range(8)})
    assert told(c, "odd.watchdog") == {"rank 5": "timed out at 88; 7 others at 90"}
    c = named({f"{'a' if r < 4 else 'b'}/rank_{r}.log": timeout(r, 88 if r == 5 else 90) for r in range(8)})
    assert told(c, "watchdog.behind_seq") == {"rank 5": 2}


def test_two_files_of_a_rank_in_one_folder_leave_it_out() -> None:
    c = named(
        {f"rank_{r}.log": timeout(r) for r in range(8)} | {"rank_0.old.log": timeout(0, 30).replace("[E1129", "[E")}
    )
    assert told(c, "odd.watchdog") == told(c, "watchdog.silent_ranks") == {}


def fingerprint(seq: int, op: str, shape: str) -> str:
    return (
        f"CollectiveFingerPrint(SequenceNumber={seq}, OpType={op}, TensorShape=[{shape}], TensorDtypes=Float, TensorDeviceTypes="
        "TensorOptions(dtype=float (default), device=cpu, layout=Strided (default), requires_grad=false (default), pinned_memory=false (default), "
        "memory_format=(nullopt)))"
    )


def mismatch(rank: int, own: str, peer: int, other: str, aspects: str) -> str:
    return (
        f"[rank{rank}]: RuntimeError: Detected mismatch between collectives on ranks. Rank {rank} is running collective: {own}, "
        f"but Rank {peer} is running collective: {other}.Collectives differ in the following aspects: \t {aspects}\n"
    )


def test_fingerprints_of_a_run_in_which_one_rank_broadcasts() -> None:
    """As torch 2.13 prints it: every rank compares itself with the first that differs."""
    reduce, broadcast = fingerprint(1, "ALLREDUCE", "4"), fingerprint(1, "BROADCAST", "4")
    c = case(
        *(
            mismatch(r, broadcast, 0, reduce, "Op type: BROADCASTvs ALLREDUCE")
            if r == 2
            else mismatch(r, reduce, 2, broadcast, "Op type: ALLREDUCEvs BROADCAST")
            for r in range(4)
        )
    )
    assert told(c, "fingerprint.differs_in") == {"job": "op"}
    odd = told(c, "fingerprint.odd_rank")
    assert list(odd) == ["rank 2"]
    assert str(odd["rank 2"]).startswith("seq=1 op=BROADCAST shape=4 dtype=Float device=cpu, most: seq=1 op=ALLREDUCE")


def test_fingerprints_that_differ_in_shape() -> None:
    four, five = fingerprint(0, "ALLREDUCE", "4"), fingerprint(0, "ALLREDUCE", "5")
    c = case(*(mismatch(r, four, 1, five, "Tensor Tensor shapes: 4vs 5") for r in (0, 2, 3)))
    assert told(c, "fingerprint.differs_in") == {"job": "shape"}
    assert list(told(c, "fingerprint.odd_rank")) == ["rank 1"]


def test_fingerprints_without_commas_of_older_versions() -> None:
    text = (
        "Detected mismatch between collectives on ranks. Rank 0 is running collective: CollectiveFingerPrint(SequenceNumber=1649OpType=BARRIER), "
        "but Rank 1 is running collective: CollectiveFingerPrint(SequenceNumber=0OpType=GATHER).Collectives differ in the following aspects: \t "
        "Sequence number: 1649vs 0  Op type: BARRIERvs GATHER"
    )
    c = case(text)
    assert told(c, "fingerprint.differs_in") == {"job": "op,sequence"}
    assert told(c, "fingerprint.ops") == {"job": "BARRIER vs GATHER"}


def test_the_rank_that_called_fewest_collectives_under_detail() -> None:
    texts = [
        "".join(
            f"[rank{r}]:[I1130 21:59:51.957171250 ProcessGroupWrapper.cpp:710] [Rank {r}] Running collective: {fingerprint(n, 'ALLREDUCE', '4')}\n"
            for n in range(12 if r == 1 else 20)
        )
        for r in range(4)
    ]
    assert told(case(*texts), "fingerprint.behind") == {"rank 1": 8}
    assert str(told(case(*texts), "fingerprint.last")["rank 1"]).startswith("seq=11 op=ALLREDUCE shape=4")


def test_desync_report() -> None:
    text = (
        "[rank0]:[E ProcessGroupNCCL.cpp:1316] [Rank 0] \n\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:\n"
        "\t   - [1] joined but didn't finish collective #7 (count from 1)\n"
        "\t     [2, 3] finished collective #7, but didn't join collective #8 (count from 1)\n"
        "\t - Snapshot of ranks' latest states:\n\t   #7 finished ranks:\n\t     [2, 3] finished ALLREDUCE\n"
        "\t   #7 started ranks:\n\t     [1] started ALLREDUCE\n\t   #8 started ranks:\n\t     [0] started ALLGATHER\n"
    )
    c = case(text)
    assert told(c, "watchdog.lagging_ranks") == {"job": "1,2,3"}
    assert told(c, "desync.late") == {"rank 1": "not-finished", "rank 2": "not-joined", "rank 3": "not-joined"}
    assert told(c, "desync.state") == {
        "rank 0": "#8 started ALLGATHER",
        "rank 1": "#7 started ALLREDUCE",
        "rank 2": "#7 finished ALLREDUCE",
        "rank 3": "#7 finished ALLREDUCE",
    }


def test_a_rank_that_never_joined() -> None:
    text = "\n\t - To our best knowledge, ranks [47] are the lagging ranks that caused this timeout. They never joined any collectives"
    assert told(case(text), "desync.late") == {"rank 47": "never-joined"}


@pytest.mark.parametrize(
    ("text", "ranks"),
    [
        (
            "[rank0]:[E1130 22:00:09.6 ProcessGroupGloo.cpp:67] [Rank 0]: Ranks 1, 3 failed to pass monitoredBarrier in 2000 ms",
            "1,3",
        ),
        ("RuntimeError: Rank 1 failed to pass monitoredBarrier in 2000 ms\n Original exception:", "1"),
        ("[Rank 0]: Rank 7 timed out in monitoredBarrier after 30000 ms.", "7"),
    ],
)
def test_monitored_barrier(text: str, ranks: str) -> None:
    assert told(case(text), "watchdog.lagging_ranks") == {"job": ranks}


def test_a_rank_that_reached_the_barrier_is_not_the_guilty_one() -> None:
    text = "Rank 2 successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank."
    assert told(case(text), "desync.late") == {}


def test_parameters_without_gradient_on_some_ranks_only() -> None:
    line = "[rank{r}]: Parameters which did not receive grad for rank {r}: {n}\n[rank{r}]: Parameter indices which did not receive grad for rank {r}: 2 3\n"
    same = case(*(line.format(r=r, n="m.b.bias, m.b.weight") for r in range(3)))
    assert told(same, "ddp.unused")["rank 1"] == "m.b.bias, m.b.weight"
    assert told(same, "ddp.unused_differs") == {}
    other = case(*(line.format(r=r, n="m.b.bias" if r else "m.c.bias") for r in range(3)))
    assert told(other, "ddp.unused_differs") == {"job": True}


HEAD = (
    "One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks and are waiting for remainder of ranks for more "
    "than 60 seconds. This may indicate that different ranks are trying to submit different tensors.\n"
)


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        (
            f"[2020-07-12 10:11:12.345: W horovod/common/stall_inspector.cc:105] {HEAD}Missing ranks:\n1: [grads_0, grads_1 ...]\n3!: [grads_0]\n",
            "1,3",
        ),
        (
            f"[1,0]<stderr>:[2020-01-15 22:44:33.2: W horovod/common/stall_inspector.cc:105] {HEAD}\n[1,0]<stderr>:Stalled ranks:\n[1,0]<stderr>:0: [HorovodAllreduce]\n",
            "0",
        ),
        (
            f"WARNING: {HEAD}Stalled ops:\nHorovodBroadcast_fully_connected_weights_0 [missing ranks: 0]\nHorovodBroadcast_x_0 [missing ranks: 0, 2]\n",
            "0,2",
        ),
        (
            "[2019-04-13 13:57:31.866068: W horovod/common/operations.cc:588] HorovodBroadcast_dense_1_kernel_0 [missing ranks: 1]\n",
            "1",
        ),
        (
            f"WARNING: {HEAD}Stalled ops: allreduce.conv1.weight [ready ranks: 5, 1, 4, 7, 2, 3], allreduce.bn1.weight [ready ranks: 5, 1, 4, 7, 2, 3]\n",
            "0,6",
        ),
    ],
)
def test_horovod_of_all_versions(text: str, missing: str) -> None:
    c = case(text)
    assert told(c, "horovod.missing_ranks") == {"job": missing}
    assert set(told(c, "horovod.missing_rank")) == {f"rank {n}" for n in missing.split(",")}


def test_fragments_do_no_harm() -> None:
    for text in (
        "WorkNCCL(",
        "last enqueued NCCL work: -1, last completed",
        "didn't join",
        "#7 started ranks:",
        "[ready ranks:",
        "Stalled ranks:\n0: [",
    ):
        facts: list[Fact] = case(text).facts
        assert isinstance(facts, list)
