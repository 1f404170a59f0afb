"""Facts that need several network tools at once."""

from __future__ import annotations

from assistant.derive import derive
from assistant.facts import CaseFile
from assistant.intake.document import Document
from assistant.parsers import parse


def derived(text: str) -> dict[str, object]:
    case = CaseFile(parse(Document("out.txt", text))[0])
    return {f.key: f.value for f in derive(case)}


ROUTES = "192.168.50.0/24 dev ens5f0 proto kernel scope link src 192.168.50.11\n"
FAILED = "a1:3312:3420 [0] misc/socket.cc:464 NCCL WARN Net : Connect to 192.168.51.12<39911> failed : Network is unreachable\n"
BACK = "node1$ ip route get 10.50.0.2\n10.50.0.2 dev ens8f0 src 10.50.0.1 uid 0\nnode2$ ip route get 10.50.0.1\n"


def test_peer_without_a_route() -> None:
    assert derived(ROUTES + FAILED)["net.peer_not_routed"] == "192.168.51.12"


def test_a_default_route_reaches_every_peer() -> None:
    assert "net.peer_not_routed" not in derived(ROUTES + "default via 10.0.0.1 dev bond0\n" + FAILED)


def test_answer_from_another_address() -> None:
    found = derived(BACK + "10.50.0.1 via 192.168.1.1 dev eno1 src 192.168.1.12 uid 0\n")
    assert found["net.asymmetric_route"] == "10.50.0.1 asks 10.50.0.2, which answers from 192.168.1.12"
    assert "net.asymmetric_route" not in derived(BACK + "10.50.0.1 dev ens8f0 src 10.50.0.2 uid 0\n")


def test_container_takes_larger_packets_than_its_card() -> None:
    inside = "$ docker exec w1 cat /sys/class/net/eth0/mtu\n1500\n$ cat /sys/class/net/ens3/mtu\n"
    assert derived(inside + "1450\n")["net.mtu_too_large_inside"] == "1500 in the container, 1450 on ens3"
    assert "net.mtu_too_large_inside" not in derived(inside + "9000\n")


def test_the_same_interface_twice_with_two_mtus() -> None:
    listing = "ens1f0: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu {}\n"
    assert derived(listing.format(1500) + listing.format(9000))["net.mtu_differs"] == "ens1f0 1500 and 9000"
    assert "net.mtu_differs" not in derived(listing.format(1500) * 2)


def test_small_mtu_of_an_infiniband_port() -> None:
    port = "hca_id:\tmlx5_2\n\t\tport:\t1\n\t\t\tmax_mtu:\t\t4096 (5)\n\t\t\tactive_mtu:\t\t{}\n\t\t\tlink_layer:\t\tInfiniBand\n"
    assert derived(port.format("512 (2)"))["net.mtu_below_max"] == "mlx5_2:1: 512 of 4096"
    assert "net.mtu_below_max" not in derived(port.format("4096 (5)"))


def test_traffic_just_below_a_standard_rate_fills_the_wire() -> None:
    found = derived("Total send rate:          9.38Gb     9.35Gb     9.31Gb\n")
    assert found["net.wire_share"] == 0.938
    assert "net.wire_share" not in derived("Total send rate:          4.10Gb     4.05Gb     4.01Gb\n")
