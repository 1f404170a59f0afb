"""Collectives as NCCL logs them: what is kept of each rank, and what ranks are compared by."""

from __future__ import annotations

from assistant.derive import n17_calls
from assistant.facts import CaseFile, Fact
from assistant.intake.document import Document
from assistant.parsers import nccl_calls

START = "n{0}:4{1}:9 [0] NCCL INFO ncclCommInitRankConfig comm 0x55d{1} rank {1} nranks 4 cudaDev 0 nvmlDev 0 busId 1b000 commId 0x9bb2 - Init START\n"
CALL = (
    "n{0}:4{1}:9 [0] NCCL INFO {2}: opCount {3:x} sendbuff 0x7f2b recvbuff 0x7f2c count {4} datatype 7 op 0 root 0 "
    "comm 0x55d{1} [nranks=4] stream 0x55d0\n"
)


def log(rank: int, count: int, other: dict[int, tuple[str, int]] | None = None) -> str:
    calls = [(other or {}).get(n, ("AllReduce", 1024)) for n in range(count)]
    return START.format(rank // 2, rank) + "".join(
        CALL.format(rank // 2, rank, name, n, size) for n, (name, size) in enumerate(calls)
    )


def facts(text: str, name: str = "job.log") -> list[Fact]:
    return [*nccl_calls.parse(Document(name, text))]


def odd(*logs: str) -> list[tuple[str, str, str]]:
    case = CaseFile([fact for text in logs for fact in facts(text)])
    return [(f.key, f.subject.name, str(f.value)) for f in n17_calls.derive(case)]


def test_last_and_marked_calls_are_kept() -> None:
    found = facts(log(1, 300))
    assert [f.value for f in found if f.key == "nccl.call_last"] == ["0x9bb2/4 #299"]
    numbers = [str(f.value).split("#")[1].split()[0] for f in found if f.key == "nccl.call"]
    assert numbers == ["8", "16", "64", "256", "296", "297", "298", "299"]
    assert {f.subject.name for f in found} == {"1"}


def test_another_call_on_one_rank() -> None:
    logs = [log(r, 20, {19: ("Broadcast", 8)} if r == 2 else None) for r in range(4)]
    said = "call 19 is Broadcast of 8 (type 7) root 0; 3 others have AllReduce of 1024 (type 7)"
    assert odd(*logs) == odd("".join(logs)) == [("odd.call", "2", said)]


def test_another_count_long_before_the_end() -> None:
    logs = [log(r, 200, {33: ("AllReduce", 1025)} if r == 2 else None) for r in range(4)]
    assert odd(*logs) == [("odd.call", "2", "calls 16 to 63 differ in function or count; 3 others agree")]


def test_a_rank_that_stops() -> None:
    assert odd(*(log(r, 17 if r == 1 else 20) for r in range(4))) == [
        ("odd.call_last", "1", "last call 16; 3 others have 19")
    ]


def test_ranks_of_a_job_that_goes_on_are_apart() -> None:
    assert odd(*(log(r, 20 + r) for r in range(4))) == []


def test_point_to_point_calls_are_not_compared() -> None:
    logs = [log(r, 20, {7: ("Send" if r % 2 else "Recv", 64 + r)}) for r in range(4)]
    assert odd(*logs) == []


def test_calls_at_one_number_are_taken_together() -> None:
    """Of a group of calls all have the number of the first."""
    both = log(0, 1) + CALL.format(0, 0, "AllGather", 0, 64)
    assert [str(f.value) for f in facts(both) if f.key == "nccl.call"] == [
        "0x9bb2/4 #0 AllReduce 1024 type 7, AllGather 64 type 7"
    ]
