"""Limits, memory, CPUs and processes of a host."""

from __future__ import annotations

import pytest

from assistant.intake.document import Document
from assistant.parsers import host_cpu, host_limits, host_memory, host_proc
from assistant.parsers.host_cpu import cpus_in


def found(module: object, text: str, name: str = "tool.txt") -> dict[str, object]:
    return {f.key: f.value for f in module.parse(Document(name, text))}  # type: ignore[attr-defined]


def test_ulimit() -> None:
    text = (
        "core file size              (blocks, -c) 0\nmax locked memory           (kbytes, -l) 65536\n"
        "open files                          (-n) 1024\nstack size                  (kbytes, -s) 8192\nmax user processes                  (-u) unlimited\n"
    )
    assert found(host_limits, text) == {
        "limit.memlock_kb": 65536,
        "limit.nofile": 1024,
        "limit.stack_kb": 8192,
        "limit.nproc": -1,
    }


def test_single_ulimit() -> None:
    assert found(host_limits, "$ ulimit -l\n64\n") == {"limit.memlock_kb": 64}
    assert found(host_limits, "root@n1:~# ulimit -l\nunlimited\n") == {"limit.memlock_kb": -1}


def test_proc_limits_are_in_bytes() -> None:
    text = "Max locked memory         65536                65536                bytes\nMax open files            1024                 524288               files\n"
    assert found(host_limits, text) == {"limit.memlock_kb": 64, "limit.nofile": 1024}


def test_control_group() -> None:
    text = "/sys/fs/cgroup/cpu.max: 800000 100000\n/sys/fs/cgroup/pids.max: max\nnr_periods 10000\nnr_throttled 4213\noom_kill 3\n"
    assert found(host_limits, text) == {
        "cpu.quota_cores": 8.0,
        "limit.pids_max": -1,
        "cpu.throttled_pct": 42.1,
        "mem.cgroup_oom_kills": 3,
    }


def test_ports_and_kernel() -> None:
    text = "net.ipv4.ip_local_port_range = 32768\t60999\nTCP:   31213 (estab 1213, closed 29800, orphaned 0, timewait 29790)\nkernel.numa_balancing = 1\n"
    assert found(host_limits, text) == {
        "port.range_size": 28232,
        "port.tcp_sockets": 31213,
        "port.timewait": 29790,
        "kernel.numa_balancing": True,
    }
    assert found(host_limits, "BOOT_IMAGE=/boot/vmlinuz ro iommu=pt quiet\n")["kernel.iommu"] == "pt"
    assert found(host_limits, "BOOT_IMAGE=/boot/vmlinuz ro quiet\n")["kernel.iommu"] == "unset"


@pytest.mark.parametrize(
    ("row", "megabytes"),
    [
        ("shm              64M   60M  4.0M  94% /dev/shm", 64.0),
        ("tmpfs           504G  1.2G  503G   1% /dev/shm", 516096.0),
        ("shm               65536 61440      4096  94% /dev/shm", 64.0),
    ],
)
def test_shared_memory(row: str, megabytes: float) -> None:
    head = (
        "Filesystem     1K-blocks  Used Available Use% Mounted on"
        if "65536" in row
        else "Filesystem      Size  Used Avail Use% Mounted on"
    )
    assert found(host_memory, f"{head}\n{row}\n")["shm_total_mb"] == megabytes


def test_full_disk() -> None:
    text = "Filesystem      Size  Used Avail Use% Mounted on\n/dev/sda1       440G  430G     0 100% /scratch\n/dev/loop3       64M   64M     0 100% /snap/core20\n"
    assert found(host_memory, text) == {"disk.full": "/scratch"}


def test_free() -> None:
    text = "               total        used        free      shared  buff/cache   available\nMem:           503Gi       488Gi       1.9Gi       612Mi        13Gi        11Gi\nSwap:          8.0Gi       7.9Gi        12Mi\n"
    facts = found(host_memory, text)
    assert facts["mem.total_mb"] == 515072
    assert facts["mem.available_mb"] == 11264
    assert facts["mem.available_share"] == 0.022
    assert facts["mem.swap_used_mb"] == 8090


def test_free_in_gigabytes() -> None:
    text = "$ free -g\n              total        used        free      shared  buff/cache   available\nMem:            503          92         301           0         109         407\n"
    assert found(host_memory, text)["mem.total_mb"] == 515072


def test_vmstat() -> None:
    text = (
        "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
        " 4 12 8123456  51234   1234 123456 4213 9123 12345 23456 8123 9123 12  8 20 60  0\n"
    )
    assert found(host_memory, text) == {"mem.swap_rate": 13336, "cpu.iowait_pct": 60.0, "cpu.steal_pct": 0.0}


def test_cpu_lists() -> None:
    assert cpus_in("0") == 1
    assert cpus_in("0-63,128-191") == 128
    assert cpus_in("x") is None


def test_affinity() -> None:
    facts = found(host_cpu, "pid 100's current affinity list: 0-31\npid 101's current affinity list: 7\n")
    assert facts["cpu.affinity_count"] == 1
    assert facts["cpu.affinity_shrunk"] is True
    facts = found(host_cpu, "pid 100's current affinity mask: ff\npid 101's current affinity mask: ff00\n")
    assert facts == {"cpu.affinity_count": 8}


def test_affinity_dump_of_a_program() -> None:
    facts = found(host_cpu, "__main__ 52218 64\n__getitem__ 52260 1\n", "affinity.txt")
    assert facts["cpu.affinity_shrunk"] is True
    assert found(host_cpu, "epoch 52218 64\n", "train.log") == {}


def test_lscpu() -> None:
    text = "CPU(s):                          256\nModel name:                      AMD EPYC 7763 64-Core Processor\nSocket(s):                       2\nNUMA node(s):                    8\nCPU max MHz:                     3529.0520\n"
    assert found(host_cpu, text) == {
        "cpu.count": 256,
        "cpu": "AMD EPYC 7763 64-Core Processor",
        "cpu.sockets": 2,
        "cpu.numa_nodes": 8,
        "cpu.mhz_max": 3529.052,
    }


def test_load_and_threads() -> None:
    text = " 10:12:01 up 12 days,  load average: 412.10, 398.22, 350.01\nSetting OMP_NUM_THREADS environment variable for each process to be 1 in default\nnuma_hit  100 200\nnuma_miss 50 0\n"
    assert found(host_cpu, text) == {"cpu.load1": 412.1, "cpu.omp_threads": 1, "numa.miss_share": 0.25}


PS = """\
USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND
u4102     211058  117  4.6 17517200480 24494736 ? Dl  00:36 291:14 python
u4102     211059 87.9  4.4 17508566232 23526964 ? Rl  00:36 217:52 python
u4102     211060 99.1  0.0      0     0 ? Z   00:36 217:52 python <defunct>
bob         9124 1601  4.4 17508566232 23526964 ? Rl  00:36 217:52 ffmpeg
root         412 98.0  0.0      0     0 ?        R    00:01 100:00 [kswapd0]
"""


def test_processes() -> None:
    facts = found(host_proc, PS)
    assert facts["proc.state_d"] == "python (pid 211058)"
    assert facts["proc.d_count"] == 1
    assert facts["proc.defunct"] == "python <defunct> (pid 211060)"
    assert facts["proc.foreign_cpu"] == "ffmpeg (1601 % CPU)"
    assert facts["proc.swapd_busy"] is True


def test_garbage() -> None:
    for text in (
        "",
        "Mem:",
        "total used\nMem: x y",
        "/dev/shm",
        "a 1% /",
        "PID COMMAND\n1",
        "affinity list: ",
        "affinity mask: zz",
        "ulimit -n\n-",
        "cpu.max max",
        "nr_throttled 4",
        PS[:150],
    ):
        for module in (host_limits, host_memory, host_cpu, host_proc):
            found(module, text, "affinity.txt")
