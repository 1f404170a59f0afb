"""Ranks of processes from NCCL's own lines."""

from __future__ import annotations

from assistant.intake.document import Document
from assistant.intake.nccl_ranks import ranks_of

LOG = """\
n1:100:140 [0] NCCL INFO comm 0x55d0 rank 8 nranks 16 cudaDev 0 busId 4b000 - Init COMPLETE
n1:100:140 [0] NCCL INFO comm 0x66d0 rank 1 nranks 2 cudaDev 0 busId 4b000 - Init COMPLETE
n1:101:141 [1] NCCL INFO Channel 00/0 : 9[1] -> 10[2] via P2P/IPC
n1:102:142 [2] NCCL INFO Channel 00/0 : 9[1] -> 10[2] [receive] via NET/IB/0
n1:103:143 [3] proxy.cc:1519 NCCL WARN [Proxy Service 3] Failed to execute operation Setup from rank 11, retcode 1
n1:101:150 [1] include/alloc.h:178 NCCL WARN Cuda failure 'out of memory'"""


def test_the_largest_communicator_tells_the_rank() -> None:
    assert ranks_of(LOG) == {("n1", "100"): 8, ("n1", "101"): 9, ("n1", "102"): 10, ("n1", "103"): 11}


def test_a_later_line_of_the_process_knows_its_rank() -> None:
    document = Document("job.log", LOG)
    assert document.origin(5).rank == 9
    assert document.origin(5).host == "n1"


def test_a_text_without_nccl_has_none() -> None:
    assert ranks_of("step 1 loss 2.0\n" * 10) == {}
