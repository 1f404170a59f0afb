"""Parsers of network tools, on output as the tools print it."""

from __future__ import annotations

import importlib

import pytest

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers import parse

MODULES = (
    "ib_ports", "ib_counters", "gid_table", "ethtool", "ip_addresses", "ip_routes", "iperf", "ping", "perftest",
    "tcp_statistics", "name_resolution", "fi_info", "traffic_control", "port_test",
)  # fmt: skip


def facts(text: str, name: str = "out.txt") -> list[Fact]:
    return parse(Document(name, text))[0]


def values(text: str, key: str) -> dict[str, object]:
    return {f.subject.name: f.value for f in facts(text) if f.key == key}


IBSTAT = """CA 'mlx5_0'
\tCA type: MT4123
\tNumber of ports: 1
\tFirmware version: 20.35.2000
\tHardware version: 0
\tNode GUID: 0x043f720300f6ab10
\tSystem image GUID: 0x043f720300f6ab10
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 200
\t\tBase lid: 12
\t\tLMC: 0
\t\tSM lid: 1
\t\tCapability mask: 0x2651e848
\t\tPort GUID: 0x043f720300f6ab10
\t\tLink layer: InfiniBand
CA 'mlx5_1'
\tCA type: MT4123
\tPort 1:
\t\tState: Down
\t\tPhysical state: Polling
\t\tRate: 10
\t\tLink layer: InfiniBand
"""


def test_ibstat() -> None:
    assert values(IBSTAT, "ib.state") == {"mlx5_0:1": "Active", "mlx5_1:1": "Down"}
    assert values(IBSTAT, "ib.phys_state") == {"mlx5_0:1": "LinkUp", "mlx5_1:1": "Polling"}
    assert values(IBSTAT, "ib.rate_gbps") == {"mlx5_0:1": 200.0, "mlx5_1:1": 10.0}
    assert [f.value for f in facts(IBSTAT) if f.key == "ib.devices"] == [2]
    origin = next(f.origin for f in facts(IBSTAT) if f.key == "ib.state")
    assert (origin.kind, origin.line) == ("tool", 9)


def test_ibstat_of_several_hosts_keeps_them_apart() -> None:
    text = "".join(f"==== gpu{n} ====\n{IBSTAT}" for n in (1, 2))
    assert set(values(text, "ib.state")) == {"gpu1/mlx5_0:1", "gpu1/mlx5_1:1", "gpu2/mlx5_0:1", "gpu2/mlx5_1:1"}


IBV_DEVINFO = """hca_id:\tmlx5_0
\ttransport:\t\t\tInfiniBand (0)
\tfw_ver:\t\t\t\t28.39.3004
\tphys_port_cnt:\t\t\t1
\t\tport:\t1
\t\t\tstate:\t\t\tPORT_ACTIVE (4)
\t\t\tmax_mtu:\t\t4096 (5)
\t\t\tactive_mtu:\t\t1024 (3)
\t\t\tlink_layer:\t\tEthernet
\t\t\tactive_width:\t\t4X (2)
\t\t\tactive_speed:\t\t25.0 Gbps (32)
\t\t\tphys_state:\t\tLINK_UP (5)
\t\t\tGID[  0]:\t\tfe80:0000:0000:0000:ba3f:d2ff:fe12:3456, RoCE v1
\t\t\tGID[  3]:\t\t::ffff:10.0.1.5, RoCE v2
"""


def test_ibv_devinfo() -> None:
    assert values(IBV_DEVINFO, "ib.mtu") == {"mlx5_0:1": 1024}
    assert values(IBV_DEVINFO, "ib.max_mtu") == {"mlx5_0:1": 4096}
    assert values(IBV_DEVINFO, "ib.rate_gbps") == {"mlx5_0:1": 100.0}
    assert values(IBV_DEVINFO, "ib.link_layer") == {"mlx5_0:1": "Ethernet"}
    assert values(IBV_DEVINFO, "gid.ipv4_index") == {"mlx5_0:1": 3}


def test_rdma_link_and_ibdev2netdev() -> None:
    text = (
        "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev ens1f0np0\n"
        "link mlx5_1/1 state DOWN physical_state DISABLED netdev ens1f1np1\n"
    )
    assert values(text, "ib.state") == {"mlx5_0:1": "Active", "mlx5_1:1": "Down"}
    assert values(text, "ib.netdev")["mlx5_1:1"] == "ens1f1np1"
    text = "mlx5_0 port 1 ==> ibp12s0 (Up)\nmlx5_3 port 1 ==> ibp75s0 (Down)\n"
    assert values(text, "ib.state") == {"mlx5_0:1": "Active", "mlx5_3:1": "Down"}


def test_iblinkinfo_names_a_link_that_could_be_faster() -> None:
    text = (
        '          12   31[  ] ==( 2X        53.125 Gbps Active/  LinkUp)==>      43    1[  ] "gpu7 mlx5_2" ( Could be 4X)\n'
        '          12   32[  ] ==(                Down/ Polling)==>             [  ] "" ( )\n'
    )
    assert values(text, "ib.could_be") == {"gpu7/mlx5_2": "4X"}
    assert values(text, "ib.state") == {"gpu7/mlx5_2": "Active"}


def test_counters() -> None:
    text = (
        "# Port counters: Lid 12 port 1 (CapMask: 0x5A00)\n"
        "PortSelect:......................1\n"
        "SymbolErrorCounter:..............19342\n"
        "LinkDownedCounter:...............0\n"
        "PortXmitWait:....................2418231\n"
    )
    assert values(text, "ib.error_counter") == {"Lid 12 port 1": "SymbolErrorCounter"}
    assert values(text, "ib.congestion_counter") == {"Lid 12 port 1": "PortXmitWait"}
    text = (
        "link mlx5_0/1 rx_write_requests 10 out_of_sequence 1200 packet_seq_err 0 local_ack_timeout_err 4"
        " rp_cnp_handled 881230 \n"
    )
    found = {f.key: (f.value, f.count) for f in facts(text)}
    assert found["ib.loss_counter"] == ("out_of_sequence", 1200)
    assert found["ib.congestion_counter"] == ("rp_cnp_handled", 881230)
    assert found["ib.retry_counter"] == ("local_ack_timeout_err", 4)
    text = "/sys/class/infiniband/mlx5_3/ports/1/counters/link_downed:7\n"
    assert values(text, "ib.error_counter") == {"mlx5_3:1": "link_downed"}


def test_gid_table() -> None:
    head = "DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV\n---\t----\t-----\t---\n"
    link_local = "mlx5_0\t1\t1\tfe80:0000:0000:0000:0a22:73ff:fe11:2233\t\t\tv2\tens1f0np0\n"
    routable = "mlx5_0\t1\t3\t0000:0000:0000:0000:0000:ffff:0a00:0105\t10.0.1.5  \tv2\tens1f0np0\n"
    assert values(head + link_local + routable, "gid.ipv4_index") == {"mlx5_0:1": 3}
    assert values(head + link_local, "net.gid_missing_ipv4") == {"mlx5_0:1": True}


ETHTOOL = """Settings for ens1f0np0:
\tSupported ports: [ FIBRE ]
\tSupported link modes:   10000baseT/Full
\t                        25000baseCR/Full
\t                        100000baseCR4/Full
\tSupported pause frame use: Symmetric
\tAdvertised link modes:  10000baseT/Full
\tSpeed: 10000Mb/s
\tDuplex: Full
\tLink detected: yes
"""


def test_ethtool_settings() -> None:
    assert values(ETHTOOL, "nic.speed_gbps") == {"ens1f0np0": 10.0}
    assert values(ETHTOOL, "nic.max_speed_gbps") == {"ens1f0np0": 100.0}
    assert values(ETHTOOL, "nic.link") == {"ens1f0np0": True}
    assert values("Settings for virbr0:\n\tSpeed: Unknown!\n\tLink detected: no\n", "nic.speed_gbps") == {}


def test_ethtool_statistics() -> None:
    text = (
        "$ ethtool -S ens5\nNIC statistics:\n     bw_out_allowance_exceeded: 41230\n     conntrack_allowance_exceeded: 9\n"
        "     rx_discards_phy: 120934\n     rx_crc_errors_phy: 0\n     rx_prio3_pause: 88123\n     rx_prio3_discards: 5\n"
    )
    found = {f.key: (f.subject.name, f.value) for f in facts(text)}
    assert found["nic.limit_counter"] == ("ens5", "bw_out_allowance_exceeded")
    assert found["nic.loss_counter"] == ("ens5", "rx_discards_phy")
    assert found["nic.pause"] == ("ens5", 88123)
    assert found["nic.lossless_drop_counter"] == ("ens5", "rx_prio3_discards")
    assert "nic.error_counter" not in found


def test_addresses_and_routes() -> None:
    text = """gpu2:~$ ip -4 addr show
1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000
    inet 127.0.0.1/8 scope host lo
2: eno1: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP group default qlen 1000
    inet 10.20.3.12/20 brd 10.20.15.255 scope global dynamic eno1
3: eno2: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 9000 qdisc mq state DOWN group default qlen 1000
gpu2:~$ ip route
default via 10.20.0.1 dev eno1 proto dhcp src 10.20.3.12 metric 100
10.20.0.0/20 dev eno1 proto kernel scope link src 10.20.3.12 metric 100
10.20.0.0/20 dev ens6f0 proto kernel scope link src 10.20.5.12 metric 100
172.17.0.0/16 dev docker0 proto kernel scope link src 172.17.0.1 linkdown
gpu2:~$ ip route get 10.20.5.15
10.20.5.15 dev eno1 src 10.20.3.12 uid 1000
"""
    assert values(text, "nic.mtu") == {"gpu2/eno1": 1500, "gpu2/eno2": 9000}
    assert values(text, "nic.link") == {"gpu2/eno1": True, "gpu2/eno2": False}
    assert values(text, "nic.address") == {"gpu2/eno1": "10.20.3.12/20"}
    assert values(text, "route.duplicate") == {"gpu2": "10.20.0.0/20 over eno1 and ens6f0"}
    assert values(text, "route.device") == {"gpu2": "eno1"}


def test_ifconfig() -> None:
    text = """eno1: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 9000
        inet 192.168.10.5  netmask 255.255.255.0  broadcast 192.168.10.255
        RX errors 0  dropped 21980  overruns 0  frame 0
"""
    assert values(text, "nic.address") == {"eno1": "192.168.10.5/24"}
    assert values(text, "nic.mtu") == {"eno1": 9000}
    assert values(text, "nic.drops") == {"eno1": 21980}


def test_distinct_metrics_are_no_duplicate_route() -> None:
    text = "10.0.0.0/24 dev eth0 proto kernel src 10.0.0.4 metric 100\n10.0.0.0/24 dev eth1 proto kernel src 10.0.0.5 metric 200\n"
    assert values(text, "route.duplicate") == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "[ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n"
            "[  5]   0.00-1.00   sec  1.09 GBytes  9.38 Gbits/sec    0   1.57 MBytes\n"
            "[  5]   1.00-2.00   sec  1.10 GBytes  9.42 Gbits/sec   42   1.57 MBytes\n"
            "[  5]   0.00-2.00   sec  2.19 GBytes  9.40 Gbits/sec   42             sender\n"
            "[  5]   0.00-2.00   sec  2.19 GBytes  9.40 Gbits/sec                  receiver\n",
            {"net.iperf_gbps": 9.4, "net.iperf_retransmits": 42, "net.iperf_streams": 1},
        ),
        (
            "[  3]  0.0-10.0 sec   113 MBytes  95.1 Mbits/sec\n[  3] 10.0-20.0 sec   114 MBytes  95.2 Mbits/sec\n",
            {"net.iperf_gbps": 0.0952},
        ),
        (
            "[SUM]   0.00-10.00  sec   109 GBytes  93.6 Gbits/sec  311             sender\n",
            {"net.iperf_gbps": 93.6, "net.iperf_retransmits": 311},
        ),
        (
            "[  4]  0.0-10.0 sec  1.06 GBytes   910 Mbits/sec   0.031 ms 2511/778102 (0.32%)\n",
            {"net.iperf_loss_pct": 0.32},
        ),
    ],
)
def test_iperf(text: str, expected: dict[str, float]) -> None:
    found = {f.key: f.value for f in facts(text)}
    for key, value in expected.items():
        assert found[key] == pytest.approx(value, rel=0.02)


def test_ping() -> None:
    text = (
        "PING 10.0.0.2 (10.0.0.2) 56(84) bytes of data.\n64 bytes from 10.0.0.2: icmp_seq=1 ttl=64 time=0.1 ms\n"
        "20 packets transmitted, 19 received, 5% packet loss, time 19021ms\n"
        "rtt min/avg/max/mdev = 0.081/0.112/0.208/0.021 ms\n"
        "PING 10.0.0.2 (10.0.0.2) 8972(9000) bytes of data.\nping: local error: message too long, mtu=1500\n"
        "3 packets transmitted, 0 received, +3 errors, 100% packet loss, time 2051ms\n"
    )
    found = {f.key: f.value for f in facts(text)}
    assert (found["net.rtt_ms"], found["net.rtt_max_ms"], found["net.ping_loss_pct"]) == (0.112, 0.208, 5.0)
    assert found["net.ping_too_long"] is True
    assert found["net.big_ping_lost"] is True


def test_perftest() -> None:
    text = (
        " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
        " 65536      5000             391.20             391.08             0.745927\n"
    )
    assert {f.key: f.value for f in facts(text)}["net.rdma_bw_gbps"] == 391.08
    text = (
        " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
        " 65536      5000             11600.10           11590.00           0.185\n"
    )
    assert {f.key: f.value for f in facts(text)}["net.rdma_bw_gbps"] == pytest.approx(97.2, abs=0.1)
    text = " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]\n 2       1000          1.02           8.31         1.06     \t 1.08  0.1 1.3 4.2\n"
    assert {f.key: f.value for f in facts(text)}["net.rdma_lat_us"] == 1.06


def test_tcp_statistics() -> None:
    text = "Tcp:\n    18233412 segments sent out\n    412233 segments retransmitted\n"
    assert {f.key: f.value for f in facts(text)}["net.tcp_retrans_pct"] == pytest.approx(2.261, abs=0.001)


def test_name_resolution() -> None:
    hosts = "127.0.0.1   localhost\n127.0.1.1   node7.cluster.local node7\n10.0.0.8    node8\n"
    assert [f.value for f in facts(hosts) if f.key == "net.hostname_loopback"] == [True]
    healthy = "127.0.0.1   localhost localhost.localdomain\n::1 ip6-localhost ip6-loopback\n10.0.0.7    node7\n"
    assert not [f for f in facts(healthy) if f.key == "net.hostname_loopback"]
    assert [f.value for f in facts("$ hostname -i\n127.0.1.1\n") if f.key == "net.hostname_loopback"] == [True]
    assert not [f for f in facts("$ hostname -i\n10.2.3.4\n") if f.key == "net.hostname_loopback"]
    missing = "ping: worker-1: Name or service not known\n"
    assert [f.value for f in facts("$ getent hosts worker-1\n" + missing) if f.key == "net.resolve_failed"] == [
        "worker-1"
    ]


def test_fi_info() -> None:
    text = "provider: efa\n    fabric: efa\n    domain: rdmap16s27-rdm\nprovider: efa\n    domain: rdmap16s27-dgrm\n"
    assert {f.key: f.value for f in facts(text)} == {"net.efa_providers": 1}
    assert {f.key: f.value for f in facts("fi_getinfo: -61 (No data available)\n")} == {"net.efa_providers": 0}


def test_traffic_control() -> None:
    text = "qdisc tbf 8001: dev eth0 root refcnt 2 rate 1Gbit burst 32Kb lat 50ms\nqdisc netem 8002: dev eth1 root refcnt 2 limit 1000 delay 20ms\n"
    assert values(text, "net.shaper_gbps") == {"eth0": 1.0}
    assert values(text, "net.netem") == {"eth1": "delay 20ms"}


def test_port_test() -> None:
    text = (
        "nc: connect to 10.0.0.2 port 29500 (tcp) failed: Connection timed out\n"
        "nc: connect to 10.0.0.2 port 29501 (tcp) failed: Connection refused\n"
        "Connection to 10.0.0.2 22 port [tcp/ssh] succeeded!\n"
    )
    assert [(f.key, f.value) for f in facts(text)] == [
        ("net.port_blocked", "10.0.0.2:29500"),
        ("net.port_open", "10.0.0.2:22"),
    ]


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "CA '\n Port 1:\n\tRate:",
        "[ 5] 0.0-",
        "GID[",
        "rtt min/avg/max/mdev = ",
        "\x00" * 50,
        IBSTAT[:333],
        ETHTOOL[40:],
    ],
)
def test_garbage_is_no_error(module: str, text: str) -> None:
    parser = importlib.import_module(f"assistant.parsers.{module}")
    assert all(isinstance(f, Fact) for f in parser.parse(Document("x", text)))
