r"""Columns of `nvidia-smi --query-gpu=... --format=csv` and of `nvidia-smi dmon` and `pmon`.

index, name, pstate, clocks.current.sm [MHz], clocks.max.sm [MHz], power.draw [W], clocks_throttle_reasons.active
0, NVIDIA A100-SXM4-80GB, P0, 1410 MHz, 1410 MHz, 388.12 W, 0x0000000000000004

# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec   mclk   pclk
# Idx      W      C      C      %      %      %      %    MHz    MHz
    0    389     61     70     99     41      0      0   1593   1410
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from assistant.facts import Fact, Subject, Value
from assistant.intake.document import Document
from assistant.parsers._device import gpu_subject, hosts_by_line, number
from assistant.parsers._samples import thin

NAME = "nvidia-smi --query-gpu"
TRIGGERS = (
    "index, name",
    "index, uuid",
    "index, pci",
    "name, index",
    ", pstate",
    "pstate,",
    "# gpu ",
    "temperature.gpu",
    "temperature.memory",
    "utilization.gpu",
    "power.draw",
    "power.limit",
    "pcie.link",
    "clocks.",
    "clocks_",
    "memory.used",
    "memory.total",
    "ecc.errors",
    "# gpu\t",
    "#Date ",
    "#Time ",
)
VERSIONS = (
    "nvidia-smi --query-gpu with any columns (clocks_throttle_reasons and clocks_event_reasons), dmon "
    "with -o D and T, pmon; drivers 410 to 580"
)

COLUMNS = {
    "clocks.current.sm": "gpu.sm_clock_mhz",
    "clocks.sm": "gpu.sm_clock_mhz",
    "clocks.current.graphics": "gpu.sm_clock_mhz",
    "clocks.gr": "gpu.sm_clock_mhz",
    "clocks.max.sm": "gpu.sm_clock_max_mhz",
    "clocks.max.graphics": "gpu.sm_clock_max_mhz",
    "clocks.applications.graphics": "gpu.app_clock_mhz",
    "clocks.default_applications.graphics": "gpu.app_clock_default_mhz",
    "power.draw": "gpu.power_w",
    "power.draw.average": "gpu.power_w",
    "power.draw.instant": "gpu.power_w",
    "power.limit": "gpu.power_cap_w",
    "enforced.power.limit": "gpu.power_cap_w",
    "power.default_limit": "gpu.power_default_w",
    "temperature.gpu": "gpu.temp_c",
    "temperature.memory": "gpu.mem_temp_c",
    "utilization.gpu": "gpu.util",
    "memory.used": "gpu.mem_used_mib",
    "memory.total": "gpu.mem_total_mib",
    "pcie.link.gen.current": "gpu.pcie_gen_now",
    "pcie.link.gen.gpucurrent": "gpu.pcie_gen_now",
    "pcie.link.gen.max": "gpu.pcie_gen_max",
    "pcie.link.gen.gpumax": "gpu.pcie_gen_max",
    "pcie.link.width.current": "gpu.pcie_width_now",
    "pcie.link.width.max": "gpu.pcie_width_max",
    "ecc.errors.uncorrected.volatile.total": "gpu.ecc_uncorrected",
    "ecc.errors.corrected.volatile.total": "gpu.ecc_corrected",
}
WHOLE = ("gpu.pcie_", "gpu.ecc_")
_PLAIN = ("index", "name", "pstate", "uuid", "timestamp", "pci.bus_id", "gpu_name", "gpu_uuid", "gpu_bus_id")
DMON = {
    "pwr": "gpu.power_w",
    "gtemp": "gpu.temp_c",
    "temp": "gpu.temp_c",
    "mtemp": "gpu.mem_temp_c",
    "sm": "gpu.util",
    "pclk": "gpu.sm_clock_mhz",
    "fb": "gpu.mem_used_mib",
}
BITS = (
    (0x02, "app_clocks"),
    (0x04, "sw_power_cap"),
    (0x08, "hw_slowdown"),
    (0x20, "sw_thermal"),
    (0x40, "hw_thermal"),
    (0x80, "hw_power_brake"),
)
FLAGS = {
    "hw_slowdown": "hw_slowdown",
    "hw_thermal_slowdown": "hw_thermal",
    "hw_power_brake_slowdown": "hw_power_brake",
    "sw_thermal_slowdown": "sw_thermal",
    "sw_power_cap": "sw_power_cap",
    "applications_clocks_setting": "app_clocks",
}


@cache
def _unit() -> re.Pattern[str]:
    return re.compile(r"\s{0,40}\[[^\[\]]*\]\s*$")


def parse(document: Document) -> Iterable[Fact]:
    return thin(_facts(document))


def _facts(document: Document) -> Iterator[Fact]:
    hosts = hosts_by_line(document)
    header: list[str] | None = None
    dmon: list[str] | None = None
    row = 0
    moment = ""
    for index, text in enumerate(document.lines):
        if not header and not dmon and "," not in text and not text.lstrip().startswith("#"):
            continue
        line = text.strip()
        if line.startswith("#"):
            words = line[1:].split()
            if "gpu" in words[:3]:  # -o T and -o DT put the time before the GPU
                dmon, header = words, None
            continue
        if "," in line and len(line) < 4000:
            cells = [cell.strip() for cell in line.split(",")]
            if _is_header(cells):
                header, dmon, row = [_unit().sub("", cell) for cell in cells], None, 0
                continue
            if header and len(cells) == len(header):
                now = cells[header.index("timestamp")][:19] if "timestamp" in header else ""
                row = 0 if now != moment else row
                moment = now
                yield from _csv(header, cells, document, index, hosts[index], row)
                row += 1
                continue
        if dmon:
            parts = line.split()
            if len(parts) >= len(dmon) and parts[dmon.index("gpu")].isdecimal():
                yield from _dmon(dmon, parts, document, index, hosts[index])
            elif line:
                dmon = None


def _is_header(cells: list[str]) -> bool:
    names = [_unit().sub("", cell) for cell in cells]
    known = sum(n in COLUMNS or n in _PLAIN or "_reasons." in n for n in names)
    return known >= max(1, len(names) // 2) and any("." in n or n in ("index", "pstate", "uuid") for n in names)


def _csv(
    header: list[str], cells: list[str], document: Document, index: int, host: str | None, row: int
) -> Iterator[Fact]:
    values = dict(zip(header, cells, strict=True))
    which: int | str = row
    for name in ("index", "pci.bus_id", "gpu_bus_id", "uuid", "gpu_uuid"):
        if values.get(name):
            which = values[name].lower() if name != "index" else values[name]
            break
    subject = gpu_subject(host, which)
    origin = document.origin(index, "tool")
    for name, cell in values.items():
        for key, value in _cell(name, cell):
            yield Fact(key, value, origin, subject)


def _cell(name: str, cell: str) -> Iterator[tuple[str, Value]]:
    if cell in ("[Unknown Error]", "[GPU is lost]", "[GPU requires reset]", "ERR!"):
        yield "gpu.lost", "unknown-error"
    elif name in ("name", "gpu_name"):
        yield "gpu.name", cell
    elif name == "pstate":
        yield "gpu.pstate", cell
    elif name in COLUMNS:
        amount = number(cell) if re.match(r"-?[\d.]", cell) else None
        if amount is not None:
            key = COLUMNS[name]
            yield key, int(amount) if key.startswith(WHOLE) else amount
    elif "_reasons." in name:
        kind = name.split("_reasons.", 1)[1]
        if kind == "active" and cell.startswith("0x"):
            try:
                bits = int(cell, 16)
            except ValueError:
                return
            for bit, reason in BITS:
                if bits & bit:
                    yield "gpu.throttle", reason
        elif cell == "Active" and kind in FLAGS:
            yield "gpu.throttle", FLAGS[kind]


def _dmon(columns: list[str], parts: list[str], document: Document, index: int, host: str | None) -> Iterator[Fact]:
    subject: Subject = gpu_subject(host, parts[columns.index("gpu")])
    origin = document.origin(index, "tool")
    for name, cell in zip(columns, parts, strict=False):
        if name in DMON and re.fullmatch(r"\d+(?:\.\d+)?", cell):
            yield Fact(DMON[name], float(cell), origin, subject)
        elif name in ("pviol", "tviol") and cell.isdecimal() and int(cell) > (50 if name == "pviol" else 5):
            yield Fact("gpu.throttle", "sw_power_cap" if name == "pviol" else "sw_thermal", origin, subject)
