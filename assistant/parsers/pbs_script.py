"""PBS job scripts: chunks and what each has.

#PBS -l select=4:ncpus=64:ngpus=4:mpiprocs=4:mem=480gb
#PBS -l nodes=2:ppn=16:gpus=4
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from assistant.facts import Fact
from assistant.intake.document import Document

NAME = "PBS job script"
TRIGGERS = ("#PBS ",)
VERSIONS = "PBS Pro and OpenPBS (select), Torque (nodes, gpus)"

_CHUNKS = re.compile(r"^\s*#PBS\s+-l\s+(?:select|nodes)=(?P<n>\d{1,5})(?P<rest>[:\w=.-]*)")
_EACH = {"ngpus": "launch.sbatch_gpus", "gpus": "launch.sbatch_gpus", "mpiprocs": "launch.ntasks_per_node"}


def parse(document: Document) -> Iterable[Fact]:
    for index, line in enumerate(document.lines):
        found = _CHUNKS.match(line) if "#PBS" in line else None
        if found is None:
            continue
        origin = document.origin(index, "config")
        yield Fact("scheduler", "pbs", origin)
        yield Fact("launch.sbatch_nodes", int(found["n"]), origin)
        for part in found["rest"].split(":"):
            name, _, value = part.partition("=")
            if name in _EACH and value.isdecimal():
                yield Fact(_EACH[name], int(value), origin)
            elif name == "ncpus" and value.isdecimal():
                yield Fact("launch.cpu_limit", float(value), origin)
        return
