"""nvidia-smi: the table, -q, --query-gpu, dmon and nvlink."""

from __future__ import annotations

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers import gpu_dcgm, gpu_nvlink, gpu_smi_csv, gpu_smi_q, gpu_smi_table

OLD = """\
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 525.60.13    Driver Version: 525.60.13    CUDA Version: 12.0     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|===============================+======================+======================|
|   0  NVIDIA A100-SXM...  On   | 00000000:07:00.0 Off |                    0 |
| N/A   28C    P0    68W / 400W |  22377MiB / 81920MiB |      0%      Default |
|                               |                      |             Disabled |
+-------------------------------+----------------------+----------------------+
|   1  NVIDIA A100-SXM...  On   | 00000000:0B:00.0 Off |                    2 |
| N/A   30C    P0    87W / 400W |  15995MiB / 81920MiB |    100%      Default |
|                               |                      |             Disabled |
+-------------------------------+----------------------+----------------------+
"""

NEW = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:18:00.0 Off |                    0 |
| N/A   33C    P0            118W /  700W |   71210MiB /  81559MiB |     97%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
|   1  NVIDIA H100 80GB HBM3          On  |   00000000:2A:00.0 Off |                 ERR! |
| ERR!  ERR! ERR!            ERR! / ERR!  |   71210MiB /  81559MiB |    ERR!      Default |
+-----------------------------------------+------------------------+----------------------+
"""

PROCESSES = """\
|    0   N/A  N/A     40211      C   ...onda/envs/gan/bin/python      9871MiB |
|    0   N/A  N/A     40212      C   ...onda/envs/gan/bin/python       531MiB |
|    0   N/A  N/A     40213      C   ...onda/envs/gan/bin/python       531MiB |
|    1   N/A  N/A     40212      C   ...onda/envs/gan/bin/python      9852MiB |
|    2   N/A  N/A     40213      C   ...onda/envs/gan/bin/python      9858MiB |
|    2   N/A  N/A      2011      G   /usr/lib/xorg/Xorg                  4MiB |
"""

PERFORMANCE = """\
==============NVSMI LOG==============

Timestamp                                 : Tue Feb 10 16:22:43 2026
Driver Version                            : 550.54.15
CUDA Version                              : 12.4

Attached GPUs                             : 2
GPU 00000001:00:00.0
    Performance State                     : P0
    Clocks Event Reasons
        Idle                              : Not Active
        SW Power Cap                      : Active
        HW Slowdown                       : Not Active
            HW Thermal Slowdown           : Not Active
    GPU Power Readings
        Power Draw                        : 412.31 W
        Current Power Limit               : 600.00 W
        Default Power Limit               : 700.00 W
    PCI
        GPU Link Info
            PCIe Generation
                Max                       : 5
                Current                   : 4
            Link Width
                Max                       : 16x
                Current                   : 8x
    Remapped Rows
        Pending                           : Yes
        Remapping Failure Occurred        : No

GPU 00000002:00:00.0
    Performance State                     : P0
    Clocks Event Reasons
        HW Slowdown                       : Active
            HW Thermal Slowdown           : Active
"""


def values(facts: list[Fact], key: str) -> dict[str, object]:
    return {f.subject.name: f.value for f in facts if f.key == key}


def test_old_table() -> None:
    facts = list(gpu_smi_table.parse(Document("smi.txt", OLD)))
    assert values(facts, "gpu.util") == {"0": 0.0, "1": 100.0}
    assert values(facts, "gpu.power_w") == {"0": 68.0, "1": 87.0}
    assert values(facts, "gpu.ecc_uncorrected") == {"0": 0, "1": 2}
    assert values(facts, "gpu.mem_used_mib")["0"] == 22377.0
    assert values(facts, "gpu.count") == {"": 2}
    assert values(facts, "driver_version") == {"": "525.60.13"}
    assert values(facts, "gpu.mig") == {"0": False, "1": False}
    power = next(f for f in facts if f.key == "gpu.power_w")
    assert power.origin.kind == "tool" and power.origin.line == 8


def test_new_table_and_lost_gpu() -> None:
    facts = list(gpu_smi_table.parse(Document("smi.txt", NEW)))
    assert values(facts, "gpu.power_cap_w") == {"0": 700.0}
    assert values(facts, "gpu.name")["0"] == "NVIDIA H100 80GB HBM3"
    assert values(facts, "gpu.lost") == {"1": "err"}


def test_contexts_on_another_gpu() -> None:
    facts = list(gpu_smi_table.parse(Document("smi.txt", PROCESSES)))
    assert values(facts, "gpu.processes") == {"0": 3, "1": 1, "2": 1}
    assert values(facts, "gpu.ranks_on_one") == {"0": 2}
    assert values(facts, "gpu.shared_by_equals") == {}


def test_two_equal_processes_on_one_gpu() -> None:
    text = "|    0   N/A  N/A  40211   C   python   9871MiB |\n|    0   N/A  N/A  40212   C   python   9751MiB |\n"
    facts = list(gpu_smi_table.parse(Document("smi.txt", text)))
    assert values(facts, "gpu.shared_by_equals") == {"0": True}


def test_hosts_by_prompt() -> None:
    text = f"me@gpu-a1:~$ nvidia-smi\n{OLD}me@gpu-a2:~$ nvidia-smi\n{OLD}"
    facts = list(gpu_smi_table.parse(Document("smi.txt", text)))
    assert set(values(facts, "gpu.util")) == {"gpu-a1:0", "gpu-a1:1", "gpu-a2:0", "gpu-a2:1"}
    assert values(facts, "gpu.count") == {"gpu-a1": 2, "gpu-a2": 2}


def test_query_in_full() -> None:
    facts = list(gpu_smi_q.parse(Document("q.txt", PERFORMANCE)))
    throttle = {(f.subject.name, f.value) for f in facts if f.key == "gpu.throttle"}
    assert throttle == {("0", "sw_power_cap"), ("1", "hw_slowdown"), ("1", "hw_thermal")}
    assert values(facts, "gpu.power_default_w") == {"0": 700.0}
    assert values(facts, "gpu.power_cap_w") == {"0": 600.0}
    assert values(facts, "gpu.pcie_width_now") == {"0": 8}
    assert values(facts, "gpu.pcie_width_max") == {"0": 16}
    assert values(facts, "gpu.pcie_gen_now") == {"0": 4}
    assert values(facts, "gpu.remap_pending") == {"0": True}
    assert values(facts, "gpu.remap_failed") == {"0": False}
    assert values(facts, "gpu.count") == {"": 2}


def test_csv() -> None:
    text = (
        "index, name, pstate, clocks.current.sm [MHz], power.draw [W], clocks_throttle_reasons.active\n"
        "0, NVIDIA A100-SXM4-80GB, P0, 1410 MHz, 388.12 W, 0x0000000000000004\n"
        "1, NVIDIA A100-SXM4-80GB, P0, 765 MHz, [N/A], 0x0000000000000048\n"
        "2, [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost]\n"
    )
    facts = list(gpu_smi_csv.parse(Document("q.csv", text)))
    assert values(facts, "gpu.sm_clock_mhz") == {"0": 1410.0, "1": 765.0}
    assert values(facts, "gpu.power_w") == {"0": 388.12}
    assert {(f.subject.name, f.value) for f in facts if f.key == "gpu.throttle"} == {
        ("0", "sw_power_cap"),
        ("1", "hw_slowdown"),
        ("1", "hw_thermal"),
    }
    assert values(facts, "gpu.lost") == {"2": "unknown-error"}


def test_csv_without_header_is_left_alone() -> None:
    assert list(gpu_smi_csv.parse(Document("a.csv", "step, loss, time\n1, 2.0, 0.4\n"))) == []


def test_dmon() -> None:
    text = "# gpu    pwr  gtemp  mtemp     sm    mem   mclk   pclk\n# Idx      W      C      C      %      %    MHz    MHz\n    0    389     61     70     99     41   1593   1410\n    1      -     88      -     99     41   1593    765\n"
    facts = list(gpu_smi_csv.parse(Document("dmon.txt", text)))
    assert values(facts, "gpu.power_w") == {"0": 389.0}
    assert values(facts, "gpu.sm_clock_mhz") == {"0": 1410.0, "1": 765.0}
    assert values(facts, "gpu.temp_c") == {"0": 61.0, "1": 88.0}


def test_nvlink() -> None:
    text = (
        "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n"
        "GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-2)\n\t Link 0: 26.562 GB/s\n\t Link 1: 26.562 GB/s\n\t Link 1: Replay Errors: 7\n"
    )
    facts = list(gpu_nvlink.parse(Document("nvlink.txt", text)))
    assert values(facts, "gpu.nvlink_state") == {"0": "inactive", "1": "active"}
    assert values(facts, "gpu.nvlink_up_links") == {"0": 1, "1": 2}
    assert values(facts, "gpu.nvlink_errors") == {"1": 7}


def test_dcgm() -> None:
    text = '| Diagnostic                | Result            |\n| Memory                    | Fail - GPU: 3     |\n| PCIe                      | Pass - All        |\nDCGM_FI_DEV_XID_ERRORS{gpu="3",Hostname="gpu-a1"} 79\n'
    facts = list(gpu_dcgm.parse(Document("dcgm.txt", text)))
    assert values(facts, "gpu.dcgm_failed") == {"3": "Memory"}
    assert values(facts, "gpu.xid") == {"gpu-a1:3": 79}


def test_garbage() -> None:
    for text in (
        "",
        "|",
        "| 0 |||",
        "GPU 0:\nLink 0:",
        "GPU 00000001:00:00.0\n: :\n::",
        "index, name\n\x00,\n",
        "# gpu\n0",
        OLD[:400],
        PERFORMANCE[:700],
    ):
        for parser in (gpu_smi_table, gpu_smi_q, gpu_smi_csv, gpu_nvlink, gpu_dcgm):
            list(parser.parse(Document("x.txt", text)))
