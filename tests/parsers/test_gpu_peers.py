"""Measurements of ranks and GPUs compared with their peers: tables, straggler reports, links, programs, clocks."""

from __future__ import annotations

import pytest

from assistant.derive import n42_gpu_state, n45_rank_devices
from assistant.facts import CaseFile, Fact
from assistant.intake.document import Document
from assistant.parsers import parse


def facts(text: str, name: str = "out.txt") -> list[Fact]:
    return parse(Document(name, text))[0]


def values(text: str, key: str, name: str = "out.txt") -> list[object]:
    return [f.value for f in facts(text, name) if f.key == key]


def derived(text: str, key: str) -> list[Fact]:
    case = CaseFile()
    case.add(facts(text))
    return [f for f in n42_gpu_state.derive(case) if f.key == key]


COMPUTE = """\
rank  compute_ms  allreduce_ms  step_ms
0     402.1       251.9         660.0
1     401.8       252.3         660.0
2     403.4       250.7         660.0
3     {slow}       {wait}          660.0
"""


def test_slow_rank_in_a_table() -> None:
    found = values(COMPUTE.format(slow="616.8", wait="38.1"), "rank.odd_compute")
    assert found[0] == "rank 3: compute_ms 616.8 (peers 402.75)"
    assert not values(COMPUTE.format(slow="404.8", wait="250.1"), "rank.odd_compute")


def test_slow_gpu_in_a_table_of_rates() -> None:
    rows = "\n".join(f"nodeA  {n}    1410    {t}" for n, t in enumerate((251.3, 252.0, 206.4, 250.8)))
    assert values("host   gpu  sm_mhz  bf16 TFLOP/s\n" + rows, "rank.odd_compute") == [
        "host nodeA gpu 2: bf16 TFLOP/s 206.4 (peers 251.05)"
    ]


def test_rank_and_value_in_pairs() -> None:
    assert values("rank 0 711   rank 1 709   rank 2 838   rank 3 710   rank 4 712\n", "rank.odd_compute") == [
        "rank 2: 838 (peers 711)"
    ]
    assert not values("rank 0 711   rank 1 709   rank 2 713   rank 3 710   rank 4 712\n", "rank.odd_compute")


def test_megatron_straggler() -> None:
    line = (
        " timestamp: 2024-08-20 02:11:19 | MnRtt/Rnk: 8213.11ms/93 | MnEtpt/Rnk: {low}TF/44 | MxEtpt/Rnk: 524.02TF/93 |"
    )
    assert values(line.format(low="371.10"), "rank.odd_compute") == ["rank 44: 371.10 TFLOP/s (best 524.02)"]
    assert not values(line.format(low="515.10"), "rank.odd_compute")


def test_straggler_scores() -> None:
    text = "[NeMo I 2024-10-15 10:31:07 straggler_det_callback:198]\n  Rank=37 Node=n7 Score=0.71\n  Rank=12 Node=n2 Score=0.98\n  Rank=3 Node=n0 Score=1.00\n"
    assert values(text, "rank.odd_compute") == ["rank 37: score 0.71 (peers 0.98)"]


def test_nccl_topology_without_nvlink() -> None:
    text = "n1:40:71 [0] NCCL INFO === System : maxBw 24.0 totalBw 24.0 ===\nn1:40:71 [0] NCCL INFO + PCI[24.0] - GPU/0-7000 (0)\n{}n1:40:71 [0] NCCL INFO + PCI[24.0] - GPU/0-b000 (1)\nn1:40:71 [0] NCCL INFO ====================\n"
    assert values(text.format(""), "nccl.topo_no_nvlink") == [True]
    assert values(
        text.format("n1:40:71 [0] NCCL INFO               + NVL[240.0] - NVS/0\n"), "nccl.topo_no_nvlink"
    ) == [False]


def test_nccl_topology_file_shows_a_slower_link() -> None:
    pci = '<pci busid="0000:{b}:00.0" class="0x030200" vendor="0x10de" device="0x20b5" link_speed="{s} GT/s PCIe" link_width="{w}">\n  <gpu dev="{d}" sm="80" rank="{d}" gdr="1"/>\n</pci>\n'
    text = pci.format(b="01", s="16.0", w=16, d=0) + pci.format(b="41", s="5.0", w=8, d=1)
    found = [f for f in facts(text, "topo.xml") if f.key == "gpu.pcie_odd"]
    assert [(f.subject.name, f.value) for f in found] == [("1", "5 GT/s x8 (peers 16 GT/s x16)")]


def test_copies_between_host_and_gpus() -> None:
    text = "Running host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n           0         1         2         3\n 0     25.22     25.21      1.63     25.20\n"
    assert values(text, "gpu.h2d_odd") == ["1.63 GB/s (peers 25.205 GB/s)"]


@pytest.mark.parametrize(
    ("runtime", "capability", "count"), [("10.1", "8.6", 1), ("11.1", "8.6", 0), ("11.0", "8.0", 0), ("11.4", "9.0", 1)]
)
def test_runtime_older_than_gpu(runtime: str, capability: str, count: int) -> None:
    text = f"Successfully opened dynamic library libcudart.so.{runtime}\npciBusID: 0000:01:00.0 name: X computeCapability: {capability}\n"
    assert len(values(text, "gpu.arch_newer_than_cuda")) == count


def test_program_that_does_not_belong() -> None:
    text = "# gpu         pid  type    sm    mem    enc    dec    command\n    0      51200     C     71     30      -      -    python\n    1      51201     C     52     22      -      -    python\n    1      88410     C     47     14      -      -    blender\n"
    assert [(f.subject.name, f.value) for f in facts(text) if f.key == "gpu.foreign_process"] == [("1", "blender")]


def test_diagnostic_names_the_test_of_a_second_line() -> None:
    text = "Successfully ran diagnostic for group.\n| PCIe                      | Pass - All                                     |\n| GPU Memory                | Pass - GPUs: 0, 1                              |\n|                           | Fail - GPU: 2                                  |\n"
    assert values(text, "gpu.dcgm_failed") == ["GPU Memory"]


def test_health_names_the_system() -> None:
    text = "| Overall Health            | Warning                                                  |\n| -> 6                      | Warning                                                  |\n|       -> Thermal system   | Warning                                                  |\n"
    assert values(text, "gpu.dcgm_failed") == ["health thermal"]


def test_thermal_violation_counter() -> None:
    line = 'DCGM_FI_DEV_THERMAL_VIOLATION{{gpu="2",Hostname="w7"}} {}\n'
    assert values(line.format(118402991212), "gpu.throttle") == ["sw_thermal"]
    assert not values(line.format(0), "gpu.throttle")


def test_xid_of_the_device_plugin() -> None:
    text = "I0613 21:47:30.119307       1 health.go:185] XidCriticalError: Xid=95 on Device=GPU-3d0c1f2e-77aa; marking device as unhealthy.\n"
    assert values(text, "gpu.xid") == [95]


def test_card_that_left_the_bus() -> None:
    line = "48:00.0 3D controller: NVIDIA Corporation GA100 [A100 SXM4 40GB] (rev {})\n"
    assert values(line.format("ff"), "gpu.lost") == ["missing"]
    assert not values(line.format("a1"), "gpu.lost")


def test_fabric_state_without_its_gpu() -> None:
    text = "# nvidia-smi -q | grep -A3 Fabric\n    Fabric\n        State                             : In Progress\n        Status                            : N/A\n# systemctl is-active nvidia-fabricmanager\ninactive\n"
    assert values(text, "gpu.fabric_state") == ["in-progress"]
    assert values(text, "fabric_manager") == ["inactive"]


DMON = "# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec   mclk   pclk\n# Idx      W      C      C      %      %      %      %    MHz    MHz\n"


def test_clock_that_sinks_under_load() -> None:
    rows = [(229, 71, 100, 1695), (228, 78, 100, 1680), (180, 90, 100, 990), (170, 91, 100, 900)]
    text = DMON + "".join(
        f"    2    {p}     {t}      -    {u}     60      0      0   7600   {c}\n" for p, t, u, c in rows
    )
    assert [f.value for f in derived(text, "gpu.clock_sinks")] == ["1695 to 900 MHz"]
    assert not derived(
        text.replace("   900\n", "   210\n").replace("-    100     60", "-      0     60"), "gpu.clock_sinks"
    )


def test_application_clock_below_its_default() -> None:
    text = "GPU 00000000:15:00.0\n    Applications Clocks\n        Graphics                          : {} MHz\n    Default Applications Clocks\n        Graphics                          : 1290 MHz\n"
    assert derived(text.format(810), "gpu.clock_below_max")
    assert not derived(text.format(1290), "gpu.clock_below_max")


def test_power_limit_below_the_model() -> None:
    text = "index, name, power.draw [W], power.limit [W]\n0, NVIDIA A100-SXM4-80GB, 249.0 W, {} W\n"
    assert derived(text.format("250.00"), "gpu.power_below_tdp")
    assert not derived(text.format("400.00"), "gpu.power_below_tdp")


def test_one_device_visible_to_all() -> None:
    text = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node={}\n#SBATCH --gres=gpu:4\nexport CUDA_VISIBLE_DEVICES=0\nsrun python train.py\n"
    for tasks, told in ((4, True), (1, False)):
        case = CaseFile()
        case.add(facts(text.format(tasks), "job.sh"))
        assert any(f.key == "launch.one_visible_device" for f in n45_rank_devices.derive(case)) is told


def test_library_and_program_name_two_devices() -> None:
    guess = "[rank1]:[W ProcessGroupNCCL.cpp:4115] [PG ID 0 PG GUID 0 Rank 1]  using GPU 1 to perform barrier as devices used by this process are currently unknown.\n"
    assert values(guess + "rank 1 device cuda:3 ready\n", "rank.device_conflict") == ["rank 1: GPU 1 and 3"]
    assert not values(guess + "rank 1 device cuda:1 ready\n", "rank.device_conflict")


def test_device_from_the_global_rank() -> None:
    head = "import torch\nimport torch.distributed as dist\ndist.init_process_group('nccl')\nrank = dist.get_rank()\n"
    assert values(head + "torch.cuda.set_device(rank % 4)\n", "code.device_from_global_rank", "t.py") == [True]
    assert not values(head + "torch.cuda.set_device(local_rank)\n", "code.device_from_global_rank", "t.py")
