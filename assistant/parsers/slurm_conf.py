"""slurm.conf and gres.conf: what a node is said to have.

NodeName=gpu[01-08] Gres=gpu:a100:4 CPUs=64 RealMemory=512000 State=UNKNOWN
NodeName=gpu[01-08] Name=gpu Type=a100 File=/dev/nvidia[0-3]
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from assistant.facts import Fact
from assistant.intake.document import Document

NAME = "slurm.conf"
TRIGGERS = ("NodeName=", "Name=gpu", "PropagateResourceLimits")
VERSIONS = "Slurm 20.11 to 25.05"

_GRES = re.compile(r"\bGres=(?:\S{0,200},)?gpu(?::[A-Za-z]\w*)?:(?P<n>\d{1,2})\b", re.IGNORECASE)
_FILES = re.compile(r"\bName=gpu\b.{0,400}?\bFile=/dev/nvidia(?:\[(?P<a>\d+)-(?P<b>\d+)\]|(?P<one>\d+))", re.IGNORECASE)
_CPUS = re.compile(r"\bNodeName=.{0,1000}\bCPUs=(?P<n>\d{1,4})\b", re.IGNORECASE)
_PROPAGATED = re.compile(r"^\s*PropagateResourceLimits(?P<except>Except)?=(?P<what>\S+)", re.IGNORECASE)


def parse(document: Document) -> Iterable[Fact]:
    devices: dict[str, tuple[int, int]] = {}
    for index, line in enumerate(document.lines):
        if len(line) > 2000 or not ("Name=" in line or "Propagate" in line) or line.lstrip().startswith("#"):
            continue
        gres, files, cpus = _GRES.search(line), _FILES.search(line), _CPUS.search(line)
        if gres and "NodeName" in line:
            yield Fact("slurm.conf_gpus", int(gres["n"]), document.origin(index, "config"))
        if files:
            node = next((w for w in line.split() if w.startswith("NodeName=")), "")
            count = 1 if files["one"] else int(files["b"]) - int(files["a"]) + 1
            devices[node] = (devices.get(node, (index, 0))[0], devices.get(node, (index, 0))[1] + count)
        if cpus:
            yield Fact("slurm.conf_cpus", int(cpus["n"]), document.origin(index, "config"))
        limits = _PROPAGATED.match(line)
        if limits:
            kept = limits["what"].upper()
            spared = "MEMLOCK" in kept if limits["except"] else kept == "NONE"
            yield Fact("slurm.conf_passes_memlock", not spared, document.origin(index, "config"))
    for index, count in devices.values():
        yield Fact("slurm.conf_gpu_files", count, document.origin(index, "config"))
