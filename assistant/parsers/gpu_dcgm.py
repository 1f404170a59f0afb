r"""`dcgmi diag`, `dcgmi health` and exporter metrics: what NVIDIA's data-centre manager found.

| PCIe                      | Fail - GPU: 3                                  |
| Diagnostic                | Fail                                           |
DCGM_FI_DEV_XID_ERRORS{gpu="3",...} 79
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._device import gpu_subject, host_subject, hosts_by_line

NAME = "dcgmi"
TRIGGERS = ("| Diagnostic", "DCGM_FI_", "Health Monitor Report", "Overall Health", "Successfully ran diagnostic")

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
    "DCGM_FI_DEV_THERMAL_VIOLATION": "gpu.throttle",
    "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS": "gpu.throttle",
    "DCGM_FI_DEV_CLOCKS_EVENT_REASONS": "gpu.throttle",
}
#: Bits of the throttle reasons that slow a GPU.
REASONS = ((0x08, "hw_slowdown"), (0x20, "sw_thermal"), (0x40, "hw_thermal"), (0x80, "hw_power_brake"))
#: Time under a thermal limit (microseconds) from which it counts.
LONG_THERMAL = 60e6
WHOLE = {"gpu.xid", "gpu.pcie_replays", "gpu.ecc_uncorrected"}


def parse(document: Document) -> Iterable[Fact]:
    hosts = hosts_by_line(document)
    test = ""
    for index, text in enumerate(document.lines):
        line = text.strip()
        subject = host_subject(hosts[index])
        if line.startswith("|") and "Fail" in line:
            found = re.match(r"\|\s*(?P<test>[\w ./-]*?)\s*\|\s*Fail\b", line)
            if found and (found["test"] or test):
                yield Fact("gpu.dcgm_failed", found["test"] or test, document.origin(index, "tool"), subject)
        elif line.startswith("DCGM_FI_"):
            found = re.match(r"(?P<metric>DCGM_FI_\w+)\{(?P<labels>[^}]*)\}\s+(?P<value>[\d.eE+]+)", line)
            if found and found["metric"] in METRICS:
                key = METRICS[found["metric"]]
                gpu = re.search(r'gpu="(\d+)"', found["labels"])
                host = re.search(r'Hostname="([^"]+)"', found["labels"])
                value = float(found["value"])
                if key == "gpu.xid" and not value:
                    continue
                who = gpu_subject(host[1] if host else hosts[index], gpu[1] if gpu else 0)
                if key == "gpu.throttle":
                    yield from (
                        Fact(key, reason, document.origin(index, "tool"), who)
                        for reason in _reasons(found["metric"], value)
                    )
                    continue
                yield Fact(key, int(value) if key in WHOLE else value, document.origin(index, "tool"), who)
        elif "Overall Health" in line and re.search(r"Failure|Warning", line):
            yield from (
                Fact("gpu.dcgm_failed", name, document.origin(at, "tool"), subject)
                for name, at in _health(document, index)
            )
        named = re.match(r"\|[\s>-]*(?P<test>[A-Za-z][\w ./-]*?)\s*\|", line)
        test = named["test"] if named else test


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
