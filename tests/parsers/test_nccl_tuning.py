"""Choices of algorithm and protocol as NCCL 2.22, 2.23 and 2.24 to 2.30 log them, and tables of NCCL 2.8, 2.18 and 2.30."""

from __future__ import annotations

import time

import pytest

from assistant.derive import n12_nccl_tuning
from assistant.facts import CaseFile, Fact, Origin, Value
from assistant.intake.document import Document
from assistant.parsers import nccl_tuning

HEAD = "gpu-a07:184233:184310 [0] NCCL INFO "
TABLE_2_18 = """\
  Algorithm   |                            Tree                  |                            Ring                  |                   CollNetDirect                  |
  Protocol    |             LL |          LL128 |         Simple |             LL |          LL128 |         Simple |             LL |          LL128 |         Simple |
 Max NThreads |            512 |            640 |            512 |            512 |            640 |            512 |              0 |              0 |            640 |
    Broadcast |     0.0/   0.0 |     0.0/   0.0 |     0.0/   0.0 |     9.6/  40.0 |    17.4/ 147.2 |    21.2/ 160.0 |     0.0/   0.0 |     0.0/   0.0 |     0.0/   0.0 |
    AllReduce |    20.4/  25.9 |    33.6/{ll128} |   155.1/  82.3 |    26.4/  25.6 |    52.2/{ll128} |   182.5/  85.3 |     0.0/   0.0 |     0.0/   0.0 |    30.7/   0.0 |
"""
TABLE_2_8 = """\
Latency/AlgBw |    Tree/    LL |    Tree/ LL128 |    Tree/Simple |    Ring/    LL |    Ring/ LL128 |    Ring/Simple | CollNet/    LL | CollNet/ LL128 | CollNet/Simple |
 Max NThreads |            512 |            640 |            512 |            512 |            640 |            512 |            256 |            256 |            512 |
    AllReduce |    14.4/   0.0 |    31.6/   0.0 |    56.0/   0.0 |    23.2/   5.2 |    41.0/   0.0 |   101.6/  10.5 |     4.4/   0.0 |     4.4/   0.0 |    12.8/   0.0 |
"""


def log(text: str) -> str:
    return "".join(HEAD + line + "\n" for line in text.splitlines())


def parse(text: str) -> list[Fact]:
    return list(nccl_tuning.parse(Document("rank0.log", log(text))))


def values(found: list[Fact], key: str) -> list[Value]:
    return [f.value for f in found if f.key == key]


@pytest.mark.parametrize(
    ("line", "choice"),
    [
        ("33554432 Bytes -> Algo 1 proto 2 time 421.500000", "collective of 32 MiB: RING/SIMPLE"),
        ("AllReduce: 8192 Bytes -> Algo 0 proto 0 time 21.500000", "AllReduce of 8 KiB: TREE/LL"),
        (
            "AllReduce: 33554432 Bytes -> Algo NVLS proto SIMPLE channel{Lo..Hi}={0..15}",
            "AllReduce of 32 MiB: NVLS/SIMPLE",
        ),
        ("AllGather: 1048576 Bytes -> Algo PAT proto SIMPLE channel{Lo..Hi}={0..7}", "AllGather of 1 MiB: PAT/SIMPLE"),
    ],
)
def test_choices_of_all_versions(line: str, choice: str) -> None:
    found = parse(line)
    assert values(found, "tuning.choice") == [choice]
    assert not values(found, "tuning.odd_choice")


def test_ll_at_a_large_message() -> None:
    found = parse("AllReduce: 268435456 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}")
    assert values(found, "tuning.odd_choice") == ["LL at a large message"]
    assert values(found, "tuning.odd_example") == ["AllReduce of 256 MiB: RING/LL"]
    assert values(found, "tuning.channels_large") == [2]


def test_simple_at_a_small_message() -> None:
    assert values(
        parse("AllReduce: 1024 Bytes -> Algo TREE proto SIMPLE channel{Lo..Hi}={0..0}"), "tuning.odd_choice"
    ) == ["SIMPLE at a small message"]
    assert not values(
        parse("AllReduce: 1024 Bytes -> Algo NVLS proto SIMPLE channel{Lo..Hi}={0..0}"), "tuning.odd_choice"
    )


def test_ring_for_small_messages_of_a_large_job() -> None:
    case = CaseFile(parse("AllReduce: 4096 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}"))
    assert list(n12_nccl_tuning.derive(case)) == []
    case.add([Fact("nccl.nnodes", 32, Origin("log"))])
    assert [(f.key, f.value) for f in n12_nccl_tuning.derive(case)] == [("tuning.ring_on_many_nodes", 32)]


def test_table_2_18() -> None:
    found = parse(TABLE_2_18.replace("{ll128}", " 92.1"))
    assert values(found, "tuning.model_algbw_gbs") == [92.1]
    assert not values(found, "tuning.algo_off")
    assert not values(found, "tuning.proto_off")
    found = parse(TABLE_2_18.replace("{ll128}", "  0.0"))
    assert values(found, "tuning.proto_off") == ["LL128"]


def test_table_2_8_with_tree_switched_off() -> None:
    found = parse(TABLE_2_8)
    assert values(found, "tuning.algo_off") == ["Tree"]
    assert values(found, "tuning.proto_off") == ["LL128"]
    assert values(found, "tuning.model_algbw_gbs") == [10.5]


def test_bounded_and_fast() -> None:
    ops = ("AllReduce", "AllGather", "ReduceScatter")
    text = "\n".join(
        f"{ops[n % 3]}: {4096 + 512 * n} Bytes -> Algo RING proto {'LL' if n < 9000 else 'SIMPLE'} channel{{Lo..Hi}}={{0..{n % 24}}}"
        for n in range(60_000)
    )
    start = time.process_time()
    found = parse(text)
    assert time.process_time() - start < 1.5
    assert len(found) < 40


def test_truncated_text_is_no_error() -> None:
    text = log(TABLE_2_18 + "AllReduce: 268435456 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}")
    for cut in range(0, len(text), 37):
        list(nccl_tuning.parse(Document("x", text[:cut])))
        list(nccl_tuning.parse(Document("x", text[cut:])))
