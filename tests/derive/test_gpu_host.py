"""GPUs compared with their peers, and hosts with what is asked of them."""

from __future__ import annotations

from assistant.derive import n40_gpu_host, n41_gpu_peers
from assistant.facts import CaseFile
from assistant.intake.document import Document
from assistant.parsers import parse


def derived(*texts: str) -> set[tuple[str, str, object]]:
    case = CaseFile()
    for number, text in enumerate(texts):
        case.add(parse(Document(f"tool{number}.txt", text))[0])
    return {(f.subject.name, f.key, f.value) for module in (n40_gpu_host, n41_gpu_peers) for f in module.derive(case)}


def dmon(*rows: tuple[int, int, int, int]) -> str:
    """Rows of power, temperature, utilisation and clock."""
    head = "# gpu    pwr  gtemp  mtemp     sm    mem   mclk   pclk\n# Idx      W      C      C      %      %    MHz    MHz\n"
    return head + "".join(
        f"    {i}    {p}     {t}      -     {u}     41   1593   {c}\n" for i, (p, t, u, c) in enumerate(rows)
    )


def test_low_clock_among_busy_peers() -> None:
    found = derived(dmon((389, 61, 99, 1410), (391, 62, 99, 1410), (388, 61, 99, 1410), (380, 66, 99, 765)))
    assert found == {("3", "gpu.odd_one_out", "clock 765 MHz (peers 1410 MHz)")}


def test_equal_gpus() -> None:
    assert derived(dmon((389, 61, 99, 1410), (391, 62, 99, 1410), (358, 64, 99, 1395))) == set()


def test_hosts_are_not_mixed() -> None:
    slow = dmon((389, 61, 99, 900), (391, 62, 99, 900), (388, 61, 99, 900))
    fast = dmon((389, 61, 99, 1410), (391, 62, 99, 1410), (388, 61, 99, 1410))
    assert derived(slow, fast) == set()


def test_half_of_the_gpus_slow_is_no_odd_one() -> None:
    found = derived(dmon((389, 61, 99, 900), (391, 62, 99, 900), (388, 61, 99, 1410), (388, 61, 99, 1410)))
    assert not {f for f in found if f[1] == "gpu.odd_one_out"}


TABLE = """\
|   {i}  NVIDIA A100-SXM4-80GB          On  | 00000000:0{i}:00.0 Off |                    0 |
| N/A   28C    P0    {power}W / 400W |  {memory}MiB / 81920MiB |    {util}%      Default |
"""


def table(*rows: tuple[int, int, int]) -> str:
    return "| NVIDIA-SMI 535.1.1  Driver Version: 535.1.1  |\n" + "".join(
        TABLE.format(i=i, power=p, memory=m, util=u) for i, (p, m, u) in enumerate(rows)
    )


def test_waiting_gpus() -> None:
    found = derived(table((68, 22377, 0), (87, 15995, 100), (84, 16122, 100), (85, 15995, 100)))
    assert ("", "gpu.all_busy_low_power", True) in found
    assert ("0", "gpu.idle_among_busy", True) in found
    assert ("0", "gpu.odd_one_out", "memory 22377 MiB (peers 16058.5 MiB)") in found


def test_working_gpus() -> None:
    found = derived(table((380, 15990, 100), (387, 15995, 100), (384, 16122, 100)))
    assert found == set()


def test_full_memory() -> None:
    assert ("1", "gpu.mem_full", True) in derived(table((380, 41000, 100), (387, 81500, 100)))


def test_pcie() -> None:
    head = "index, pstate, pcie.link.gen.current, pcie.link.gen.max, pcie.link.width.current, pcie.link.width.max\n"
    assert derived(head + "0, P0, 4, 4, 16, 16\n1, P0, 3, 4, 8, 16\n") == {
        ("1", "gpu.pcie_below_max", "x8 of x16, gen 3 of 4")
    }
    assert derived(head + "0, P8, 1, 4, 16, 16\n1, P8, 1, 4, 16, 16\n") == set()


def test_power_limit() -> None:
    head = "index, power.draw [W], power.limit [W], power.default_limit [W]\n"
    assert derived(head + "0, 299 W, 300.00 W, 400.00 W\n1, 398 W, 400.00 W, 400.00 W\n") == {
        ("0", "gpu.power_below_default", True)
    }


def test_load_for_each_cpu() -> None:
    assert ("", "cpu.load_per_cpu", 2.0) in derived(
        "CPU(s):  64\n 10:12:01 up 12 days,  load average: 128.00, 98.22, 50.01\n"
    )


def test_cpus_for_each_gpu() -> None:
    found = derived("pid 40211's current affinity list: 0-3\n" + table((380, 15990, 100), (387, 15995, 100)))
    assert ("", "cpu.per_gpu", 2.0) in found


def test_versions_of_module_and_library() -> None:
    module = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Tue Feb 27 02:55:25 UTC 2024\n"
    assert ("", "driver.mismatch", True) in derived(module, "NVML library version: 535.183\n")
    assert ("", "driver.mismatch", True) not in derived(module, "NVML library version: 535.161\n")


def test_uneven_matrix() -> None:
    text = "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n   D\\D     0      1      2\n     0 1654.31  274.1  20.10\n     1  274.2 1659.57  274.0\n     2  20.20  273.9 1657.00\n"
    assert ("", "gpu.p2p_bw_uneven", True) in derived(text)
