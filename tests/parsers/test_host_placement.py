"""Placement on NUMA nodes, benchmarks under bindings, noise of the system, connection tracking, IOMMU checks."""

from __future__ import annotations

from types import ModuleType

import pytest

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers import (
    conntrack,
    gds_check,
    gpu_p2p_bandwidth,
    host_bench_binding,
    host_cpu,
    host_lspci,
    host_placement,
    host_proc,
    os_noise,
    perftest,
)


def facts(module: ModuleType, text: str, name: str = "x.txt") -> dict[str, list[Fact]]:
    assert any(trigger in text for trigger in module.TRIGGERS)
    found: dict[str, list[Fact]] = {}
    for fact in module.parse(Document(name, text)):
        found.setdefault(fact.key, []).append(fact)
    return found


def test_cpu_sets() -> None:
    assert host_placement.cpu_set("0-2,8") == {0, 1, 2, 8}
    assert host_placement.cpu_set("0xff00000000") == set(range(32, 40))
    assert host_placement.cpu_list({0, 1, 2, 8}) == "0-2,8"


def test_slurm_masks_by_local_rank() -> None:
    text = (
        "cpu-bind=MASK - n7, task  8  0 [22110]: mask 0xff set\ncpu-bind=MASK - n7, task  9  1 [22111]: mask 0xff00 set"
    )
    found = facts(host_placement, text)["cpu.local_rank_cpus"]
    assert [(f.subject.name, f.value) for f in found] == [("0", "0-7"), ("1", "8-15")]


def test_container_cpus_and_kubelet() -> None:
    found = facts(
        host_placement, "$ cat /sys/fs/cgroup/cpuset.cpus.effective\n24-39,72-87\ntopologyManagerPolicy: none"
    )
    assert found["cpu.allowed_list"][0].value == "24-39,72-87"
    assert found["numa.kubelet_policy"][0].value == "none"


@pytest.mark.parametrize(
    ("last", "one"),
    [("61770.64          1204.28        62974.92", True), ("1204.28          61770.64        62974.92", False)],
)
def test_memory_of_processes(last: str, one: bool) -> None:
    rows = "4012{} (python)                  61877.12           12.40        61889.52\n"
    text = "Per-node process memory usage (in MBs)\nPID                               Node 0          Node 1           Total\n"
    found = facts(host_placement, text + rows.format(1) + rows.format(2) + f"40123 (python)                  {last}\n")
    assert ("numa.memory_one_node" in found) is one


@pytest.mark.parametrize(("home", "far"), [(1, True), (0, False)])
def test_interrupts_of_the_nic(home: int, far: bool) -> None:
    text = (
        f"$ cat /sys/class/net/eth6/device/numa_node\n{home}\n"
        "            CPU0       CPU1\n 166:   91823011          0   PCI-MSI mlx5_comp0@pci:0000:98:00.0\n 167:          0   90311928   PCI-MSI mlx5_comp1@pci:0000:98:00.0\n"
        "NUMA node0 CPU(s):               0-31,64-95\nNUMA node1 CPU(s):               32-63,96-127\n"
    )
    assert ("numa.irq_far" in facts(host_placement, text)) is far


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ('case $SLURM_LOCALID in\n  0|1) NODE=0 ;;\n  2|3) NODE=0 ;;\nesac\nnumactl --cpunodebind=$NODE "$@"', "0"),
        ('case $SLURM_LOCALID in\n  0|1) NODE=0 ;;\n  2|3) NODE=1 ;;\nesac\nnumactl --cpunodebind=$NODE "$@"', None),
        ("numactl --cpunodebind=0 --membind=0 torchrun --standalone --nproc_per_node=8 train.py", "0"),
        ("numactl --cpunodebind=0-1 torchrun --standalone --nproc_per_node=8 train.py", None),
        ("numactl --cpunodebind=0 --membind=0 torchrun --standalone --nproc_per_node=1 train.py", None),
    ],
)
def test_scripts_that_bind_to_one_node(text: str, node: str | None) -> None:
    found = facts(host_placement, text, "bind.sh").get("numa.script_one_node", [])
    assert [f.value for f in found] == ([node] if node else [])


def test_benchmark_under_two_bindings() -> None:
    text = "$ numactl -C 64 ./bandwidthTest --memory=pinned\n   32000000\t\t\t12.3\n$ numactl -C 2 ./bandwidthTest --memory=pinned\n   32000000\t\t\t25.1\n"
    assert facts(host_bench_binding, text)["numa.bench_differs"][0].value == "bandwidthTest: 12.3 against 25.1"
    assert "numa.bench_differs" not in facts(host_bench_binding, text.replace("12.3", "24.3"))


def test_noise() -> None:
    osnoise = "CPU Period       Runtime        Noise  % CPU Aval   Max Noise   Max Single          HW\n  7 #59         59000000      9120112    84.54218      220114       201002           0\n"
    assert facts(os_noise, osnoise)["os.noise_max_us"][0].value == 201002
    sched = "  Task                  |   Runtime ms  | Switches | Avg delay ms    | Max delay ms    |\n  python:40112          |  51112.201 ms |    50113 | avg:    1.912 ms | max:  212.310 ms |\n"
    assert facts(os_noise, sched)["os.noise_max_us"][0].value == 212310
    table = "FWQ: work quantum 1000 us\n   2    1000.1     1041.8    1910.2   48811.7\n"
    assert facts(os_noise, table)["os.noise_max_us"][0].value == 47812
    assert facts(os_noise, "allocstall_normal 812011\ncompact_stall 7\n")["mem.reclaim_stalls"][0].value == 812011


def test_conntrack_and_listen_queue() -> None:
    text = "$ cat /proc/sys/net/netfilter/nf_conntrack_count /proc/sys/net/netfilter/nf_conntrack_max\n262144\n262144\nTcpExtListenOverflows           21877              0.0\n"
    found = facts(conntrack, text)
    assert found["kernel.table_full"][0].value == "conntrack"
    assert found["port.listen_overflows"][0].value == 21877
    assert "kernel.table_full" not in facts(conntrack, "nf_conntrack_count = 11\nnf_conntrack_max = 262144\n")


def test_gdscheck_and_groups() -> None:
    found = facts(gds_check, "Found ACS enabled for switch 0000:64:00.0\nIOMMU: enabled\n")
    assert (found["pcie.acs_on"][0].value, found["kernel.iommu"][0].value) == (True, "on")
    assert facts(gds_check, "$ cat /sys/kernel/iommu_groups/18/type\nidentity\n")["kernel.iommu"][0].value == "pt"


def test_acs_registers() -> None:
    assert facts(host_lspci, "0000:24:04.0 (cap 15 @f24) @f2a = 005d")["pcie.acs_on"][0].value is True
    assert facts(host_lspci, "0000:24:04.0 (cap 15 @f24) @f2a = 0000")["pcie.acs_on"][0].value is False


def test_peer_latency_and_rdma_from_gpu() -> None:
    text = "P2P=Enabled Latency (P2P Writes) Matrix (us)\n   GPU     0      1\n     0   1.53  49163.21\n     1 49164.03  1.55\n"
    assert facts(gpu_p2p_bandwidth, text)["gpu.p2p_latency_max_us"][0].value == 49164.03
    head = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
    runs = f"$ ib_write_bw -d mlx5_0 n2\n{head} 1048576    5000  97.70  97.69  0.011\n$ ib_write_bw -d mlx5_0 --use_cuda=0 n2\n{head} 1048576    5000  31.42  31.40  0.003\n"
    assert facts(perftest, runs)["net.rdma_gpu_share"][-1].value == 0.321


def test_cpu_answers() -> None:
    found = facts(host_cpu, "$ nproc\n64\n$ cat /proc/loadavg\n331.42 322.10 301.77 318/4102 61233\n")
    assert (found["cpu.count"][0].value, found["cpu.load1"][0].value) == (64, 331.42)
    warning = "UserWarning: This DataLoader will create 12 worker processes in total. Our suggested max number of worker in current system is 1, which is smaller"
    assert facts(host_cpu, warning)["cpu.affinity_count"][0].value == 1
    assert facts(host_cpu, " 64.0/64.0 CPU\n 4.0/4.0 GPU\n")["cpu.slots_used"][0].value == 1.0
    assert (
        facts(host_cpu, "   1,000,000      node-loads\n     789,200      node-load-misses  # 78.92%\n")[
            "numa.miss_share"
        ][0].value
        == 0.789
    )


def test_many_foreign_processes() -> None:
    head = "    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n"
    row = " 77120{} x         20   0 5120112   1.1g  31200 R  99.7   0.4 812:11.40 gmx_mpi\n"
    found = facts(host_proc, head + row.format(1) + row.format(2))
    assert found["proc.foreign_cpu_pct"][0].value == pytest.approx(199.4)
    assert "proc.foreign_cpu" not in facts(host_proc, head + row.format(1))


@pytest.mark.parametrize("module", [conntrack, gds_check, host_bench_binding, host_placement, os_noise])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "numactl",
        "cpu-bind=MASK - n, task",
        "P:99 FWQ insert_failed= iommu_groups/ nf_conntrack_count\n\n1 2 3",
        "0x,\x00-,,",
    ],
)
def test_garbage(module: ModuleType, text: str) -> None:
    list(module.parse(Document("x", text)))
