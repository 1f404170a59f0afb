"""Which adapter carries what, which connections, and runs with and without a setting."""

from __future__ import annotations

import pytest

from assistant.facts import CaseFile, Fact
from assistant.intake.document import Document
from assistant.parsers import parse

SAR = """Linux 5.15.0-105-generic (gpu-a07)  06/11/24  _x86_64_  (192 CPU)

10:02:11        IFACE   rxpck/s   txpck/s    rxkB/s    txkB/s   rxcmp/s   txcmp/s  rxmcst/s   %ifutil
10:02:16         eno1 812331.20 809772.60 1187233.41 1190011.08      0.00      0.00      0.40     97.26
10:02:16          ib0      0.00      0.00      0.00      0.00      0.00      0.00      0.00      0.00
"""
SS = """ESTAB 0  4123312  172.31.9.12:41022  172.31.9.20:50331
\t cubic wscale:7,7 rto:204 rtt:0.31/0.1 mss:8949 cwnd:411 bytes_acked:81223001244 send 95.0Gbps delivery_rate 9.5Gbps retrans:0/12
"""
RUNS = """$ ./all_reduce_perf -b 256M -e 256M -g 8
   268435456      67108864     float     sum      -1   148211    1.81    3.17      0   148020    1.81    3.17      0
$ NCCL_P2P_DISABLE=1 ./all_reduce_perf -b 256M -e 256M -g 8
   268435456      67108864     float     sum      -1    44120    6.08   10.65      0    44210    6.07   10.63      0
"""
VERSIONS = """# NCCL version 2.20.5+cuda12.4
  8589934592    2147483648     float     sum      -1    45210   190.0   368.1      0    45190   190.1   368.3      0
# NCCL version 2.21.5+cuda12.4
  8589934592    2147483648     float     sum      -1    83801   102.5   198.6      0    83720   102.6   198.8      0
"""
PODS = """NAME          IMAGE                              NODE
ft-master-0   nvcr.io/nvidia/pytorch:24.05-py3   gpu-1
ft-worker-0   nvcr.io/nvidia/pytorch:23.10-py3   gpu-2
"""
NLOAD = (
    "Device ens1f0 [10.4.4.2] (1/3):\nIncoming:\nAvg: 3.10 GBit/s\nOutgoing:\nCurr: 17.91 GBit/s\nAvg: 17.64 GBit/s\n"
)
MATRIX = """Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)
   D\\D     0      1
     0 671.44  11.52
     1  11.49 672.01
Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\\D     0      1
     0 671.30   2.21
     1   2.20 671.80
"""


def facts(text: str) -> list[Fact]:
    return parse(Document("out.txt", text))[0]


def values(text: str, key: str) -> list[object]:
    return [f.value for f in facts(text) if f.key == key]


def derived(text: str, key: str) -> list[object]:
    from assistant.derive.n21_traffic import derive

    case = CaseFile()
    for fact in facts(text):
        case.facts.append(fact)
    return [f.value for f in derive(case) if f.key == key]


@pytest.mark.parametrize(
    ("text", "key", "expected"),
    [
        (SAR, "nic.tx_gbps", [9.5201, 0.0]),
        (SS, "tcp.bulk_streams", [1]),
        (SS, "tcp.stream_gbps", [9.5]),
        (RUNS, "setting.helps", ["NCCL_P2P_DISABLE=1"]),
        (RUNS, "nccl_tests.busbw_peak_gbs", [3.17, 10.65]),
        (VERSIONS, "nccl_tests.versions_ratio", [1.85]),
        (PODS, "pod.images_differ", ["pytorch: 23.10-py3, 24.05-py3"]),
        (NLOAD, "nic.tx_gbps", [17.64]),
        (MATRIX, "gpu.p2p_slower_than_staged", [True]),
        ("| default | 38.1 tok/s |\n| NCCL_ALGO=Tree | 37.0 tok/s |\n", "setting.same", ["NCCL_ALGO=Tree"]),
        ("Transmit Hash Policy: layer2 (0)\n", "nic.bond_hash", ["layer2"]),
        (" \tGPU0\tGPU1\n GPU0\tX\tCNS\n GPU1\tCNS\tX\n", "gpu.p2p_no_access", ["GPU0-GPU1", "GPU1-GPU0"]),
        (">>> torch.cuda.can_device_access_peer(0, 1)\nFalse\n", "gpu.p2p_no_access", ["GPU0-GPU1"]),
        ("CapEff:\t00000000a80425fb\n", "limit.ipc_lock", [False]),
        ("CapEff:\t000001ffffffffff\n", "limit.ipc_lock", [True]),
        (
            "$ iperf -c 10.5.0.5 -P 16 | tail -1\n[SUM] 0.0000-10.0100 sec  91.2 GBytes  78.3 Gbits/sec\n",
            "net.iperf_streams",
            [16],
        ),
        ("$ python -c 'import torch;print(torch.cuda.nccl.version())'\n(2, 18, 1)\n", "nccl_version", ["2.18.1"]),
    ],
)
def test_values(text: str, key: str, expected: list[object]) -> None:
    assert values(text, key) == expected


def test_rdma_idle_beside_busy_ethernet() -> None:
    assert derived(SAR, "net.rdma_idle") == [True]


def test_share_of_busy_adapters() -> None:
    assert derived("mlx5_0 44120 MB/s\nmlx5_1 43988 MB/s\nmlx5_2 0 MB/s\nmlx5_3 0 MB/s\n", "nic.busy_share") == [0.5]
    assert derived("mlx5_0 44120 MB/s\nmlx5_1 43988 MB/s\n", "nic.busy_share") == [1.0]


def test_counters_read_twice() -> None:
    path = "/sys/class/infiniband/{}/ports/1/counters/port_xmit_data:{}"
    lines = [
        path.format("mlx5_0", 100),
        path.format("mlx5_1", 100),
        path.format("mlx5_0", 4_000_000_100),
        path.format("mlx5_1", 100),
    ]
    assert derived("\n".join(lines), "nic.busy_share") == [0.5]


def test_runs_alike_say_nothing() -> None:
    assert values(RUNS.replace("10.65", "3.18").replace("10.63", "3.18"), "setting.helps") == []


def test_filter_share_follows_the_prefix_rule() -> None:
    status = "".join(
        f"Infiniband device 'mlx5_{n}' port 1 status:\n\tstate:\t\t 4: ACTIVE\n\trate:\t\t 400 Gb/sec (4X NDR)\n"
        for n in (0, 1, 10, 2)
    )
    assert derived(status + "NCCL INFO NCCL_IB_HCA set to mlx5_1\n", "nccl.hca_filter_share") == [0.5]
    assert derived(status + "NCCL INFO NCCL_IB_HCA set to =mlx5_1\n", "nccl.hca_filter_share") == [0.25]
