r"""Driver, CUDA and container messages: mismatched driver, missing devices, CUDA error texts, fabric manager, modules.

Failed to initialize NVML: Driver/library version mismatch
RuntimeError: CUDA error: no kernel image is available for execution on the device
NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Tue Feb 27 02:55:25 UTC 2024
Active: failed (Result: exit-code) since Mon 2025-09-01 10:01:05 UTC
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from assistant.facts import JOB, Fact, Origin, Subject
from assistant.intake.document import Document
from assistant.parsers._device import host_subject, hosts_by_line
from assistant.parsers._lines import lines_with, with_next

NAME = "driver and CUDA messages"
TRIGGERS = (
    "NVML",
    "CUDA error",
    "cudaError",
    "CUDA out of memory",
    "Cuda failure",
    "CUDA failure",
    "kernel module has the version",
    "NVRM version",
    "fabricmanager",
    "Fabric Manager",
    "nvidia_peermem",
    "nv_peer_mem",
    "Module  ",
    "handle for GPU",
    "NVIDIA driver",
    "CUDA driver",
    "infiniband",
    "nvidia-",
    "RESOURCE_EXHAUSTED",
    "No devices were found",
    "unattended-upgrade",
    "CUDA_ERROR_",
)
VERSIONS = (
    "NVIDIA drivers 410 to 580, CUDA 10 to 13, fabric manager, nvidia-container-toolkit 1.3 to 1.17, lsmod, systemctl"
)

#: Text of a CUDA error -> its short name. The first that matches counts.
CUDA_ERRORS: tuple[tuple[str, str], ...] = (
    (r"uncorrectable ECC error|CUDA_ERROR_ECC_UNCORRECTABLE|cudaErrorECCUncorrectable", "ecc"),
    (r"uncorrectable NVLink error|CUDA_ERROR_NVLINK_UNCORRECTABLE|cudaErrorNvlinkUncorrectable", "nvlink"),
    (r"system not yet initialized|CUDA_ERROR_SYSTEM_NOT_READY|cudaErrorSystemNotReady", "not-initialized"),
    (
        r"no kernel image is available|CUDA_ERROR_NO_BINARY_FOR_GPU|device kernel image is invalid|cudaErrorNoKernelImageForDevice",
        "no-kernel-image",
    ),
    (
        r"PTX was compiled with an unsupported toolchain|CUDA_ERROR_UNSUPPORTED_PTX_VERSION|driver version is insufficient|NVIDIA driver on your system is too old|CUDA_ERROR_SYSTEM_DRIVER_MISMATCH|system has unsupported display driver|forward compatibility was attempted",
        "driver-too-old",
    ),
    (
        r"device is lost|GPU is lost|CUDA_ERROR_DEVICE_UNAVAILABLE|hardware stack error|CUDA_ERROR_HARDWARE_STACK|misaligned (?:PC|stack)|GPU has fallen off",
        "lost",
    ),
    (r"illegal memory access|CUDA_ERROR_ILLEGAL_ADDRESS|misaligned address|cudaErrorIllegalAddress", "illegal-access"),
    (r"device-side assert|CUDA_ERROR_ASSERT", "assert"),
    (r"unspecified launch failure|CUDA_ERROR_LAUNCH_FAILED", "launch-failure"),
    (r"invalid device ordinal|CUDA_ERROR_INVALID_DEVICE", "invalid-ordinal"),
    (r"all CUDA-capable devices are busy or unavailable|cudaErrorDevicesUnavailable", "busy"),
    (r"no CUDA-capable device|CUDA_ERROR_NO_DEVICE|No CUDA GPUs are available|Found no NVIDIA driver", "no-device"),
    (r"out of memory|CUDA_ERROR_OUT_OF_MEMORY|RESOURCE_EXHAUSTED: (?:Out of memory|Failed to allocate)", "oom"),
)


#: One of these stands in every line that is read, or in the command above it.
_HINTS = (
    "CUDA", "cudaError", "uda failure", "UDA failure", "RESOURCE_EXHAUSTED", "NVIDIA driver", "Found no NVIDIA", "abricmanager", "abric manager",
    "abric Manager", "FabricManager", "Active: ", "NVML", "API mismatch", "kernel module has the version", "NVRM version", "device handle", "GPU is lost",
    "No devices were found", "peermem", "nv_peer_mem", "Module  ", "infiniband", "uverbs", "pgrade", "Install",
)  # fmt: skip


@cache
def _cuda_line() -> re.Pattern[str]:
    return re.compile(
        r"CUDA error|CUDA_ERROR_|cudaError|[Cc][Uu][Dd][Aa] failure|CUDA out of memory|RESOURCE_EXHAUSTED|NVIDIA driver on your system|CUDA driver version|No CUDA GPUs|Found no NVIDIA|CUDA runtime error",
        re.ASCII,
    )


@cache
def _cuda_errors() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern), name) for pattern, name in CUDA_ERRORS)


def parse(document: Document) -> Iterable[Fact]:
    hosts = hosts_by_line(document)
    seen: set[tuple[str, object, str]] = set()
    unit: str | None = None
    for index in with_next(document, lines_with(document, _HINTS), ("is-active",), 1):
        text = document.lines[index]
        if len(text) > 4000:
            continue
        if _cuda_line().search(text):
            found = _cuda(document, index)
        elif unit == "is-active":
            state, unit = text.strip(), None
            found = (
                [Fact("fabric_manager", state, document.origin(index, "tool"), host_subject(hosts[index]))]
                if state in ("active", "failed", "inactive")
                else []
            )
        elif "fabricmanager" in text.lower() or "fabric manager" in text.lower() or (unit and "Active:" in text):
            unit, found = _fabric(text, unit, document.origin(index, "tool"), host_subject(hosts[index]))
        else:
            found = list(_other(text, document, index, hosts[index]))
        for fact in found:
            mark = (fact.key, fact.value, str(fact.subject))
            if mark not in seen:
                seen.add(mark)
                yield fact


def _cuda(document: Document, index: int) -> list[Fact]:
    text = document.lines[index]
    name = next((name for pattern, name in _cuda_errors() if pattern.search(text)), None)
    if name is None:
        return []
    origin = document.origin(index)
    return [Fact("cuda.error", name, origin, Subject("rank", str(origin.rank)) if origin.rank is not None else JOB)]


def _fabric(text: str, unit: str | None, origin: Origin, subject: Subject) -> tuple[str | None, list[Fact]]:
    """State of the fabric manager; a systemd unit's state stands on a later line."""
    if re.search(r"nvidia-fabricmanager\.service (?:-|could not be found)|Unit nvidia-fabricmanager", text):
        if "could not be found" in text:
            return None, [Fact("fabric_manager", "inactive", origin, subject)]
        return "fabricmanager", []
    if re.search(r"systemctl is-active nvidia-fabricmanager", text):
        return "is-active", []
    found = re.search(r"Active: (?P<state>active|failed|inactive|activating)", text)
    if unit and found:
        state = {"activating": "failed"}.get(found["state"], found["state"])
        return None, [Fact("fabric_manager", state, origin, subject)]
    if re.search(
        r"nvidia-fabricmanager(?:\.service)?\s+\S*\s*loaded\s+(?P<s>active|failed|inactive)|^(?P<t>inactive|failed) nvidia-fabricmanager",
        text,
    ):
        state = "active" if " active " in text else "failed" if "failed" in text else "inactive"
        return unit, [Fact("fabric_manager", state, origin, subject)]
    found = re.search(
        r"fabric manager NVIDIA GPU driver interface version (?P<fm>[\d.]+) don't match with driver version (?P<drv>[\d.]+)",
        text,
    )
    if found:
        return unit, [
            Fact("fabric_manager", "mismatch", origin, subject),
            Fact("fabric_manager_version", found["fm"], origin, subject),
            Fact("driver_version", found["drv"], origin, subject),
        ]
    found = re.search(
        r"(?:Fabric Manager version is\s*:|nvidia-fabricmanager-\d+\s+|nvidia-fabricmanager\s+)\s*(?P<v>\d{3}\.\d+(?:\.\d+)?)",
        text,
    )
    if found:
        return unit, [Fact("fabric_manager_version", found["v"], origin, subject)]
    return unit, []


def _other(text: str, document: Document, index: int, host: str | None) -> Iterator[Fact]:
    subject = host_subject(host)
    if "version mismatch" in text and "NVML" in text:
        yield Fact("driver.mismatch", True, document.origin(index, "tool"), subject)
    elif "API mismatch" in text or "kernel module has the version" in text:
        found = re.search(r"client has the version (?P<user>[\d.]+\d)", text)
        kernel = re.search(r"kernel module has the version (?P<kern>[\d.]+\d)", text)
        origin = document.origin(index, "tool")
        yield Fact("driver.mismatch", True, origin, subject)
        if found:
            yield Fact("driver.user_version", found["user"], origin, subject)
        if kernel:
            yield Fact("driver.kernel_version", kernel["kern"], origin, subject)
    elif "NVRM version" in text:
        found = re.search(r"Kernel Module(?: for \S+)?\s+(?P<v>\d{3}\.[\d.]+\d)", text)
        if found:
            origin = document.origin(index, "tool")
            yield Fact("driver.kernel_version", found["v"], origin, subject)
            yield Fact("driver.open_module", "Open Kernel" in text, origin, subject)
    elif "NVML library version" in text:
        found = re.search(r"NVML library version:\s*(?P<v>\d{3}\.[\d.]+)", text)
        if found:
            yield Fact("driver.user_version", found["v"], document.origin(index, "tool"), subject)
    elif "Unable to determine the device handle" in text or "GPU is lost" in text or "No devices were found" in text:
        yield Fact(
            "gpu.lost",
            "missing" if "No devices" in text else "lost" if "is lost" in text else "unknown-error",
            document.origin(index, "tool"),
            subject,
        )
    elif re.match(r"^(?:nvidia_peermem|nv_peer_mem)\s+\d+\s+\d+", text.strip()):
        key = "module.nvidia_peermem"
        yield Fact(key, True, document.origin(index, "tool"), subject)
        if text.strip().startswith("nv_peer_mem"):
            yield Fact("module.nv_peer_mem", True, document.origin(index, "tool"), subject)
    elif re.match(r"^Module\s+Size\s+Used by", text.strip()):
        names = {line.split()[0] for line in document.lines[index + 1 :] if line.strip()}
        if "nvidia" in names and not {"nvidia_peermem", "nv_peer_mem"} & names:
            yield Fact("module.nvidia_peermem", False, document.origin(index, "tool"), subject)
    elif "/dev/infiniband" in text and re.search(r"cannot access|No such file", text):
        yield Fact("container.has_infiniband", False, document.origin(index, "tool"), subject)
    elif re.search(r"\buverbs\d+\b", text) and ("/dev/infiniband" in text or text.startswith("c")):
        yield Fact("container.has_infiniband", True, document.origin(index, "tool"), subject)
    elif re.search(
        r"^(?:Upgrade|Install|upgrade|.{0,200}?\bupgrade)\b.{0,300}?\b(?:lib)?(?:nvidia|cuda-drivers|xserver-xorg-video-nvidia)[\w-]*\b.{0,200}?\d{3}\.\d+",
        text,
    ):
        yield Fact("driver.auto_update", text.strip()[:160], document.origin(index, "tool"), subject)
