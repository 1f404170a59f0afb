"""The host or rank on which the trouble is, told by those that wait for it or cannot reach it."""

from __future__ import annotations

import pytest

from assistant.derive import n19_stopped_before_init, n28_failed_peer
from assistant.facts import CaseFile, Fact, Input, Origin, Subject
from assistant.intake.document import Document
from assistant.parsers import nccl_init, nccl_log, slurm_messages


def failing(*pairs: tuple[int, int]) -> CaseFile:
    hosts = {n for pair in pairs for n in pair}
    lines = [f"n{n}:40:70 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.{n}<0>" for n in sorted(hosts)]
    lines += [
        f"n{a}:40:71 [0] transport/net_ib.cc:1698 NCCL WARN NET/IB: Got completion from peer 10.0.0.{b}<44521> with status=12 opcode=0 len=0 vendor err 129 (Send)"
        for a, b in pairs
    ]
    return CaseFile(list(nccl_log.parse(Document("a.log", "\n".join(lines)))))


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([(1, 4), (3, 4), (7, 4)], ["n4"]),
        ([(1, 4), (3, 4), (4, 1)], ["n4"]),
        ([(1, 4)], []),
        ([(1, 2), (2, 3), (3, 1)], []),
        ([(1, 4), (3, 4), (1, 5), (3, 5)], []),
    ],
)
def test_common_peer_of_failed_transfers(pairs: list[tuple[int, int]], expected: list[str]) -> None:
    found = list(n28_failed_peer.derive(failing(*pairs)))
    assert [f.subject.name for f in found] == expected
    assert [f.origin.host for f in found] == expected


def waiting(*more: Fact) -> CaseFile:
    return CaseFile(
        [
            Fact("odd.init", "never announced itself; 7 others wait", Origin("derived", rank=3), Subject("rank", "3")),
            *more,
        ]
    )


def test_rank_that_was_started_and_did_not_arrive() -> None:
    text = "n1:40:40 [3] NCCL INFO cudaDriverVersion 12040\nloading tokenizer from /lustre/tok\n"
    facts = list(nccl_init.parse(Document("rank_3.log", text)))
    found = list(n19_stopped_before_init.derive(waiting(*facts)))
    assert [(f.subject.name, f.value, f.origin.line) for f in found] == [("3", "loading tokenizer from /lustre/tok", 2)]


def test_log_without_lines_of_nccl() -> None:
    made = waiting()
    made.inputs.append(Input("logs/rank_3.log", 20, 1, "text"))
    assert [f.value for f in n19_stopped_before_init.derive(made)] == ["a log of 1 line without NCCL"]
    assert list(n19_stopped_before_init.derive(waiting())) == []


def test_task_that_slurm_ended_for_memory() -> None:
    init = "29: g4:41:45 [5] NCCL INFO comm 0x55d0 rank 29 nranks 64 cudaDev 5 nvmlDev 5 busId 1b000 commId 0x8f - Init START\n"
    line = "srun: error: g4: tasks 28-29: Out Of Memory"
    told = [f for f in slurm_messages.parse(Document("a.out", init + line)) if f.key.startswith("slurm.oom")]
    assert [(f.key, str(f.subject), f.value, f.origin.host, f.origin.rank) for f in told] == [
        ("slurm.oom_host", "host g4", "task 28-29", "g4", None),
        ("slurm.oom_rank", "rank 29", "g4", "g4", 29),
    ]
    told = list(slurm_messages.parse(Document("a.out", line)))
    assert not any(f.key == "slurm.oom_rank" for f in told)
