r"""Limits of a process and of its container: `ulimit -a`, /proc/PID/limits, control-group files, sysctl, /proc/cmdline, `ss -s`.

max locked memory           (kbytes, -l) 65536
open files                          (-n) 1024
Max locked memory         65536                65536                bytes
net.ipv4.ip_local_port_range = 32768	60999
nr_throttled 4213
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from assistant.facts import Fact, Value
from assistant.intake.document import Document
from assistant.parsers._device import host_subject, hosts_by_line
from assistant.parsers._lines import lines_with, with_next
from assistant.parsers.host_dmesg import cmdline_facts

NAME = "limits"
TRIGGERS = (
    "max locked memory",
    "Max locked memory",
    "CapEff:",
    "open files",
    "Max open files",
    "max user processes",
    "ulimit",
    "ip_local_port_range",
    "nr_throttled",
    "cpu.max",
    "pids.max",
    "memory.max",
    "oom_kill ",
    "BOOT_IMAGE=",
    "TCP:   ",
    "timewait",
    "numa_balancing",
    "transparent_hugepage",
    "stack size",
    "cpu.cfs_quota_us",
    "scaling_governor",
)
VERSIONS = "ulimit -a of bash and dash, /proc/PID/limits, systemd and cgroup v1 and v2 limits, df"

_ULIMIT = {"l": "limit.memlock_kb", "n": "limit.nofile", "u": "limit.nproc", "s": "limit.stack_kb"}
#: Bit of the capability to lock memory beyond the limit.
_IPC_LOCK = 14
_PROC = {
    "Max locked memory": ("limit.memlock_kb", 1024),
    "Max open files": ("limit.nofile", 1),
    "Max processes": ("limit.nproc", 1),
    "Max stack size": ("limit.stack_kb", 1024),
}


#: One of these stands in every line that is read, or in the command above it.
_HINTS = (
    "-l)", "-n)", "-u)", "-s)", "-l: ", "-n: ", "-u: ", "-s: ", "CapEff:", "Max ", "pids.max", "memory.max", "memory.limit_in_bytes", "cpu.max",
    "cpu.cfs_quota_us", "nr_periods", "nr_throttled", "oom_kill ", "port_range", "TCP: ", "numa_balancing", "[always]", "[madvise]", "[never]",
    "governor", "ulimit -", "BOOT_IMAGE=",
)  # fmt: skip


def _amount(text: str) -> int | None:
    if text in ("unlimited", "max", "infinity", "-1"):
        return -1
    return int(text) if text.isdecimal() else None


def parse(document: Document) -> Iterable[Fact]:
    hosts = hosts_by_line(document)
    periods: dict[str | None, int] = {}
    asked: str | None = None
    for index in with_next(document, lines_with(document, _HINTS), ("ulimit -",)):
        line = document.lines[index].strip()
        if not line or len(line) > 1500:
            continue
        host = hosts[index]
        values = list(_limits(line)) or list(_control_group(line, periods, host)) or list(_sockets(line))
        if asked and re.fullmatch(r"\d+|unlimited", line):
            amount = _amount(line)
            if amount is not None:
                values = [(asked, amount)]
        command = (
            re.search(r"[$#>] (?:.{0,200}[\s'\"])?ulimit (?:-[HS] ?)?-(?P<flag>[lnus])\b", " " + line)
            if "ulimit -" in line
            else None
        )
        asked = _ULIMIT[command["flag"]] if command else None
        if "BOOT_IMAGE=" in line and "ommand line:" not in line:
            yield from cmdline_facts(
                line[line.index("BOOT_IMAGE=") :], document.origin(index, "tool"), host_subject(host)
            )
        for key, value in values:
            yield Fact(key, value, document.origin(index, "tool"), host_subject(host))


def _limits(line: str) -> Iterator[tuple[str, Value]]:
    found = re.match(
        r"^[a-z][a-z -]+ *\((?:[\w -]+, )?-(?P<flag>[lnus])\)\s+(?P<value>\d+|unlimited)$", line
    ) or re.match(r"^-(?P<flag>[lnus]): [\w ()-]+?\s+(?P<value>\d+|unlimited)$", line)
    if found:
        amount = _amount(found["value"])
        if amount is not None:
            yield _ULIMIT[found["flag"]], amount
        return
    capabilities = re.match(r"^CapEff:\s+(?P<mask>[0-9a-f]{8,16})$", line)
    if capabilities:
        yield "limit.ipc_lock", bool(int(capabilities["mask"], 16) >> _IPC_LOCK & 1)
        return
    found = re.match(r"^(?P<name>Max [a-z ]+?)\s{2,}(?P<soft>\d+|unlimited)\s+(?P<hard>\d+|unlimited)", line)
    if found and found["name"] in _PROC:
        key, unit = _PROC[found["name"]]
        amount = _amount(found["soft"])
        if amount is not None:
            yield key, amount if amount < 0 else amount // unit


def _control_group(line: str, periods: dict[str | None, int], host: str | None) -> Iterator[tuple[str, Value]]:
    found = re.match(
        r"^(?:\S*/)?(?P<name>pids\.max|memory\.max|memory\.limit_in_bytes|cpu\.max|cpu\.cfs_quota_us)\s*[:=]?\s*(?P<value>\d+|max|-1)(?: (?P<period>\d+))?$",
        line,
    )
    if found:
        amount = _amount(found["value"])
        if amount is None:
            return
        if found["name"] == "pids.max":
            yield "limit.pids_max", amount
        elif found["name"].startswith("memory") and 0 < amount < 1 << 50:
            yield "mem.cgroup_limit_mb", amount / 1e6
        elif found["name"].startswith("cpu") and amount > 0:
            yield "cpu.quota_cores", amount / int(found["period"] or 100000)
        return
    found = re.match(r"^nr_periods (?P<n>\d+)$", line)
    if found:
        periods[host] = int(found["n"])
        return
    found = re.match(r"^nr_throttled (?P<n>\d+)$", line)
    if found and periods.get(host):
        yield "cpu.throttled_pct", round(100 * int(found["n"]) / periods[host], 1)
        return
    found = re.match(r"^oom_kill (?P<n>\d+)$", line)
    if found:
        yield "mem.cgroup_oom_kills", int(found["n"])


def _sockets(line: str) -> Iterator[tuple[str, Value]]:
    found = re.search(r"ip_local_port_range\s*[:=]?\s*(?P<low>\d{2,5})\s+(?P<high>\d{4,5})$", line)
    if found:
        yield "port.range_size", int(found["high"]) - int(found["low"]) + 1
        return
    found = re.match(r"^TCP:\s+(?P<all>\d+) \(estab \d+.*?timewait (?P<wait>\d+)", line)
    if found:
        yield "port.tcp_sockets", int(found["all"])
        yield "port.timewait", int(found["wait"])
        return
    found = re.match(r"^TCP: inuse (?P<n>\d+) orphan \d+ tw (?P<tw>\d+)", line)
    if found:
        yield "port.tcp_sockets", int(found["n"])
        yield "port.timewait", int(found["tw"])
        return
    found = re.search(
        r"kernel\.numa_balancing\s*=\s*(?P<n>[012])\b|/proc/sys/kernel/numa_balancing:\s*(?P<m>[012])\b", line
    )
    if found:
        yield "kernel.numa_balancing", (found["n"] or found["m"]) != "0"
        return
    found = re.search(r"\[(?P<thp>always|madvise|never)\]", line)
    if found and ("always" in line and "madvise" in line and "never" in line):
        yield "thp", found["thp"]
        return
    found = re.search(
        r"(?:scaling_governor\s*[:=]?\s*|The governor \")(?P<g>performance|powersave|ondemand|schedutil|conservative)",
        line,
    )
    if found:
        yield "cpu.governor", found["g"]
