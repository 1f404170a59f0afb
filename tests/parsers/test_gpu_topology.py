"""nvidia-smi topo, P2P bandwidth matrices and lspci."""

from __future__ import annotations

from assistant.intake.document import Document
from assistant.parsers import gpu_p2p_bandwidth, gpu_topo, host_lspci


def found(module: object, text: str) -> dict[str, object]:
    return {f.key: f.value for f in module.parse(Document("tool.txt", text))}  # type: ignore[attr-defined]


MATRIX = """\
\tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID
GPU0\t X \tNV18\tNV18\tNV18\tPXB\tSYS\t0-55,112-167\t0\t\tN/A
GPU1\tNV18\t X \tNV18\tNV18\tPXB\tSYS\t0-55,112-167\t0\t\tN/A
GPU2\tNV18\tNV18\t X \tNV18\tSYS\tNODE\t56-111,168-223\t1\t\tN/A
GPU3\tNV18\tNV18\tNV18\t X \tSYS\tPXB\t56-111,168-223\t1\t\tN/A
NIC0\tPXB\tPXB\tSYS\tSYS\t X \tSYS
NIC1\tSYS\tSYS\tNODE\tPXB\tSYS\t X

Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect

NIC Legend:

  NIC0: mlx5_0
"""


def test_nvswitch_host() -> None:
    facts = found(gpu_topo, MATRIX)
    assert facts["topo.gpu_gpu"] == "NV"
    assert facts["topo.gpu_nic"] == "NODE"
    assert "topo.nvlink_missing_pair" not in facts
    nodes = {f.subject.name: f.value for f in gpu_topo.parse(Document("t", MATRIX)) if f.key == "gpu.numa_node"}
    assert nodes == {"0": 0, "1": 0, "2": 1, "3": 1}


def test_one_gpu_without_nvlink() -> None:
    rows = ["\t" + "\t".join(f"GPU{i}" for i in range(5))]
    for i in range(5):
        rows.append(f"GPU{i}\t" + "\t".join(" X " if i == j else "SYS" if 4 in (i, j) else "NV12" for j in range(5)))
    assert found(gpu_topo, "\n".join(rows))["topo.nvlink_missing_pair"] == "GPU0-GPU4 (SYS)"


def test_bridged_pairs_are_normal() -> None:
    rows = ["\t" + "\t".join(f"GPU{i}" for i in range(4))]
    for i in range(4):
        rows.append(
            f"GPU{i}\t" + "\t".join(" X " if i == j else "NV12" if i // 2 == j // 2 else "SYS" for j in range(4))
        )
    facts = found(gpu_topo, "\n".join(rows))
    assert "topo.nvlink_missing_pair" not in facts
    assert facts["topo.gpu_gpu"] == "SYS"


def test_p2p_status() -> None:
    assert found(gpu_topo, " \tGPU0\tGPU1\n GPU0\tX\tCNS\n GPU1\tCNS\tX\n")["gpu.p2p_status"] == "CNS"
    assert found(gpu_topo, " \tGPU0\tGPU1\n GPU0\tX\tOK\n GPU1\tOK\tX\n")["gpu.p2p_status"] == "OK"


def test_bandwidth_matrix() -> None:
    text = """\
Device=0 CANNOT Access Peer Device=1
Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)
   D\\D     0      1
     0 1654.31   9.54
     1   9.60 1659.57
Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\\D     0      1
     0 1654.31  21.54
     1  21.60 1659.57
P2P=Enabled Latency (P2P Writes) Matrix (us)
   GPU     0      1
     0   2.10   1.54
     1   1.60   2.57
"""
    facts = found(gpu_p2p_bandwidth, text)
    assert facts["gpu.p2p_bw_min_gbs"] == 21.54
    assert facts["gpu.p2p_bw_max_gbs"] == 21.6
    assert facts["gpu.p2p_off_bw_max_gbs"] == 9.6
    assert facts["gpu.p2p_no_access"] == "GPU0-GPU1"


def test_lspci() -> None:
    text = """\
00:03.1 PCI bridge: Advanced Micro Devices, Inc. [AMD] Starship/Matisse GPP Bridge
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM L1
\t\tLnkSta:\tSpeed 16GT/s, Width x16
\t\tACSCap:\tSrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans+
\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-
41:00.0 3D controller: NVIDIA Corporation GA100 [A100 PCIe 80GB] (rev a1)
\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 16GT/s, Width x4 (downgraded)
"""
    facts = found(host_lspci, text)
    assert facts["pcie.acs_on"] is True
    assert facts["pcie.acs_bridges"] == 1
    assert facts["pcie.degraded_kind"] == "gpu-width"
    assert facts["pcie.degraded_device"] == "41:00.0 3D controller: NVIDIA Corporation GA100 [A100: x4 of x16"


def test_acs_off_and_full_links() -> None:
    text = "5e:00.0 Infiniband controller: Mellanox MT2910\n\tLnkCap:\tSpeed 32GT/s, Width x16\n\tLnkSta:\tSpeed 32GT/s, Width x16\n\tACSCtl:\tSrcValid- TransBlk- ReqRedir- CmpltRedir-\n"
    assert found(host_lspci, text) == {"pcie.acs_on": False}


def test_garbage() -> None:
    for text in (
        "GPU0",
        "GPU0 GPU1\nGPU0",
        "LnkSta: Speed",
        "ACSCtl:",
        "Matrix (GB/s) P2P=Enabled\n 0 1.0 x\n1 N/A",
        MATRIX[:90],
    ):
        for module in (gpu_topo, gpu_p2p_bandwidth, host_lspci):
            list(module.parse(Document("x.txt", text)))
