r"""The table that `nvidia-smi` prints, in its old and new layout, with the list of processes.

>>> from assistant.intake.document import Document
>>> text = '''
... | NVIDIA-SMI 535.161.08             Driver Version: 535.161.08   CUDA Version: 12.2     |
... |   0  NVIDIA A100-SXM4-80GB          On  | 00000000:07:00.0 Off |                    0 |
... | N/A   34C    P0              83W / 400W |  41223MiB / 81920MiB |    100%      Default |
... |    0   N/A  N/A     40211      C   ...onda/envs/gan/bin/python      9871MiB |
... '''
>>> sorted((f.key, f.value) for f in parse(Document("smi.txt", text)) if f.key in ("gpu.util", "gpu.power_w"))
[('gpu.power_w', 83.0), ('gpu.util', 100.0)]
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache

from assistant.facts import Fact, Origin, Value
from assistant.intake.document import Document
from assistant.parsers._device import gpu_subject, host_subject, hosts_by_line

NAME = "nvidia-smi"
TRIGGERS = ("NVIDIA-SMI", "(UUID: GPU-", "MiB |", "Default |", "W /", "Compute M.")
VERSIONS = "nvidia-smi of drivers 384 to 580: two layouts of the table, with and without MIG, nvidia-smi -L"

Key = tuple[str | None, int]


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "version": re.compile(
            r"NVIDIA-SMI\s+(?P<smi>[\d.]+)\s+Driver Version:\s*(?P<driver>[\d.]+)(?:\s+CUDA Version:\s*(?P<cuda>[\d.]+))?"
        ),
        "name": re.compile(
            r"^\|\s+(?P<index>\d{1,3})\s+(?P<name>\S.*?\S)\s+(?P<pm>On|Off|Enabled|Disabled|N/A)\s*\|"
            r"\s*(?P<bus>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)\s+\S+\s*\|\s*(?P<ecc>\d+|N/A|Off|ERR!|\S+)\s*\|"
        ),
        "state": re.compile(
            r"^\|\s*(?P<fan>\d+%|N/A|ERR!?)\s+(?P<temp>\d+C|N/A|ERR!?)\s+(?P<pstate>P\d+|N/A|ERR!?)\s+(?P<power>\d+W|N/A|ERR!?|Unknown Error)\s*/\s*(?P<cap>\d+W|N/A|ERR!?)\s*\|"
            r"\s*(?P<used>\d+)MiB\s*/\s*(?P<total>\d+)MiB\s*\|\s*(?P<util>\d+%|N/A|ERR!?)"
        ),
        "process": re.compile(
            r"^\|\s+(?P<index>\d{1,3})\s+(?:(?:N/A|\d+)\s+(?:N/A|\d+)\s+)?(?P<pid>\d{2,})\s+(?P<type>C|G|C\+G|M\+C)\s+(?P<name>\S.*?)\s+(?P<mem>\d+)MiB\s*\|"
        ),
        "list": re.compile(r"^\s*GPU (?P<index>\d{1,2}): (?P<name>\S.*?\S) \(UUID: GPU-"),
        "mig": re.compile(r"\b(?P<mig>Enabled|Disabled)\s*\|$"),
    }


def parse(document: Document) -> Iterable[Fact]:
    patterns = _patterns()
    hosts = hosts_by_line(document)
    current: int | None = None
    listed: dict[str | None, set[int]] = defaultdict(set)
    processes: dict[Key, dict[int, tuple[int, Origin]]] = defaultdict(dict)
    facts: list[Fact] = []
    first: dict[str | None, Origin] = {}
    for index, text in enumerate(document.lines):
        if "|" not in text:
            heading = patterns["list"].match(text)
            if heading:
                facts.append(
                    Fact(
                        "gpu.name",
                        heading["name"],
                        document.origin(index, "tool"),
                        gpu_subject(hosts[index], heading["index"]),
                    )
                )
            continue
        start = text.find("|")
        line = text[start:]
        host = hosts[index]
        found = patterns["version"].search(line)
        if found:
            origin = document.origin(index, "tool")
            facts.append(Fact("driver_version", found["driver"], origin, host_subject(host)))
            if found["smi"] != found["driver"]:
                facts.append(Fact("driver.user_version", found["smi"], origin, host_subject(host)))
            continue
        found = patterns["name"].match(line)
        if found:
            current = int(found["index"])
            listed[host].add(current)
            origin = document.origin(index, "tool")
            first.setdefault(host, origin)
            facts += _named(found, origin, host, current)
            continue
        found = patterns["state"].match(line)
        if found and current is not None:
            facts += _state(found, document.origin(index, "tool"), host, current)
            continue
        found = patterns["process"].match(line)
        if found and found["type"] != "G":
            key = (host, int(found["index"]))
            processes[key][int(found["pid"])] = (int(found["mem"]), document.origin(index, "tool"))
            continue
        found = patterns["mig"].search(line.rstrip())
        if found and current is not None:
            facts.append(
                Fact("gpu.mig", found["mig"] == "Enabled", document.origin(index, "tool"), gpu_subject(host, current))
            )
            current = None
    for host, indices in listed.items():
        facts.append(Fact("gpu.count", len(indices), first[host], host_subject(host)))
    facts += _processes(processes)
    return facts


def _named(found: re.Match[str], origin: Origin, host: str | None, index: int) -> Iterator[Fact]:
    subject = gpu_subject(host, index)
    yield Fact("gpu.name", found["name"].removesuffix("..."), origin, subject)
    if found["pm"] in ("On", "Off"):
        yield Fact("gpu.persistence", found["pm"] == "On", origin, subject)
    if found["ecc"].isdecimal():
        yield Fact("gpu.ecc_uncorrected", int(found["ecc"]), origin, subject)
    elif found["ecc"].startswith("ERR"):
        yield Fact("gpu.lost", "err", origin, subject)


def _state(found: re.Match[str], origin: Origin, host: str | None, index: int) -> Iterator[Fact]:
    subject = gpu_subject(host, index)
    values: list[tuple[str, Value]] = []
    for group, key in (
        ("temp", "gpu.temp_c"),
        ("power", "gpu.power_w"),
        ("cap", "gpu.power_cap_w"),
        ("util", "gpu.util"),
    ):
        digits = found[group].rstrip("CW%")
        if digits.isdecimal():
            values.append((key, float(digits)))
        elif found[group].startswith(("ERR", "Unknown")):
            values.append(("gpu.lost", "err"))
    if found["pstate"].startswith("P"):
        values.append(("gpu.pstate", found["pstate"]))
    values.append(("gpu.mem_used_mib", float(found["used"])))
    values.append(("gpu.mem_total_mib", float(found["total"])))
    for key, value in dict(values).items():
        yield Fact(key, value, origin, subject)


def _processes(processes: dict[Key, dict[int, tuple[int, Origin]]]) -> Iterator[Fact]:
    """Counts of processes, and processes that hold memory on a GPU that isn't their main one."""
    home: dict[tuple[str | None, int], tuple[int, int]] = {}
    for (host, gpu), held in processes.items():
        for pid, (memory, _) in held.items():
            if memory > home.get((host, pid), (-1, -1))[0]:
                home[host, pid] = (memory, gpu)
    for (host, gpu), held in sorted(processes.items(), key=lambda item: (str(item[0][0]), item[0][1])):
        origin = next(iter(held.values()))[1]
        subject = gpu_subject(host, gpu)
        yield Fact("gpu.processes", len(held), origin, subject)
        guests = [pid for pid in held if home[host, pid][1] != gpu]
        if guests:
            yield Fact("gpu.ranks_on_one", len(guests), held[guests[0]][1], subject)
        own = [memory for pid, (memory, _) in held.items() if home[host, pid][1] == gpu]
        if len(own) > 1 and max(own) > 600 and sum(m > 0.5 * max(own) for m in own) > 1:
            yield Fact("gpu.shared_by_equals", True, origin, subject)
