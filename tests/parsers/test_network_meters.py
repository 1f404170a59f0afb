"""Parsers of meters, tables and rules around the network, on output as the tools print it."""

from __future__ import annotations

import pytest

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers import parse


def facts(text: str) -> list[Fact]:
    return parse(Document("out.txt", text))[0]


def value(text: str, key: str) -> object:
    found = [f.value for f in facts(text) if f.key == key]
    return found[0] if found else None


SAR = """10:02:11 PM     IFACE   rxpck/s   txpck/s    rxkB/s    txkB/s   rxcmp/s   txcmp/s  rxmcst/s   %ifutil
10:02:12 PM      eth0  98211.00  97874.00 143988.21 143770.10      0.00      0.00      0.00     94.36
10:02:12 PM        lo     12.00     12.00      1.10      1.10      0.00      0.00      0.00      0.00
10:02:13 PM      eth0  98310.00  98011.00 144102.33 143961.02      0.00      0.00      0.00     94.44
"""
IFTOP = """Total send rate:                                     9.38Gb     9.35Gb     9.31Gb
Total receive rate:                                  9.36Gb     9.33Gb     9.30Gb
"""
OSU = """# OSU MPI Latency Test v7.2
# Size          Latency (us)
0                      28.41
1                      28.66
8                      28.70
"""
NETPERF = """MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.60.0.5 () port 0 AF_INET : first burst 0
Send   Recv   Size     Size    Time     Rate
16384  131072 1        1       10.00      25.00
"""
TRACEROUTE = """traceroute to train2 (192.0.2.77), 30 hops max, 60 byte packets
 1  gw (10.4.0.1)  0.412 ms  0.390 ms  0.377 ms
 2  train2 (192.0.2.77)  8.120 ms  8.101 ms  8.133 ms
"""
MTR = """HOST: node1                       Loss%   Snt   Last   Avg  Best  Wrst StDev
  1.|-- 10.99.0.1                  0.0%   100   11.9  12.0  11.7  12.9   0.2
  2.|-- 10.99.0.4                  0.0%   100   24.3  24.2  23.8  25.1   0.3
"""
PAIRS = """n0 <-> n1   65536      875120           0.00               91.76              0.175018
n0 <-> n2   65536      875099           0.00               91.75              0.174998
n0 <-> n3   65536      218900           0.00               22.94              0.043755
n0 <-> n4   65536      875011           0.00               91.74              0.174980
"""
FLOWS = """n01 -> n25         190.1
n02 -> n26          95.3
n03 -> n27          63.5
n04 -> n28         189.9
n05 -> n29          95.1
"""
SONIC = """      IFACE    STATE            RX_OK        RX_BPS    RX_UTIL    RX_ERR    RX_DRP    RX_OVR            TX_OK        TX_BPS    TX_UTIL    TX_ERR    TX_DRP    TX_OVR
  Ethernet0        U  812,331,229,001  31201.22 MB/s     62.4%         0         0         0  799,123,331,120  30122.10 MB/s     60.2%         0   919,233         0
  Ethernet8        U  811,019,331,020  31190.10 MB/s     62.3%         0         0         0  801,120,331,990  30201.55 MB/s     60.4%         0         0         0
"""
BOND = """Bonding Mode: IEEE 802.3ad Dynamic link aggregation
MII Status: up
Slave Interface: ens2f0
MII Status: up
Speed: 100000 Mbps
Link Failure Count: 0
Slave Interface: ens2f1
MII Status: down
Speed: Unknown
Link Failure Count: 93
"""
GROUP = """"IpPermissions": [{"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22}], "IpPermissionsEgress": [{"IpProtocol": "-1"}]"""
GCLOUD = """NAME              NETWORK    DIRECTION  PRIORITY  ALLOW   DENY  DISABLED
allow-ssh         train-vpc  INGRESS    1000      tcp:22        False
allow-icmp        train-vpc  INGRESS    1000      icmp          False
"""
FIREWALLD = """public (active)
  target: default
  services: ssh dhcpv6-client
  ports:
"""
TRACEPATH = """ 1?: [LOCALHOST]                      pmtu 1500
 1:  10.244.2.1                                            0.061ms
 2:  10.99.0.2                                             pmtu 1380
"""
NODES = """NAME        STATUS   ROLES    AGE   VERSION   BLOCK     ZONE
gpu-0001    Ready    <none>   9d    v1.29.4   b-17      us-central1-c
gpu-0002    Ready    <none>   9d    v1.29.4   b-04      us-central1-c
"""
SLURM = """SwitchName=leaf01 Level=0 LinkSpeed=1 Nodes=h[001-016]
SwitchName=leaf02 Level=0 LinkSpeed=1 Nodes=h[017-032]
SwitchName=pod1 Level=1 LinkSpeed=1 Nodes=h[001-032] Switches=leaf[01-02]
   NodeList=h[003-004,019-020]
"""
COLUMNS = """Lid     Port    PortXmitWait        PortXmitData       PortRcvErrors   SymbolErrorCounter
12      1       99120331120331      120331299120331    0               0
"""


@pytest.mark.parametrize(
    ("text", "key", "expected"),
    [
        (SAR, "nic.traffic_share", 0.944),
        (IFTOP, "nic.traffic_gbps", 9.37),
        (OSU, "net.mpi_lat_us", 28.66),
        (NETPERF, "net.rtt_ms", 40.0),
        (TRACEROUTE, "net.rtt_ms", 8.12),
        (MTR, "net.rtt_ms", 24.2),
        ("sockperf: ====> avg-latency=412.553 (std-dev=11.207)", "net.tcp_lat_us", 412.553),
        ("pong from rig-b (100.88.41.19) via DERP(fra) in 61ms", "net.rtt_ms", 61.0),
        (PAIRS, "net.odd_pair", "n3: 22.94 where the others reach 91.76"),
        (FLOWS, "net.pairs_uneven", "3 of 5 pairs below 133, the best at 190.1"),
        (SONIC, "nic.loss_counter", "TX_DRP"),
        (BOND, "net.bond_link_down", "ens2f1"),
        (GROUP, "net.only_ports_open", "22"),
        (GCLOUD, "net.only_ports_open", "tcp:22, icmp"),
        (FIREWALLD, "net.only_ports_open", "ssh dhcpv6-client"),
        (TRACEPATH, "net.path_mtu_drops", "1500 to 1380"),
        (NODES, "placement.apart", "2 nodes in 2 different blocks"),
        (SLURM, "placement.apart", "4 nodes under 2 switches of level 0"),
        (COLUMNS, "ib.congestion_counter", "PortXmitWait"),
        ("$ cat /sys/class/net/ens4/speed\n10000", "nic.speed_gbps", 10.0),
        ("/sys/class/net/bond0/mtu:9000", "nic.mtu", 9000),
        ("IpFragFails                     41233              0.0", "net.frag_fails", 41233),
        ("nc: connect to 10.10.1.5 port 29500 (tcp) timed out: Operation now in progress", "net.port_blocked", "10.10.1.5:29500"),
    ],
)  # fmt: skip
def test_value(text: str, key: str, expected: object) -> None:
    found = value(text, key)
    assert found == pytest.approx(expected) if isinstance(expected, float) else found == expected


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (PAIRS.replace("22.94", "91.70"), "net.odd_pair"),
        (PAIRS, "net.pairs_uneven"),
        (BOND.replace("down", "up"), "net.bond_link_down"),
        (GROUP.replace('"tcp", "FromPort": 22, "ToPort": 22', '"-1"'), "net.only_ports_open"),
        (GCLOUD + "allow-internal train-vpc INGRESS 1000 tcp:0-65535,udp False\n", "net.only_ports_open"),
        (FIREWALLD.replace("default", "ACCEPT"), "net.only_ports_open"),
        (TRACEPATH.replace("1380", "1500"), "net.path_mtu_drops"),
        (NODES.replace("b-04", "b-17"), "placement.apart"),
        (SLURM.replace("019-020", "005-006"), "placement.apart"),
        (SONIC.replace("919,233", "12"), "nic.loss_counter"),
    ],
)
def test_nothing_of_the_kind(text: str, key: str) -> None:
    assert value(text, key) is None


@pytest.mark.parametrize("text", [SAR, OSU, MTR, PAIRS, SONIC, BOND, GROUP, GCLOUD, FIREWALLD, NODES, SLURM, COLUMNS])
def test_truncated_text_does_no_harm(text: str) -> None:
    for end in range(0, len(text), 17):
        assert all("could not be read" not in kind for kind in parse(Document("out.txt", text[:end]))[1])
