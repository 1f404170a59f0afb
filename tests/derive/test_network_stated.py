"""Network figures under the user's own keys, and a GID index that nobody set."""

from __future__ import annotations

import pytest

from assistant.derive.n22_network_stated import derive
from assistant.facts import JOB, CaseFile, Fact, Origin, Subject, Value


def log(key: str, value: Value, nic: str = "") -> Fact:
    return Fact(key, value, Origin("log", "a.log", 1), Subject("nic", nic) if nic else JOB)


def found(facts: list[Fact], says: list[str] | None = None) -> dict[str, Value]:
    return {f.key: f.value for f in derive(CaseFile(facts, says=says or []))}


@pytest.mark.parametrize(
    ("stated", "rtt"),
    [
        ("round_trip_ms_longest: 3", 3.0),
        ("ping_between_nodes: 35 ms", 35.0),
        ("rtt_us: 80", 0.08),
        ("ping: about 0.12 ms", 0.12),
    ],
)
def test_round_trips_under_keys_of_the_users_own(stated: str, rtt: float) -> None:
    assert found([], [stated])["net.rtt_ms"] == pytest.approx(rtt)


@pytest.mark.parametrize(
    "stated", ["ping: works", "step_time_ms: 300", "pinned_memory_ms: 3", "mapping: 12 ms", "ping: 3 of 3 answered"]
)
def test_other_keys_are_no_round_trips(stated: str) -> None:
    assert "net.rtt_ms" not in found([], [stated])


def test_a_measured_round_trip_wins() -> None:
    assert found([log("net.rtt_ms", 0.1)], ["ping_ms: 12"]) == {}


def test_two_mtus() -> None:
    assert found([], ["mtu_node1: 9000", "mtu_node2: 1500"])["net.mtu_differs"] == "mtu_node1 9000, mtu_node2 1500"
    assert found([], ["mtu: 9000 on the hosts, 1500 on the switch"])["net.mtu_differs"] == "mtu 9000, mtu 1500"
    assert found([], ["mtu: 9000 everywhere"]) == {}
    assert found([], ["batch_size_node1: 1500", "batch_size_node2: 9000"]) == {}


def test_gid_index_left_to_an_nccl_that_takes_the_first_row() -> None:
    facts = [log("gid.ipv4_index", 3, "mlx5_0:1"), log("nccl.hca_link", "RoCE")]
    assert found(facts)["net.gid_index_unset"] == "3"
    assert found([*facts, log("nccl_version", "2.18.3")])["net.gid_index_unset"] == "3"
    assert found([*facts, log("nccl_version", "2.22.3")]) == {}
    assert found([*facts, log("env.NCCL_IB_GID_INDEX", "3")]) == {}
    assert found([facts[0], log("nccl.hca_link", "IB")]) == {}
    assert found([log("gid.ipv4_index", 0, "mlx5_0:1"), facts[1]]) == {}
