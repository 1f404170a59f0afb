"""The kernel log, driver and CUDA messages."""

from __future__ import annotations

import pytest

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers import host_dmesg, host_driver
from assistant.parsers.host_dmesg import xid_table


def found(module: object, text: str, name: str = "dmesg.txt") -> list[Fact]:
    return list(module.parse(Document(name, text)))  # type: ignore[attr-defined]


def pairs(facts: list[Fact]) -> set[tuple[str, object]]:
    return {(f.key, f.value) for f in facts}


def test_first_telling_xid_decides() -> None:
    text = (
        "Jan  4 10:31:05 gpu-a7 kernel: [918.4] NVRM: Xid (PCI:0000:4e:00): 48, pid=88, name=python3, DBE\n"
        "Jan  4 10:31:06 gpu-a7 kernel: [919.4] NVRM: Xid (PCI:0000:4e:00): 45, pid=88, name=python3, Ch 00000008\n"
        "Jan  4 10:31:07 gpu-a7 kernel: [920.4] NVRM: Xid (PCI:0000:4e:00): 31, pid=88, name=python3, MMU Fault\n"
    )
    facts = found(host_dmesg, text)
    assert {f.value for f in facts if f.key == "gpu.xid"} == {48, 45, 31}
    assert [f.value for f in facts if f.key == "gpu.xid_class"] == ["hardware"]
    assert {str(f.subject) for f in facts} == {"gpu gpu-a7:0000:4e:00"}


def test_an_echo_alone_stays_an_echo() -> None:
    facts = found(host_dmesg, "[1.0] NVRM: Xid (PCI:0000:18:00): 45, pid=8123, name=python3, Ch 00000010")
    assert ("gpu.xid_class", "echo") in pairs(facts)


def test_xid_classes() -> None:
    table = xid_table()
    assert {code: table[code]["class"] for code in (13, 31, 43, 45, 48, 63, 74, 79, 94, 154)} == {
        13: "app", 31: "app", 43: "echo", 45: "echo", 48: "hardware", 63: "info", 74: "nvlink", 79: "pcie", 94: "hardware", 154: "echo",
    }  # fmt: skip


def test_sxid_is_not_an_xid() -> None:
    facts = pairs(
        found(host_dmesg, "[77.2] nvidia-nvswitch0: SXid (PCI:0000:a9:00.0): 20034, Fatal, Link 30 LTSSM Fault Up")
    )
    assert facts == {("gpu.sxid", 20034), ("gpu.sxid_fatal", True)}


def test_oom_of_a_control_group() -> None:
    text = (
        "[9.9] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-1,mems_allowed=0-1,oom_memcg=/p,task_memcg=/p,task=python3,pid=8123,uid=0\n"
        "[9.9] Memory cgroup out of memory: Killed process 8123 (python3) total-vm:182733312kB, anon-rss:98231200kB, file-rss:0kB\n"
    )
    facts = pairs(found(host_dmesg, text))
    assert {
        ("kernel.oom", True),
        ("kernel.oom_scope", "memcg"),
        ("kernel.oom_process", "python3"),
        ("kernel.oom_rss_gb", 98.2),
    } <= facts


def test_oom_of_the_host() -> None:
    facts = pairs(
        found(host_dmesg, "[9.9] Out of memory: Killed process 8123 (python3) total-vm:1kB, anon-rss:1000000kB")
    )
    assert ("kernel.oom_scope", "global") in facts


@pytest.mark.parametrize(
    ("frame", "where"),
    [
        ("nfs_wait_bit_killable+0x1e/0x90 [nfs]", "nfs"),
        ("cxiWaitEventWait+0x208/0x330 [mmfslinux]", "gpfs"),
        ("cl_io_lock+0x1/0x2 [obdclass]", "lustre"),
        ("_nv041214rm+0x10/0x40 [nvidia]", "nvidia"),
        ("fuse_simple_request+0x1/0x2 [fuse]", "fuse"),
    ],
)
def test_blocked_task(frame: str, where: str) -> None:
    text = f"[1.0] INFO: task python3:8123 blocked for more than 122 seconds.\n[1.0] Call Trace:\n[1.0]  schedule+0x35/0xa0\n[1.0]  {frame}\n"
    facts = pairs(found(host_dmesg, text))
    assert ("kernel.hung_task", f"python3 ({where})") in facts
    assert ("kernel.hung_in", where) in facts


def test_iommu() -> None:
    assert ("kernel.iommu_fault", True) in pairs(
        found(
            host_dmesg,
            "[1.0] nvidia 0000:41:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0026 address=0xfe flags=0x0030]",
        )
    )
    assert ("kernel.iommu", "pt") in pairs(
        found(host_dmesg, "[0.0] iommu: Default domain type: Passthrough (set via kernel command line)")
    )
    assert ("kernel.iommu", "on") in pairs(
        found(host_dmesg, "[0.0] Command line: BOOT_IMAGE=/vmlinuz ro intel_iommu=on")
    )
    assert ("kernel.iommu", "pt") in pairs(
        found(host_dmesg, "[0.0] Command line: BOOT_IMAGE=/vmlinuz ro amd_iommu=on iommu=pt")
    )
    assert ("kernel.iommu", "off") in pairs(
        found(host_dmesg, "[0.0] Command line: BOOT_IMAGE=/vmlinuz ro intel_iommu=off")
    )


def test_other_lines() -> None:
    text = (
        "[5512.1] mlx5_core 0000:5e:00.0 ens1f0np0: Link down\n"
        "[1.1] watchdog: BUG: soft lockup - CPU#12 stuck for 23s! [python3:8123]\n"
        "[1.2] EDAC MC3: 1 UE memory read error on CPU_SrcID#1\n"
        "[1.3] pcieport 0000:40:01.1: AER: Corrected error received: 0000:41:00.0\n"
        "[1.4] nf_conntrack: nf_conntrack: table full, dropping packet\n"
    )
    facts = pairs(found(host_dmesg, text))
    assert {
        ("kernel.nic_down", "ens1f0np0"),
        ("kernel.lockup", "soft"),
        ("kernel.mce", "uncorrected"),
        ("kernel.aer", "corrected"),
        ("kernel.table_full", "conntrack"),
    } <= facts


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("RuntimeError: CUDA error: an illegal memory access was encountered", "illegal-access"),
        ("RuntimeError: CUDA error: uncorrectable ECC error encountered", "ecc"),
        ("RuntimeError: CUDA error: no kernel image is available for execution on the device", "no-kernel-image"),
        ("RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain.", "driver-too-old"),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.20 GiB.", "oom"),
        ("RuntimeError: CUDA error: invalid device ordinal", "invalid-ordinal"),
        (
            "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1 bytes.",
            "oom",
        ),
        ("RuntimeError: No CUDA GPUs are available", "no-device"),
    ],
)
def test_cuda_errors(text: str, name: str) -> None:
    facts = found(host_driver, text, "train.log")
    assert [(f.key, f.value, f.origin.kind) for f in facts] == [("cuda.error", name, "log")]


def test_driver_mismatch() -> None:
    facts = pairs(
        found(
            host_driver, "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.183\n"
        )
    )
    assert {("driver.mismatch", True), ("driver.user_version", "535.183")} <= facts
    facts = pairs(
        found(
            host_driver,
            "NVRM: API mismatch: the client has the version 550.54.15, but\nNVRM: this kernel module has the version 535.161.08.  Please",
        )
    )
    assert {
        ("driver.mismatch", True),
        ("driver.user_version", "550.54.15"),
        ("driver.kernel_version", "535.161.08"),
    } <= facts


def test_fabric_manager() -> None:
    text = "● nvidia-fabricmanager.service - NVIDIA fabric manager service\n     Loaded: loaded (/lib; enabled)\n     Active: failed (Result: exit-code) since Mon 2025-09-01\n"
    assert ("fabric_manager", "failed") in pairs(found(host_driver, text))
    assert ("fabric_manager", "active") in pairs(
        found(host_driver, text.replace("failed (Result: exit-code)", "active (running)"))
    )
    line = "fabric manager NVIDIA GPU driver interface version 535.161.07 don't match with driver version 550.54.15. Please update"
    assert {("fabric_manager", "mismatch"), ("fabric_manager_version", "535.161.07")} <= pairs(found(host_driver, line))


def test_modules() -> None:
    listed = "Module                  Size  Used by\nnvidia_peermem         16384  0\nnvidia              56717312  712 nvidia_uvm\n"
    assert ("module.nvidia_peermem", True) in pairs(found(host_driver, listed))
    without = "Module                  Size  Used by\nnvidia              56717312  712 nvidia_uvm\nnvidia_uvm 1 0\n"
    assert ("module.nvidia_peermem", False) in pairs(found(host_driver, without))


def test_container_and_kernel_module() -> None:
    assert ("container.has_infiniband", False) in pairs(
        found(host_driver, "ls: cannot access '/dev/infiniband': No such file or directory")
    )
    facts = pairs(
        found(host_driver, "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build")
    )
    assert facts == {("driver.kernel_version", "580.95.05"), ("driver.open_module", True)}


def test_garbage() -> None:
    for text in (
        "",
        "NVRM: Xid (PCI:",
        "Xid (PCI:0000:4e:00): 99999999",
        "oom-kill:constraint=",
        "INFO: task :1 blocked for more than",
        "NVML",
        "CUDA error: ",
        "Active: \nfabricmanager",
        "\x00" * 50,
    ):
        for module in (host_dmesg, host_driver):
            found(module, text)
