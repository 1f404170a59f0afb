r"""`nvidia-smi -q`, whole or with -d PERFORMANCE, CLOCK, POWER, TEMPERATURE, ECC, PAGE_RETIREMENT, ROW_REMAPPER.

GPU 00000000:07:00.0
    Clocks Event Reasons
        SW Power Cap                      : Not Active
        HW Slowdown                       : Active
            HW Thermal Slowdown           : Active
    GPU Power Readings
        Power Draw                        : 412.31 W
        Current Power Limit               : 400.00 W
        Default Power Limit               : 700.00 W
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from assistant.facts import Fact, Subject, Value
from assistant.intake.document import Document
from assistant.parsers._device import gpu_subject, host_subject, hosts_by_line, number

NAME = "nvidia-smi -q"
TRIGGERS = (
    "NVSMI LOG",
    "Attached GPUs",
    "Clocks Event Reasons",
    "Clocks Throttle Reasons",
    "HW Thermal Slowdown",
    "Row Remapper",
    "PCIe Generation",
    "Link Width",
    " Fabric\n",
    "Remapped Rows",
    "Applications Clocks",
    "Max Clocks",
)
VERSIONS = (
    "nvidia-smi -q, whole or with -d, drivers 410 to 580 (throttle and event reasons, page retirement "
    "and row remapper, fabric)"
)

THROTTLE = {
    "hw slowdown": "hw_slowdown",
    "hw thermal slowdown": "hw_thermal",
    "hw power brake slowdown": "hw_power_brake",
    "hw power brake": "hw_power_brake",
    "sw thermal slowdown": "sw_thermal",
    "sw power cap": "sw_power_cap",
    "applications clocks setting": "app_clocks",
}
NUMBERS = {
    ("power draw",): "gpu.power_w",
    ("average power draw",): "gpu.power_w",
    ("instantaneous power draw",): "gpu.power_w",
    ("current power limit",): "gpu.power_cap_w",
    ("power limit",): "gpu.power_cap_w",
    ("default power limit",): "gpu.power_default_w",
    ("gpu current temp",): "gpu.temp_c",
    ("memory current temp",): "gpu.mem_temp_c",
    ("utilization", "gpu"): "gpu.util",
    ("clocks", "sm"): "gpu.sm_clock_mhz",
    ("max clocks", "sm"): "gpu.sm_clock_max_mhz",
    ("applications clocks", "graphics"): "gpu.app_clock_mhz",
    ("default applications clocks", "graphics"): "gpu.app_clock_default_mhz",
    ("fb memory usage", "total"): "gpu.mem_total_mib",
    ("fb memory usage", "used"): "gpu.mem_used_mib",
}
INTEGERS = {
    ("pcie generation", "current"): "gpu.pcie_gen_now",
    ("pcie generation", "max"): "gpu.pcie_gen_max",
    ("link width", "current"): "gpu.pcie_width_now",
    ("link width", "max"): "gpu.pcie_width_max",
    ("replays since reset",): "gpu.pcie_replays",
}


_BLOCK = re.compile(r"^GPU (?P<bus>[0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)$")


def parse(document: Document) -> Iterable[Fact]:
    hosts = hosts_by_line(document)
    gpu = -1
    block: str | None = None
    path: list[tuple[int, str]] = []
    counted: dict[str | None, int] = {}
    seen_host: str | None = None
    for index, text in enumerate(document.lines):
        stripped = text.strip()
        if not stripped or len(text) > 200:
            continue
        found_gpu = _BLOCK.match(stripped) if stripped.startswith("GPU ") else None
        host = hosts[index]
        if found_gpu:
            gpu = 0 if host != seen_host or block is None else gpu + 1
            seen_host, block = host, found_gpu["bus"]
            counted[host] = gpu + 1
            path = []
            continue
        if "NVSMI LOG" in stripped:
            block, gpu = None, -1
            continue
        name, colon, rest = stripped.partition(":")
        if not name or (colon and not (rest[:1].isspace() or (not rest and text[-1:].isspace()))):
            continue
        indent = len(text[: len(text) - len(text.lstrip())].expandtabs())
        label = name.strip().lower()
        while path and path[-1][0] >= indent:
            path.pop()
        value = rest.strip() if colon else None
        parents = [above for _, above in path]
        path.append((indent, label))
        if value is None:
            continue
        subject = gpu_subject(host, gpu if block is not None else 0)
        if block is None and label == "driver version" and re.match(r"\d", value):
            yield Fact("driver_version", value, document.origin(index, "tool"), host_subject(host))
            continue
        if block is None and label not in THROTTLE and parents[-1:] != ["fabric"]:
            if label == "attached gpus" and value.isdecimal():
                yield Fact("gpu.count", int(value), document.origin(index, "tool"), host_subject(host))
            continue
        yield from (Fact(k, v, document.origin(index, "tool"), s) for k, v, s in _entry(label, value, parents, subject))


def _entry(label: str, value: str, parents: list[str], subject: Subject) -> Iterator[tuple[str, Value, Subject]]:
    if label in THROTTLE and value in ("Active", "Not Active"):
        if value == "Active":
            yield "gpu.throttle", THROTTLE[label], subject
        return
    if label == "product name":
        yield "gpu.name", value, subject
    elif label == "performance state" and value.startswith("P"):
        yield "gpu.pstate", value, subject
    elif label == "persistence mode":
        yield "gpu.persistence", value == "Enabled", subject
    elif label in ("gpu reset status", "reset required", "gpu recovery action") or (
        label == "pending" and parents[-1:] in (["remapped rows"], ["row remapper"])
    ):
        if label == "pending":
            yield "gpu.remap_pending", value == "Yes", subject
        elif value not in ("No", "None", "N/A", ""):
            yield "gpu.reset_required", True, subject
    elif label in ("pending page blacklist", "pending retired page", "remapping pending"):
        yield "gpu.remap_pending", value == "Yes", subject
    elif label == "remapping failure occurred" or (label == "remapping failure"):
        yield "gpu.remap_failed", value == "Yes", subject
    elif label == "state" and parents[-1:] == ["fabric"]:
        yield "gpu.fabric_state", value.lower().replace(" ", "-"), subject
    elif label == "status" and parents[-1:] == ["fabric"] and value not in ("Success", "N/A"):
        yield "gpu.fabric_state", "failed", subject
    elif "uncorrectable" in label or label in ("double bit", "total uncorrectable"):
        if value.isdecimal() and ("volatile" in parents or "aggregate" not in parents):
            yield "gpu.ecc_uncorrected", int(value), subject
    elif label.endswith("unknown error") or value in ("Unknown Error", "GPU is lost"):
        yield "gpu.lost", "unknown-error", subject
    else:
        yield from _numeric(label, value, parents, subject)


def _numeric(label: str, value: str, parents: list[str], subject: Subject) -> Iterator[tuple[str, Value, Subject]]:
    for table, whole in ((NUMBERS, False), (INTEGERS, True)):
        for names, key in table.items():
            if names[-1] != label or (len(names) > 1 and names[0] not in parents[-2:]):
                continue
            amount = number(value)
            if amount is not None:
                yield key, int(amount) if whole else amount, subject
            return
