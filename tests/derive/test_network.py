"""What network facts say together."""

from __future__ import annotations

import pytest

from assistant.derive.n20_network import derive
from assistant.facts import JOB, CaseFile, Fact, Origin, Subject, Value


def tool(key: str, value: Value, nic: str = "", host: str | None = None, file: str = "a.txt") -> Fact:
    name = f"{host}/{nic}" if host else nic
    return Fact(key, value, Origin("tool", file, 1, host), Subject("nic", name) if nic else JOB)


def stated(key: str, value: Value) -> Fact:
    return Fact(key, value, Origin("stated"))


def found(facts: list[Fact], says: list[str] | None = None) -> dict[str, Value]:
    return {f.key: f.value for f in derive(CaseFile(facts, says=says or []))}


def test_a_port_below_the_stated_rate() -> None:
    ports = [tool("ib.rate_gbps", rate, f"mlx5_{n}:1") for n, rate in enumerate((200.0, 200.0, 200.0, 100.0))]
    result = found([*ports, stated("network_gbps", 200)])
    assert result["net.port_below_stated"] == "mlx5_3:1 100 of 200 Gbit/s"
    assert result["net.odd_port"] == "mlx5_3:1: 100.0 where its peers have 200.0"
    assert "net.port_below_stated" not in found([*ports[:3], stated("network_gbps", 200)])


def test_a_front_end_card_on_every_host_is_no_fault() -> None:
    ports = [
        tool("ib.rate_gbps", rate, f"mlx5_{n}:1", host)
        for host in ("a", "b")
        for n, rate in enumerate((400.0, 400.0, 400.0, 100.0))
    ]
    result = found([*ports, stated("network_gbps", 400)])
    assert "net.odd_port" not in result
    assert "net.port_below_stated" not in result


def test_one_port_down() -> None:
    ports = [tool("ib.state", state, f"mlx5_{n}:1") for n, state in enumerate(("Active", "Active", "Active", "Down"))]
    assert str(found(ports)["net.odd_port"]).startswith("mlx5_3:1: Down")


def test_mtu_differs_between_hosts() -> None:
    facts = [tool("nic.mtu", 9000, "ens1", "a"), tool("nic.mtu", 1500, "ens1", "b")]
    assert "net.mtu_differs" in found(facts)
    one_host = [tool("nic.mtu", 9000, "ens1", "a"), tool("nic.mtu", 1500, "eno1", "a")]
    assert "net.mtu_differs" not in found(one_host)
    active = [tool("ib.mtu", 4096, "mlx5_0:1", "a"), tool("ib.mtu", 1024, "mlx5_0:1", "b")]
    assert "net.mtu_differs" in found(active)


def test_two_interfaces_in_one_subnet() -> None:
    facts = [tool("nic.address", "10.20.3.12/20", "eno1", "a"), tool("nic.address", "10.20.5.12/20", "ens6f0", "a")]
    assert found(facts)["nic.same_subnet"] is True
    other = [tool("nic.address", "10.20.3.12/24", "eno1", "a"), tool("nic.address", "10.20.5.12/24", "ens6f0", "a")]
    assert "nic.same_subnet" not in found(other)
    two_hosts = [tool("nic.address", "10.20.3.12/20", "eno1", "a"), tool("nic.address", "10.20.3.13/20", "eno2", "b")]
    assert "nic.same_subnet" not in found(two_hosts)


def test_interface_below_its_fastest_mode() -> None:
    facts = [tool("nic.speed_gbps", 1.0, "eno1"), tool("nic.max_speed_gbps", 10.0, "eno1")]
    assert found(facts)["net.nic_below_max"] == "eno1: 1 of 10 Gbit/s"


def test_shares_of_the_stated_rate() -> None:
    result = found([tool("net.iperf_gbps", 9.4), stated("network_gbps", 100)])
    assert result["net.iperf_share"] == pytest.approx(0.094)
    assert result["net.slow_link_gbps"] == pytest.approx(9.4)
    assert found([tool("net.rdma_bw_gbps", 98.0), tool("ib.rate_gbps", 200.0, "mlx5_0:1")])["net.rdma_share"] == 0.49


@pytest.mark.parametrize(
    ("sentence", "rate"),
    [
        ("During a step we see 20 MB/s of traffic.", 0.16),
        ("nload shows 940 Mbit/s during training", 0.94),
        ("only about 500 to 800 MB/s on the wire", 6.4),
        ("network usage is around 1.1 GB/s", 8.8),
    ],
)
def test_traffic_that_the_user_saw(sentence: str, rate: float) -> None:
    result = found([stated("network", "ethernet-10g")], [sentence])
    assert result["net.observed_gbps"] == pytest.approx(rate, rel=0.01)
    assert result["net.wire_share"] == pytest.approx(rate / 10, rel=0.01)


def test_speed_of_training_is_not_traffic() -> None:
    assert "net.observed_gbps" not in found(
        [stated("network", "ethernet-10g")], ["Reading the data set runs at 300 MB/s."]
    )


def test_spread_between_measurements() -> None:
    assert found([tool("net.iperf_gbps", 9.4), tool("net.iperf_gbps", 0.94)])["net.pair_spread"] == 10.0


def test_gid_index_that_is_not_the_ipv4_row() -> None:
    row = tool("gid.ipv4_index", 3, "mlx5_0:1")
    assert found([row, Fact("env.NCCL_IB_GID_INDEX", "0", Origin("log"))])["net.gid_index_wrong"] == (
        "0 is set, 3 is the row with IPv4"
    )
    assert "net.gid_index_wrong" not in found([row, Fact("env.NCCL_IB_GID_INDEX", "3", Origin("log"))])


def test_route_over_another_interface_than_chosen() -> None:
    chosen = Fact("nccl.socket_ifnames", "ens1f0", Origin("log"))
    assert found([tool("route.device", "eno1"), chosen])["net.route_not_chosen"] == "eno1 and not ens1f0"
    assert "net.route_not_chosen" not in found([tool("route.device", "ens1f0"), chosen])
