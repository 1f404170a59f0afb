"""NCCL's log, lines as its versions 2.2 to 2.30 print them."""

from __future__ import annotations

import pytest

from assistant.derive import n15_ranks
from assistant.facts import CaseFile, Fact
from assistant.intake.document import Document
from assistant.parsers import nccl_channels, nccl_init, nccl_log
from assistant.parsers._nccl_ifaces import address_kind, interface_kind


def facts(text: str, module: object = nccl_log) -> dict[str, list[object]]:
    found: dict[str, list[object]] = {}
    fact: Fact
    for fact in module.parse(Document("rank.log", text)):  # type: ignore[attr-defined]
        found.setdefault(fact.key, []).append(fact.value)
    return found


MODERN = """\
gpu-a07:184233:184233 [3] NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth0
gpu-a07:184233:184233 [3] NCCL INFO Bootstrap: Using eth0:10.20.3.7<0>
gpu-a07:184233:184233 [3] NCCL INFO cudaDriverVersion 12080
gpu-a07:184233:184233 [3] NCCL INFO NCCL version 2.27.5+cuda12.9
gpu-a07:184233:184310 [3] NCCL INFO NET/Plugin: Could not find: libnccl-net.so
gpu-a07:184233:184310 [3] NCCL INFO NCCL_IB_HCA set to =mlx5_0,mlx5_1
gpu-a07:184233:184310 [3] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.20.3.7<0>
gpu-a07:184233:184310 [3] NCCL INFO NCCL_IB_TIMEOUT set by environment to 22.
gpu-a07:184233:184310 [3] NCCL INFO Using network IB
"""


def test_modern_log_with_infiniband() -> None:
    found = facts(MODERN)
    assert found["nccl_version"] == ["2.27.5"]
    assert found["cuda_version"] == ["12.9"]
    assert found["nccl.driver_cuda"] == ["12.8"]
    assert found["nccl.net"] == ["IB"]
    assert found["nccl.hcas"] == ["mlx5_0:1,mlx5_1:1"]
    assert found["nccl.hca_count"] == [2]
    assert found["nccl.hca_link"] == ["IB"]
    assert found["nccl.bootstrap_ifname"] == ["eth0"]
    assert found["nccl.bootstrap_addr"] == ["10.20.3.7"]
    assert found["nccl.plugin"] == ["none"]
    assert found["env.NCCL_SOCKET_IFNAME"] == ["eth0"]
    assert found["env.NCCL_IB_HCA"] == ["=mlx5_0,mlx5_1"]
    assert found["env.NCCL_IB_TIMEOUT"] == ["22"]
    assert "nccl.warn_first" not in found


def test_version_line_of_a_single_host_belongs_to_it() -> None:
    text = "n1:5:5 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\nNCCL version 2.18.6+cuda12.1\n"
    found = [f for f in nccl_log.parse(Document("a.log", text)) if f.key == "nccl_version"]
    assert [(f.value, f.subject.name) for f in found] == [("2.18.6", "n1")]


def test_log_of_version_2_2_without_the_word_nccl() -> None:
    text = """\
ngpu-1:24:201 [0] misc/ibvwrap.cu:61 WARN Failed to open libibverbs.so[.1]
ngpu-1:24:201 [0] INFO Using internal Network Socket
ngpu-1:24:201 [0] INFO NET : Using interface ib0:192.168.61.1<0>
NCCL version 2.2.12+cuda9.0
"""
    found = facts(text)
    assert found["nccl.net"] == ["Socket"]
    assert found["nccl.ibverbs_missing"] == [True]
    assert found["nccl.ifname_kind"] == ["ipoib"]
    assert found["nccl_version"] == ["2.2.12"]


@pytest.mark.parametrize(
    "mark",
    [
        "",
        "3: ",
        "[1,3]<stdout>:",
        "[default3]:",
        "(RayTrainWorker pid=4021, ip=10.20.3.7) ",
        "[2026-02-11 10:15:42] ",
        "worker-0 | ",
    ],
)
def test_marks_of_launchers_are_skipped(mark: str) -> None:
    assert facts(f"{mark}gpu-a07:184233:184310 [3] NCCL INFO Using network AWS Libfabric\n")["nccl.net"] == [
        "AWS Libfabric"
    ]


def test_several_socket_interfaces() -> None:
    found = facts("n1:5:9 [0] NCCL INFO NET/Socket : Using [0]ens5:172.31.4.9<0> [1]docker0:172.17.0.1<0>\n")
    assert found["nccl.socket_ifnames"] == ["ens5,docker0"]
    assert found["nccl.socket_count"] == [2]
    assert found["nccl.ifname_kind"] == ["ethernet", "docker"]
    assert found["nccl.net"] == ["Socket"]


def test_plugin_found_and_failed() -> None:
    text = """\
n1:5:9 [0] NCCL INFO NET/OFI Initializing aws-ofi-nccl 1.14.0
n1:5:9 [0] nccl_net_ofi_create_plugin:460 NCCL WARN NET/OFI aws-ofi-nccl initialization failed
"""
    found = facts(text)
    assert found["nccl.plugin"] == ["aws-ofi-nccl"]
    assert found["nccl.plugin_version"] == ["1.14.0"]
    assert found["nccl.plugin_failed"] == [True]
    assert found["nccl.warn_first"] == ["NET/OFI aws-ofi-nccl initialization failed"]


def test_missing_plugin_is_no_failure() -> None:
    line = "n1:5:9 [0] NCCL INFO NET/Plugin : dlerror=libnccl-net.so: cannot open shared object file: No such file or directory No plugin found (libnccl-net.so), using internal implementation"
    found = facts(line)
    assert found["nccl.plugin"] == ["none"]
    assert "nccl.plugin_failed" not in found


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (
            "transport/net_ib.cc:816 NCCL WARN NET/IB : Got completion with error 12, opcode 0, len 32633, vendor err 129",
            "12",
        ),
        (
            "transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer 10.20.3.11<44512> with status=5 opcode=1 len=0 vendor err 244",
            "5",
        ),
        (
            "transport/net_ib/p2p.cc:688 NCCL WARN NET/IB: Got completion from peer 10.20.3.11<44512> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) vendor_err=129 hca mlx5_2",
            "12",
        ),
    ],
)
def test_completion_errors(line: str, status: str) -> None:
    assert facts(f"gpu-a07:1:2 [3] {line}\n")["nccl.wc_status"] == [status]


@pytest.mark.parametrize(
    ("line", "error", "kind"),
    [
        ("NCCL INFO Call to connect returned Connection refused, retrying", "Connection refused", None),
        (
            "include/socket.h:403 NCCL WARN Connect to fe80::5c13%veth9<38411> failed : Network is unreachable",
            "Network is unreachable",
            "link-local",
        ),
        (
            "NCCL INFO ncclOsSocketPollConnect: connect to 127.0.0.1<39211> returned Connection timed out, retrying (2/34) after sleep for 200 msec",
            "Connection timed out",
            "loopback",
        ),
    ],
)
def test_connect_errors(line: str, error: str, kind: str | None) -> None:
    found = facts(f"n1:1:2 [0] {line}\n")
    assert found["nccl.connect_error"] == [error]
    assert found.get("nccl.connect_peer_kind") == ([kind] if kind else None)


@pytest.mark.parametrize(
    ("name", "address", "kind"),
    [
        ("lo", "127.0.0.1", "loopback"), ("docker0", "172.17.0.1", "docker"), ("br-0a1b2c3d4e5f", "", "docker"),
        ("veth4e1ab07", "fe80::1%veth4e1ab07", "virtual"), ("cali12ab", "", "virtual"), ("virbr0", "192.168.122.1", "bridge"),
        ("tailscale0", "100.64.0.1", "vpn"), ("wlp3s0", "10.0.0.1", "wireless"), ("ib0", "10.30.0.1", "ipoib"),
        ("ibp12s0", "10.30.0.1", "ipoib"), ("enx0a1b2c3d4e5f", "", "management"), ("enp71s0", "10.8.3.90", "ethernet"),
        ("eth0", "10.0.0.4", "ethernet"), ("bond0", "10.0.0.4", "ethernet"), ("eth0", "172.17.0.5", "docker"),
    ],
)  # fmt: skip
def test_interface_kinds(name: str, address: str, kind: str) -> None:
    assert interface_kind(name, address) == kind


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("127.0.1.1", "loopback"),
        ("::1", "loopback"),
        ("fe80::1", "link-local"),
        ("169.254.3.4", "link-local"),
        ("10.1.2.3", "private"),
        ("8.8.8.8", "public"),
        ("host", ""),
        ("::ffff:127.0.0.1", "loopback"),
    ],
)
def test_address_kinds(address: str, kind: str) -> None:
    assert address_kind(address) == kind


CHANNELS = """\
n1:5:9 [0] NCCL INFO comm 0x55d0 rank 0 nRanks 4 nNodes 2 localRanks 2 localRank 0 MNNVL 0
n1:5:9 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read
n1:6:8 [1] NCCL INFO Channel 00/0 : 1[1] -> 2[0] [send] via NET/IB/0/GDRDMA
n2:7:8 [0] NCCL INFO Channel 00/0 : 1[1] -> 2[0] [receive] via NET/IB/1/GDRDMA
n1:5:9 [0] NCCL INFO 24 coll channels, 0 collnet channels, 16 nvls channels, 32 p2p channels, 4 p2p channels per peer
n1:5:9 [0] NCCL INFO Connected all rings, use ring PXN 0 GDR 1
n1:5:9 [0] NCCL INFO NVLS multicast support is not available on dev 0
n1:5:9 [0] NCCL INFO Check P2P Type isAllDirectP2p 1 directMode 0
"""


def test_channels_inside_and_between_hosts() -> None:
    found = facts(CHANNELS, nccl_channels)
    assert found["nccl.via_intranode"] == ["P2P"]
    assert found["nccl.via_internode"] == ["IB/GDRDMA"]
    assert found["nccl.gdr"] == [True]
    assert found["nccl.channels"] == [24]
    assert found["nccl.nvls"] == [False]
    assert found["nccl.p2p_all"] == [True]


def test_network_between_ranks_of_one_host() -> None:
    text = "n1:5:9 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/Socket/0\nn1:6:8 [1] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [receive] via NET/Socket/0\n"
    found = facts(text, nccl_channels)
    assert found["nccl.via_intranode"] == ["NET"]
    assert "nccl.via_internode" not in found


def test_staged_rdma_and_old_shared_memory() -> None:
    text = "n1:5:9 [0] NCCL INFO Ring 00 : 0[0] -> 1[1] via direct shared memory\nn1:5:9 [0] NCCL INFO Ring 00 : 1 -> 2 [send] via NET/IB/0\n"
    found = facts(text, nccl_channels)
    assert found["nccl.via_intranode"] == ["SHM"]
    assert found["nccl.via_internode"] == ["IB"]
    assert found["nccl.gdr"] == [False]


def test_gdr_lines() -> None:
    assert facts("n1:5:9 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'\n", nccl_channels)[
        "nccl.gdr_hca"
    ] == [False]
    assert "nccl.gdr_hca" not in facts(
        "n1:5:9 [0] NCCL INFO NET/Socket : GPU Direct RDMA Disabled for HCA 0 'eth0'\n", nccl_channels
    )
    far = "n1:5:9 [0] NCCL INFO GPU Direct RDMA Disabled for GPU 4b000 / HCA 0 (distance 7 > 4)\n"
    near = "n1:5:9 [0] NCCL INFO GPU Direct RDMA Enabled for GPU 4b000 / HCA 1 (distance 3 <= 4), read 1\n"
    assert facts(far, nccl_channels)["nccl.gdr_distance_off"] == [True]
    assert "nccl.gdr_distance_off" not in facts(far + near, nccl_channels)


def _rank(rank: int, end: str, size: int = 4) -> str:
    return f"n{rank // 2}:{rank}:9 [0] NCCL INFO ncclCommInitRankConfig comm 0x55d{rank} rank {rank} nranks {size} cudaDev 0 nvmlDev 0 busId 1b000 commId 0x9bb2 - Init {end}\n"


def life(text: str) -> dict[str, list[object]]:
    """What the lines of all ranks tell together."""
    found: dict[str, list[object]] = {}
    for fact in n15_ranks.derive(CaseFile([*nccl_init.parse(Document("job.log", text))])):
        found.setdefault(fact.key, []).append(fact.value)
    return found


def test_rank_that_never_started() -> None:
    text = "".join(_rank(r, "START") for r in (0, 1, 3))
    assert facts(text, nccl_init)["nccl.nranks"] == [4]
    found = life(text)
    assert found["nccl.init_missing_ranks"] == ["2"]
    assert found["nccl.init_done"] == [False]


def test_rank_that_started_and_did_not_complete() -> None:
    text = "".join(_rank(r, "START") for r in range(4)) + "".join(_rank(r, "COMPLETE") for r in (0, 1, 3))
    assert life(text)["nccl.init_missing_ranks"] == ["2"]


def test_one_ranks_log_shows_no_missing_ranks() -> None:
    found = life(_rank(0, "START", 16) + _rank(0, "COMPLETE", 16))
    assert "nccl.init_missing_ranks" not in found
    assert found["nccl.init_done"] == [True]


def test_speeds_of_adapters() -> None:
    line = "n1:5:9 [0] NCCL INFO NET/IB: [{0}] mlx5_{0}:uverbs{0}:1/IB provider=Mlx5 speed={1} context=0x55d0 pciPath=/sys/devices/pci0000:4a ar=1\n"
    alike = "".join(line.format(n, 400000) for n in range(4))
    assert facts(alike)["nccl.hca_speeds"] == ["4 x 400 Gbit/s"]
    assert facts(alike + line.format(4, 100000))["nccl.hca_speeds"] == ["4 x 400 Gbit/s, mlx5_4 100"]


def test_pairs_of_ranks_by_transport() -> None:
    text = (
        "n1:5:9 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
        "n1:5:9 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
        "n1:5:9 [0] NCCL INFO Channel 00/0 : 9[1] -> 0[0] [receive] via NET/IB/0/GDRDMA\n"
        "n1:5:9 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n"
        "n1:5:9 [0] NCCL INFO Channel 00/0 : 0[0] -> 9[1] [send] via NET/Socket/0\n"
    )
    pairs = [f for f in nccl_channels.parse(Document("rank.log", text)) if f.key == "nccl.pairs"]
    assert [(f.value, f.count) for f in pairs] == [
        ("within a host: P2P", 1),
        ("between hosts: RDMA with GPUDirect", 1),
        ("between hosts: sockets", 1),
    ]
    assert facts(text, nccl_channels)["nccl.pair"] == ["0 -> 9 sockets"]


@pytest.mark.parametrize("module", [nccl_log, nccl_channels, nccl_init])
def test_garbage_is_no_error(module: object) -> None:
    text = (
        (MODERN + CHANNELS)[:-40].replace(" ", "  ").replace(":", "::")
        + "\x00NCCL INFO \nNCCL WARN\nNCCL version 2.\n"
        + "NCCL INFO Channel 99 : via NET/"
    )
    facts(text, module)
    for cut in range(0, 400, 7):
        facts((CHANNELS + MODERN)[cut : cut + 150], module)
