r"""`dcgmi diag`, `dcgmi health` and exporter metrics: what NVIDIA's data-centre manager found.

| PCIe                      | Fail - GPU: 3                                  |
| Diagnostic                | Fail                                           |
| memory                    | Fail                                           |
|                           | GPU3: Fail                                     |
DCGM_FI_DEV_XID_ERRORS{gpu="3",...} 79
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from math import isfinite

from assistant.facts import Fact, Subject
from assistant.intake.document import Document
from assistant.parsers._device import gpu_subject, host_subject, hosts_by_line
from assistant.parsers._samples import thin

NAME = "dcgmi"
TRIGGERS = ("| Diagnostic", "DCGM_FI_", "Health Monitor Report", "Overall Health", "Successfully ran diagnostic")
VERSIONS = "DCGM 1.7 to 4.4: dcgmi diag and health as text, dcgm-exporter 2 to 4 (Prometheus text)"

METRICS = {
    "DCGM_FI_DEV_SM_CLOCK": "gpu.sm_clock_mhz",
    "DCGM_FI_DEV_GPU_TEMP": "gpu.temp_c",
    "DCGM_FI_DEV_MEMORY_TEMP": "gpu.mem_temp_c",
    "DCGM_FI_DEV_POWER_USAGE": "gpu.power_w",
    "DCGM_FI_DEV_GPU_UTIL": "gpu.util",
    "DCGM_FI_DEV_FB_USED": "gpu.mem_used_mib",
    "DCGM_FI_DEV_XID_ERRORS": "gpu.xid",
    "DCGM_FI_DEV_PCIE_REPLAY_COUNTER": "gpu.pcie_replays",
    "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS": "gpu.ecc_uncorrected",
    "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": "gpu.ecc_uncorrected",
    "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL": "gpu.ecc_corrected",
    "DCGM_FI_DEV_ROW_REMAP_FAILURE": "gpu.remap_failed",
    "DCGM_FI_DEV_ROW_REMAP_PENDING": "gpu.remap_pending",
    "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL": "gpu.nvlink_errors",
    "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL": "gpu.nvlink_errors",
    "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL": "gpu.nvlink_errors",
    "DCGM_FI_PROF_SM_ACTIVE": "gpu.sm_active",
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": "gpu.tensor_active",
    "DCGM_FI_DEV_THERMAL_VIOLATION": "gpu.throttle",
    "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS": "gpu.throttle",
    "DCGM_FI_DEV_CLOCKS_EVENT_REASONS": "gpu.throttle",
}
#: Bits of the throttle reasons that slow a GPU.
REASONS = ((0x08, "hw_slowdown"), (0x20, "sw_thermal"), (0x40, "hw_thermal"), (0x80, "hw_power_brake"))
#: Time under a thermal limit (microseconds) from which it counts.
LONG_THERMAL = 60e6
WHOLE = {"gpu.xid", "gpu.pcie_replays", "gpu.ecc_uncorrected", "gpu.ecc_corrected", "gpu.nvlink_errors"}
FLAGS = {"gpu.remap_failed", "gpu.remap_pending"}
SHARES = {"gpu.sm_active", "gpu.tensor_active"}


def parse(document: Document) -> Iterable[Fact]:
    return thin(_facts(document))


def _facts(document: Document) -> Iterator[Fact]:
    hosts = hosts_by_line(document)
    test = ""
    whole: tuple[str, int, Subject] | None = None
    """A failed test of DCGM 4, whose GPUs may follow on lines of their own."""
    for index, text in enumerate(document.lines):
        line = text.strip()
        subject = host_subject(hosts[index])
        if line.startswith("|"):
            own = re.match(r"\|\s*\|\s*GPU ?(?P<gpu>\d+): (?P<state>\w+)", line)
            if own and whole:
                if own["state"] == "Fail":
                    who = gpu_subject(hosts[index], own["gpu"])
                    yield Fact("gpu.dcgm_failed", whole[0], document.origin(index, "tool"), who)
                    test = ""
                    whole = (whole[0], -1, whole[2])
                continue
            if whole and whole[1] >= 0:
                yield Fact("gpu.dcgm_failed", whole[0], document.origin(whole[1], "tool"), whole[2])
            whole = None
            if "Fail" in line:
                found = re.match(r"\|\s*(?P<test>[\w ./-]*?)\s*\|\s*Fail\b(?: - (?:GPUs?: ?)?(?P<gpus>[\d, ]+))?", line)
                name = (found["test"] or test) if found else ""
                if found and name and found["gpus"]:
                    for gpu in re.findall(r"\d+", found["gpus"]):
                        who = gpu_subject(hosts[index], gpu)
                        yield Fact("gpu.dcgm_failed", name, document.origin(index, "tool"), who)
                elif name:
                    whole = (name, index, subject)
            named = re.match(r"\|[\s>-]*(?P<test>[A-Za-z][\w ./-]*?)\s*\|", line)
            test = named["test"] if named else test
        elif line.startswith("DCGM_FI_"):
            yield from _metric(document, index, line, hosts[index])
        if "Overall Health" in line and re.search(r"Failure|Warning", line):
            yield from (
                Fact("gpu.dcgm_failed", name, document.origin(at, "tool"), subject)
                for name, at in _health(document, index)
            )
    if whole and whole[1] >= 0:
        yield Fact("gpu.dcgm_failed", whole[0], document.origin(whole[1], "tool"), whole[2])


def _metric(document: Document, index: int, line: str, host: str | None) -> Iterator[Fact]:
    """One line of the exporter: DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="...",Hostname="gpu07",...} 61"""
    found = re.match(r"(?P<metric>DCGM_FI_\w+)\{(?P<labels>[^}]*)\}\s+(?P<value>[\d.eE+-]+)", line)
    if not found or found["metric"] not in METRICS:
        return
    key = METRICS[found["metric"]]
    gpu = re.search(r'\bgpu="(\d+)"', found["labels"])
    named = re.search(r'\b(?:Hostname|hostname|node|kubernetes_node)="([^"]+)"', found["labels"])
    try:
        value = float(found["value"])
    except ValueError:
        return
    if not isfinite(value) or (key == "gpu.xid" and not value):
        return
    who = gpu_subject(named[1] if named else host, gpu[1] if gpu else 0)
    origin = document.origin(index, "tool")
    if key == "gpu.throttle":
        yield from (Fact(key, reason, origin, who) for reason in _reasons(found["metric"], value))
    elif key in FLAGS:
        yield Fact(key, bool(value), origin, who)
    else:
        yield Fact(key, int(value) if key in WHOLE else round(value * 100, 2) if key in SHARES else value, origin, who)


def _reasons(metric: str, value: float) -> list[str]:
    if metric.endswith("VIOLATION"):
        return ["sw_thermal"] if value > LONG_THERMAL else []
    return [name for bit, name in REASONS if int(value) & bit]


def _health(document: Document, index: int) -> list[tuple[str, int]]:
    """The systems that the health report complains about; 'health' where it names none."""
    pattern = re.compile(
        r"(?P<name>thermal|power|pcie|nvlink|memory|inforom|sm|driver)\b.{0,20}\|\s*(?:Warning|Failure)", re.IGNORECASE
    )
    found = [(pattern.search(text), at) for at, text in enumerate(document.lines[index + 1 : index + 40], index + 1)]
    return [(f"health {m['name'].lower()}", at) for m, at in found if m] or [("health", index)]
