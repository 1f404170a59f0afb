"""Several tables of nccl-tests, and what the rows of one table say together."""

from __future__ import annotations

import pytest

from assistant.derive import n12_nccl_tests_runs, n33_nccl_tests_parts
from assistant.facts import CaseFile, Fact, Origin, Value
from assistant.intake.document import Document
from assistant.parsers import nccl_tests

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
SIZES = [1 << n for n in range(3, 34)]


def head(*hosts: str, per_host: int = 8, op: str = "all_reduce") -> str:
    ranks = [(host, dev) for host in hosts for dev in range(per_host)]
    lines = "".join(
        f"#  Rank {rank:2d} Group  0 Pid {1929 + rank:6d} on {host:>10} device {dev:2d} [0000:{16 + dev:x}:00] NVIDIA H100 80GB HBM3\n"
        for rank, (host, dev) in enumerate(ranks)
    )
    return (
        "# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22807\n"
        f"# Collective test starting: {op}_perf\n"
        "# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0\n"
        "#\n# Using devices\n" + lines + "#\n"
        "#                                                              out-of-place                       in-place          \n"
        "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       \n"
    )


def row(size: int, time: float, ranks: int, inside: float | None = None, wrong: int = 0) -> str:
    def cells(us: float) -> str:
        algbw = size / us / 1000
        return f"{us:9.2f} {algbw:7.2f} {algbw * 2 * (ranks - 1) / ranks:7.2f}"

    return f"{size:12d}  {size // 4:12d}     float     sum      -1 {cells(time)} {wrong:6d} {cells(inside or time)} {wrong:6d}\n"


def table(*hosts: str, alpha: float = 35.0, busbw: float = 400.0, op: str = "all_reduce", per_host: int = 8) -> str:
    """A table whose times follow alpha + bytes / beta."""
    ranks = len(hosts) * per_host
    algbw = busbw / (2 * (ranks - 1) / ranks)
    rows = "".join(row(size, alpha + size / algbw / 1000, ranks) for size in SIZES)
    return (
        head(*hosts, per_host=per_host, op=op)
        + rows
        + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 101.5\n#\n"
    )


def parse(*texts: str) -> list[Fact]:
    return [f for n, text in enumerate(texts) for f in nccl_tests.parse(Document(f"run{n}.txt", text))]


def values(found: list[Fact], key: str) -> list[Value]:
    return [f.value for f in found if f.key == key]


def derived(*texts: str) -> dict[str, list[tuple[Value, str]]]:
    found: dict[str, list[tuple[Value, str]]] = {}
    for fact in n12_nccl_tests_runs.derive(CaseFile(parse(*texts))):
        found.setdefault(fact.key, []).append((fact.value, str(fact.subject)))
    return found


def test_latency_and_bandwidth_of_a_table() -> None:
    found = parse(table("n1", "n2", alpha=38.0, busbw=380.0))
    assert values(found, "nccl_tests.alpha_us")[0] == pytest.approx(38.1, abs=0.3)
    assert values(found, "nccl_tests.beta_gbs")[0] == pytest.approx(380.0, rel=0.01)
    assert not values(found, "nccl_tests.dip_kind")


def test_one_disturbed_row_does_not_change_the_fit() -> None:
    text = table("n1", "n2", alpha=38.0, busbw=380.0)
    lines = text.split("\n")
    at = next(i for i, line in enumerate(lines) if line.split()[:1] == [str(256 * MIB)])
    lines[at] = row(256 * MIB, 40000.0, 16).rstrip("\n")
    found = parse("\n".join(lines))
    assert values(found, "nccl_tests.beta_gbs")[0] == pytest.approx(380.0, rel=0.15)
    assert values(found, "nccl_tests.dip_kind") == ["one-size"]
    assert str(values(found, "nccl_tests.dip_at")[0]).startswith("256 MiB: ")


def curve(points: dict[int, float], hosts: tuple[str, ...] = ("n1", "n2")) -> str:
    """A table of these bus bandwidths by size."""
    ranks = 8 * len(hosts)
    factor = 2 * (ranks - 1) / ranks
    return head(*hosts) + "".join(row(size, size / (bw / factor) / 1000, ranks) for size, bw in points.items())


@pytest.mark.parametrize(
    ("points", "kind"),
    [
        ({MIB: 60.0, 2 * MIB: 90.0, 4 * MIB: 45.0, 8 * MIB: 70.0, 64 * MIB: 250.0, GIB: 380.0}, "switch"),
        ({64 * MIB: 300.0, 256 * MIB: 350.0, GIB: 180.0, 2 * GIB: 120.0, 4 * GIB: 110.0}, "tail"),
        ({MIB: 60.0, 16 * MIB: 150.0, 64 * MIB: 250.0, GIB: 380.0}, None),
    ],
)
def test_kinds_of_dips(points: dict[int, float], kind: str | None) -> None:
    assert values(parse(curve(points)), "nccl_tests.dip_kind") == ([kind] if kind else [])


def test_in_place_against_out_of_place() -> None:
    ranks = 16
    text = head("n1", "n2") + "".join(row(s, s / 100e3, ranks, inside=s / 200e3) for s in (64 * MIB, 256 * MIB, GIB))
    assert values(parse(text), "nccl_tests.place_ratio") == [0.5]


def test_smallest_message_with_wrong_values() -> None:
    text = head("n1") + row(MIB, 90, 8) + row(4 * MIB, 120, 8, wrong=3) + row(16 * MIB, 200, 8, wrong=9)
    found = parse(text)
    assert values(found, "nccl_tests.wrong_from") == [4 * MIB]


def test_same_hosts_again() -> None:
    found = derived(table("n1", "n2", busbw=390.0), table("n1", "n2", busbw=210.0))
    assert found["nccl_tests.run_spread"][0][0] == pytest.approx(1.86, abs=0.01)
    assert "nccl_tests.odd_host" not in found


def test_host_that_makes_every_pair_slow() -> None:
    found = derived(
        table("n1", "n2"),
        table("n2", "n3", busbw=95.0),
        table("n1", "n4"),
        table("n3", "n4", busbw=97.0),
        table("n2", "n4"),
    )
    assert [s for _, s in found["nccl_tests.odd_host"]] == ["host n3"]
    assert "nccl_tests.odd_pair" not in found


def test_pair_that_is_slow_although_each_host_is_good() -> None:
    found = derived(table("n1", "n2"), table("n1", "n3", busbw=90.0), table("n2", "n3"), table("n1", "n4"))
    assert [s for _, s in found["nccl_tests.odd_pair"]] == ["link n1 - n3"]
    assert "nccl_tests.odd_host" not in found


def test_single_hosts_one_after_the_other_in_one_file() -> None:
    text = "".join(table(f"n{n}", busbw=130.0 if n == 4 else 470.0) for n in range(6))
    found = derived(text)
    assert [s for _, s in found["nccl_tests.odd_host"]] == ["host n4"]


def test_inside_against_between() -> None:
    found = derived(table("n1", busbw=470.0), table("n1", "n2", busbw=47.0))
    assert [v for v, _ in found["nccl_tests.between_over_inside"]] == [pytest.approx(0.1, abs=0.005)]


def test_runs_of_other_collectives_are_not_compared() -> None:
    found = derived(table("n1", "n2"), table("n1", "n2", busbw=90.0, op="alltoall"))
    assert "nccl_tests.run_spread" not in found


@pytest.mark.parametrize(
    ("alpha", "share", "net", "part"),
    [
        (38.0, 0.95, "IB", "neither"),
        (240.0, 0.92, "IB", "latency"),
        (38.0, 0.3, "IB", "bandwidth"),
        (400.0, 0.2, "IB", "both"),
        (110.0, 0.9, "Socket", "neither"),
        (95.0, 0.9, "AWS Libfabric", "neither"),
    ],
)
def test_part_that_is_worse(alpha: float, share: float, net: str, part: str) -> None:
    case = CaseFile(parse(table("n1", "n2", alpha=alpha)))
    case.add([Fact("nccl_tests.share_of_expected", share, Origin("derived")), Fact("nccl.net", net, Origin("log"))])
    assert [f.value for f in n33_nccl_tests_parts.derive(case) if f.key == "nccl_tests.bad_part"] == [part]


def test_large_jobs_may_take_longer() -> None:
    assert n33_nccl_tests_parts.usual_latency(256, "rdma") == pytest.approx(137.0)
    assert n33_nccl_tests_parts.usual_latency(1, "tcp") == 25.0
