r"""`df -h`, `free`, /proc/meminfo and `vmstat`: shared memory, full disks, host memory, swapping.

Filesystem      Size  Used Avail Use% Mounted on
shm              64M   60M  4.0M  94% /dev/shm
               total        used        free      shared  buff/cache   available
Mem:           503Gi       488Gi       1.9Gi       612Mi        13Gi        11Gi
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from assistant.facts import Fact, Value
from assistant.intake.document import Document
from assistant.parsers._device import host_subject, hosts_by_line

NAME = "df, free"
TRIGGERS = ("/dev/shm", "Mounted on", "Mem:", "MemTotal:", "MiB Mem", "procs ---", "Swap:", "CPU Virtual Memory:")
VERSIONS = "free of procps 3.3 and 4, /proc/meminfo, vmstat, sar -r and -W, cgroup v1 and v2"

_UNITS = {"": 1.0, "B": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}


def _bytes(text: str, default: float = 1.0) -> float | None:
    """'64M', '503Gi', '1.2T' -> bytes; a plain number is multiplied by `default`."""
    found = re.fullmatch(r"(?P<n>\d+(?:[.,]\d+)?)(?P<unit>[KMGTP]?)(?P<i>i?)B?", text)
    if not found:
        return None
    value = float(found["n"].replace(",", "."))
    if not found["unit"]:
        return value * default
    power = "KMGTP".index(found["unit"]) + 1
    return value * 1024.0**power


def parse(document: Document) -> Iterable[Fact]:
    hosts = hosts_by_line(document)
    free_unit, df_unit = 1024.0, 1024.0
    columns: list[str] = []
    vmstat: list[str] = []
    for index, text in enumerate(document.lines):
        line = text.strip()
        words = line.split()
        if not words or len(line) > 400:
            continue
        if words[0] == "total" and "used" in words:
            columns = words
            free_unit = (
                1024.0**2
                if _previous(document, index, r"free .*-\w*m")
                else 1024.0**3
                if _previous(document, index, r"free .*-\w*g")
                else 1024.0
            )
            continue
        if "Mounted" in words:
            df_unit = (
                1024.0**2
                if "1M-blocks" in line
                else 1024.0**3
                if "1G-blocks" in line
                else 1.0
                if "1B-blocks" in line
                else 1024.0
            )
            continue
        if words[:2] == ["r", "b"] and "swpd" in words:
            vmstat = words
            continue
        values: list[tuple[str, Value]] = []
        if words[0] in ("Mem:", "Swap:") and columns:
            values = list(_free(words, columns, free_unit))
        elif vmstat and len(words) == len(vmstat) and all(w.isdecimal() for w in words):
            values = list(_vmstat(dict(zip(vmstat, words, strict=True))))
        elif len(words) >= 5 and re.fullmatch(r"\d+%", words[-2]) and words[-1].startswith("/"):
            values = list(_df(words, df_unit))
        elif re.match(r"^(?:MemTotal|MemAvailable|SwapTotal|SwapFree):\s+\d+ kB$", line):
            values = list(_meminfo(line, document.lines))
        elif "CPU Virtual Memory:" in line and (percent := re.search(r"percent = (?P<p>\d+(?:\.\d+)?)%", line)):
            values = [("mem.available_share", round(1 - float(percent["p"]) / 100, 3))]
        elif re.match(r"^[MGK]iB (?:Mem|Swap) *:", line):
            values = list(_top(line))
        for key, value in values:
            yield Fact(key, value, document.origin(index, "tool"), host_subject(hosts[index]))


def _previous(document: Document, index: int, pattern: str) -> bool:
    return any(re.search(pattern, line) for line in document.lines[max(0, index - 2) : index])


def _df(words: list[str], unit: float) -> Iterator[tuple[str, Value]]:
    mount, used = words[-1], float(words[-2].rstrip("%"))
    size = _bytes(words[-5], unit)
    if mount == "/dev/shm":
        if size is not None:
            yield "shm_total_mb", round(size / 1024.0**2, 1)
        yield "shm_used_pct", used
    elif (
        used >= 97
        and not re.match(r"^/(?:snap|boot|sys|proc|run|dev)\b", mount)
        and not words[0].startswith("/dev/loop")
    ):
        yield "disk.full", mount


def _free(words: list[str], columns: list[str], unit: float) -> Iterator[tuple[str, Value]]:
    row = dict(zip(columns, words[1:], strict=False))
    size = {name: _bytes(cell, unit) for name, cell in row.items()}
    total, used = size.get("total"), size.get("used")
    if words[0] == "Swap:":
        if total is not None:
            yield "mem.swap_total_mb", round(total / 1024.0**2)
        if used is not None:
            yield "mem.swap_used_mb", round(used / 1024.0**2)
        return
    available = size.get("available", size.get("free"))
    if total is not None:
        yield "mem.total_mb", round(total / 1024.0**2)
    if available is not None:
        yield "mem.available_mb", round(available / 1024.0**2)
        if total:
            yield "mem.available_share", round(available / total, 3)


def _meminfo(line: str, lines: list[str]) -> Iterator[tuple[str, Value]]:
    name, amount, _ = line.replace(":", "").split()
    kilobytes = int(amount)
    whole = {"MemAvailable": "MemTotal", "SwapFree": "SwapTotal"}
    other = 0
    if name in whole:
        other = next(
            (int(x.split()[1]) for x in lines if x.strip().startswith(whole[name] + ":") and x.split()[1].isdecimal()),
            0,
        )
    if name == "MemTotal":
        yield "mem.total_mb", kilobytes // 1024
    elif name == "MemAvailable":
        yield "mem.available_mb", kilobytes // 1024
        if other:
            yield "mem.available_share", round(kilobytes / other, 3)
    elif name == "SwapTotal":
        yield "mem.swap_total_mb", kilobytes // 1024
    elif other:
        yield "mem.swap_used_mb", (other - kilobytes) // 1024


def _top(line: str) -> Iterator[tuple[str, Value]]:
    factor = {"K": 1 / 1024, "M": 1.0, "G": 1024.0}[line[0]]
    cells = {m[2]: float(m[1]) for m in re.finditer(r"(\d+(?:\.\d+)?) (total|free|used|buff/cache|avail)", line)}
    if "Swap" in line:
        if "total" in cells:
            yield "mem.swap_total_mb", round(cells["total"] * factor)
        if "used" in cells:
            yield "mem.swap_used_mb", round(cells["used"] * factor)
        if "avail" in cells:
            yield "mem.available_mb", round(cells["avail"] * factor)
    elif "total" in cells:
        yield "mem.total_mb", round(cells["total"] * factor)


def _vmstat(row: dict[str, str]) -> Iterator[tuple[str, Value]]:
    yield "mem.swap_rate", int(row.get("si", "0")) + int(row.get("so", "0"))
    if "wa" in row:
        yield "cpu.iowait_pct", float(row["wa"])
    if "st" in row:
        yield "cpu.steal_pct", float(row["st"])
