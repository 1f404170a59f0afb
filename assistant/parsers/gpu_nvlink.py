r"""`nvidia-smi nvlink -s`, `-e` and the NVLink part of DCGM: which links are up, at which rate, with how many errors.

GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-...)
     Link 0: 26.562 GB/s
     Link 1: <inactive>
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from assistant.facts import Fact, Origin
from assistant.intake.document import Document
from assistant.parsers._device import gpu_subject, hosts_by_line

NAME = "nvidia-smi nvlink"
TRIGGERS = ("Link 0:", "Link 1:", "<inactive>", "Replay Errors", "all links are inactive", "Unable to retrieve NVLink")
VERSIONS = "nvidia-smi nvlink -s, -e, -c of drivers 418 to 580, dcgmi nvlink"


@dataclass
class _Gpu:
    host: str | None
    index: int
    up: int = 0
    down: int = 0
    errors: int = 0
    rate: float | None = None
    origin: Origin | None = None
    bad: Origin | None = None
    counters: list[int] = field(default_factory=list)


def parse(document: Document) -> Iterable[Fact]:
    hosts = hosts_by_line(document)
    gpus: list[_Gpu] = []
    heading = re.compile(r"^GPU (?P<index>\d+):")
    state = re.compile(
        r"^Link (?P<link>\d+):\s+(?:(?P<rate>\d+(?:\.\d+)?) GB/s|<?(?P<off>inactive)>?)\s*$", re.IGNORECASE
    )
    counter = re.compile(
        r"^Link (?P<link>\d+): (?P<what>(?:Replay|Recovery|CRC (?:FLIT|Data)?|CRC|Effective|Symbol) ?Errors?[^:]*): (?P<n>\d+)",
        re.IGNORECASE,
    )
    for index, text in enumerate(document.lines):
        line = text.strip()
        found = heading.match(line)
        if found:
            gpus.append(_Gpu(hosts[index], int(found["index"]), origin=document.origin(index, "tool")))
            continue
        if not gpus:
            continue
        gpu = gpus[-1]
        found = state.match(line)
        if found:
            if found["off"]:
                gpu.down += 1
                gpu.bad = gpu.bad or document.origin(index, "tool")
            else:
                gpu.up += 1
                rate = float(found["rate"])
                gpu.rate = rate if gpu.rate is None else min(rate, gpu.rate)
            continue
        found = counter.match(line)
        if found:
            gpu.counters.append(int(found["n"]))
            if int(found["n"]):
                gpu.errors += int(found["n"])
                gpu.bad = gpu.bad or document.origin(index, "tool")
        elif "all links are inactive" in line.lower():
            gpu.down = max(gpu.down, 1)
    for gpu in gpus:
        yield from _facts(gpu)


def _facts(gpu: _Gpu) -> Iterable[Fact]:
    assert gpu.origin is not None
    subject = gpu_subject(gpu.host, gpu.index)
    if gpu.up or gpu.down:
        yield Fact("gpu.nvlink_state", "inactive" if gpu.down else "active", gpu.bad or gpu.origin, subject)
        yield Fact("gpu.nvlink_up_links", gpu.up, gpu.origin, subject)
        yield Fact("gpu.nvlink_down_links", gpu.down, gpu.bad or gpu.origin, subject)
    if gpu.rate is not None:
        yield Fact("gpu.nvlink_link_gbs", gpu.rate, gpu.origin, subject)
    if gpu.counters:
        yield Fact("gpu.nvlink_errors", gpu.errors, gpu.bad or gpu.origin, subject)
