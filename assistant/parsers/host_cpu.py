r"""`lscpu`, `numactl`, `taskset`, `numastat`, affinity dumps, load averages and OMP settings.

CPU(s):                          256
NUMA node0 CPU(s):               0-63,128-191
policy: bind
pid 40211's current affinity list: 0
load average: 412.10, 398.22, 350.01
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from assistant.facts import Fact, Origin, Value
from assistant.intake.document import Document
from assistant.parsers._device import host_subject, hosts_by_line
from assistant.parsers._lines import lines_with, with_next

NAME = "lscpu, numactl, taskset"
TRIGGERS = (
    "CPU(s):",
    "Model name:",
    "physcpubind",
    "available: ",
    "affinity",
    "numa_miss",
    "Cpus_allowed",
    "load average",
    "OMP_NUM_THREADS",
    "NumCPUs=",
    "%Cpu(s)",
    "sched_getaffinity",
    "cpu-bind",
    "NUMA node",
    "node-load",
    "suggested max number of worker",
    "/proc/loadavg",
    "Average:     all",
    "nproc",
    " CPU\n",
)
VERSIONS = "lscpu of util-linux 2.23 to 2.40, numactl, taskset, numastat, top, mpstat, uptime, OMP_* of environments"


#: One of these stands in every line that is read, or in the command above it.
_HINTS = (
    "affinity", "Cpus_allowed", "physcpubind", "max number of worker", "sched_getaffinity", "cpu-bind", "numa_hit", "numa_miss", "node-load", "CPU(s)", "Cpu(s)",
    "Socket(s)", "NUMA node(s)", "Model name", "CPU max MHz", "CPU MHz", "Hypervisor vendor", "available: ", "policy: ", "load average", "OMP_NUM_THREADS",
    "NumCPUs=", "nproc", "loadavg", " all ", " CPU",
)  # fmt: skip


def cpus_in(text: str) -> int | None:
    """The number of CPUs in a list ('0-3,8') or mask ('0xff,ffffffff' as taskset prints it)."""
    text = text.strip()
    if re.fullmatch(r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*", text):
        total = 0
        for part in text.split(","):
            low, _, high = part.partition("-")
            total += int(high or low) - int(low) + 1
        return total
    return None


def _mask(text: str) -> int:
    return int(text.replace(",", "").removeprefix("0x"), 16).bit_count()


def parse(document: Document) -> Iterable[Fact]:
    hosts = hosts_by_line(document)
    affinities: dict[str | None, list[tuple[int, Origin]]] = {}
    numa_hits = 0
    everywhere = "affinity" in document.name.lower()
    indices = with_next(document, lines_with(document, _HINTS), ("nproc", "loadavg"))
    for index in range(len(document.lines)) if everywhere else indices:
        line = document.lines[index].strip()
        if not line or len(line) > 1200:
            continue
        count = _affinity(line, document.name)
        if count:
            affinities.setdefault(hosts[index], []).append((count, document.origin(index, "tool")))
        numbers = [int(n) for n in line.split()[1:] if n.isdecimal()]
        if line.startswith("numa_hit") and numbers:
            numa_hits = max(numbers)
        elif counted := re.match(r"^(?P<n>[\d,]+)\s+node-(?P<what>loads|load-misses)\b", line):
            amount = int(counted["n"].replace(",", ""))
            if counted["what"] == "loads":
                numa_hits = amount
            elif numa_hits:
                yield Fact(
                    "numa.miss_share",
                    round(amount / numa_hits, 3),
                    document.origin(index, "tool"),
                    host_subject(hosts[index]),
                )
        elif line.startswith("numa_miss") and numbers and numa_hits:
            yield Fact(
                "numa.miss_share",
                round(max(numbers) / numa_hits, 3),
                document.origin(index, "tool"),
                host_subject(hosts[index]),
            )
        before = document.lines[index - 1] if index else ""
        for key, value in [*_line(line), *_answer(before, line)]:
            yield Fact(key, value, document.origin(index, "tool"), host_subject(hosts[index]))
    for host, found in affinities.items():
        least = min(found, key=lambda item: item[0])
        most = max(found, key=lambda item: item[0])
        yield Fact("cpu.affinity_count", least[0], least[1], host_subject(host))
        if most[0] >= 4 * least[0]:
            yield Fact("cpu.affinity_shrunk", True, least[1], host_subject(host))


def _affinity(line: str, name: str) -> int | None:
    found = re.search(
        r"affinity list: (?P<list>[\d,-]+)$|^Cpus_allowed_list:\s*(?P<allowed>[\d,-]+)$|^physcpubind: (?P<phys>[\d ]+)$",
        line,
    )
    if found:
        if found["phys"]:
            return len(found["phys"].split())
        return cpus_in(found["list"] or found["allowed"])
    found = re.search(
        r"suggested max number of worker in current system is (?P<dl>\d+),|\bsched_getaffinity\(0\)\)\s*[=:]\s*(?P<py>\d+)",
        line,
    )
    if found:
        return int(found["dl"] or found["py"])
    found = re.search(
        r"affinity mask: (?P<mask>[0-9a-fA-Fx,]+)$|cpu-bind=MASK - .*mask (?P<slurm>0x[0-9A-Fa-f]+)", line
    )
    if found:
        return _mask(found["mask"] or found["slurm"])
    found = re.search(r"affinity\D{0,40}\{(?P<set>\d+(?:, ?\d+)*)\}", line)
    if found:
        return len(found["set"].split(","))
    if "affinity" in name.lower():
        found = re.fullmatch(r"[A-Za-z_][\w. -]*?\s+\d{2,}\s+(?P<n>\d{1,4})", line)
        if found:
            return int(found["n"])
    return None


def _line(line: str) -> Iterator[tuple[str, Value]]:
    found = re.match(
        r"^(?P<key>CPU\(s\)|Socket\(s\)|NUMA node\(s\)|Model name|CPU max MHz|CPU MHz|On-line CPU\(s\) list|Hypervisor vendor):\s+(?P<value>\S.*)$",
        line,
    )
    if found:
        yield from _lscpu(found["key"], found["value"])
        return
    found = re.match(r"^available: (?P<n>\d+) nodes? \(", line)
    if found:
        yield "cpu.numa_nodes", int(found["n"])
        return
    found = re.match(r"^policy: (?P<p>default|bind|preferred|interleave|local)", line)
    if found:
        yield "numa.policy", found["p"]
        return
    found = re.search(r"load averages?: (?P<one>\d+(?:\.\d+)?),? ", line)
    if found:
        yield "cpu.load1", float(found["one"])
    found = re.match(
        r"^%Cpu\(s\):.{0,200}?(?P<id>\d+(?:\.\d+)?) id, *(?P<wa>\d+(?:\.\d+)?) wa,.{0,100}?(?P<st>\d+(?:\.\d+)?) st",
        line,
    )
    if found:
        yield "cpu.idle_pct", float(found["id"])
        yield "cpu.iowait_pct", float(found["wa"])
        yield "cpu.steal_pct", float(found["st"])
        return
    found = re.search(r"\bOMP_NUM_THREADS['\"]?\s*(?:=|:|\bto\b|\bto be\b)\s*['\"]?(?P<n>\d+)", line) or re.search(
        r"OMP_NUM_THREADS environment variable for each process to be (?P<n>\d+)", line
    )
    if found:
        yield "cpu.omp_threads", int(found["n"])
        return
    found = re.search(
        r"\bNumNodes=(?P<nodes>\d+) NumCPUs=(?P<cpus>\d+) NumTasks=(?P<tasks>\d+) CPUs/Task=(?P<per>\d+)", line
    )
    if found:
        yield "cpu.count", max(1, int(found["cpus"]) // int(found["nodes"] or 1))


def _answer(command: str, line: str) -> Iterator[tuple[str, Value]]:
    """What a bare command of the line above printed."""
    if re.search(r"(?:^|[$#>] )nproc$", command.strip()) and line.isdecimal():
        yield "cpu.count", int(line)
    found = re.match(r"^(?P<one>\d+\.\d+) \d+\.\d+ \d+\.\d+ \d+/\d+ \d+$", line)
    if found:
        yield "cpu.load1", float(found["one"])
    found = re.match(
        r"^(?:Average:|\d\d:\d\d:\d\d(?: [AP]M)?)\s+all\s+(?:\d+(?:\.\d+)?\s+){8,9}(?P<idle>\d+(?:\.\d+)?)$", line
    )
    if found:
        yield "cpu.idle_pct", float(found["idle"])
    found = re.match(r"^(?P<used>\d+(?:\.\d+)?)/(?P<all>\d+(?:\.\d+)?) CPU$", line)
    if found and float(found["all"]) > 0:
        yield "cpu.slots_used", round(float(found["used"]) / float(found["all"]), 2)


def _lscpu(key: str, value: str) -> Iterator[tuple[str, Value]]:
    words = {"CPU(s)": "cpu.count", "Socket(s)": "cpu.sockets", "NUMA node(s)": "cpu.numa_nodes"}
    if key in words and value.isdecimal():
        yield words[key], int(value)
    elif key == "Model name":
        yield "cpu", value
    elif key in ("CPU max MHz", "CPU MHz"):
        digits = value.replace(",", ".")
        if re.fullmatch(r"\d+(?:\.\d+)?", digits):
            yield ("cpu.mhz_max" if "max" in key else "cpu.mhz"), float(digits)
    elif key == "Hypervisor vendor":
        yield "virtual_machine", True
