"""Scripts in which each node names itself as the meeting point.

    srun bash -c 'export MASTER_ADDR=$(hostname); torchrun --node_rank=$SLURM_NODEID --master_addr=$MASTER_ADDR ...'

In the body of a batch script the same line is right: it runs on the first node only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from assistant.facts import Fact
from assistant.intake.document import Document

NAME = "own name as master address"
TRIGGERS = ("$(hostname", "`hostname", "$HOSTNAME", "${HOSTNAME", "SLURMD_NODENAME", "gethostname()")
VERSIONS = "MASTER_ADDR in shell scripts, environments and Python, hostname lookups"

#: Lines without any of these cannot matter.
_WORDS = ("host", "HOST", "NODENAME", "srun", "pdsh", "clush", "mpi", "'")


@cache
def _itself() -> re.Pattern[str]:
    return re.compile(
        r"(?:MASTER_ADDR|MASTER_IP|RDZV_HOST|HEAD_ADDR|master[_-]addr|main_process_ip|rdzv[_-]endpoint)[\"'\]]*[= ]+[\"']?"
        r"(?:\$\(hostname(?: -[fsIi])?(?: *\|[^)]*)?\)|`hostname(?: -[fsIi])?(?: *\|[^`]*)?`|\$\{?(?:HOSTNAME|SLURMD_NODENAME)\}?|socket\.gethostname\(\))"
    )


@cache
def _each() -> re.Pattern[str]:
    return re.compile(r"\b(?:srun|pdsh|clush|mpirun|mpiexec)\b.*\b(?:ba)?sh -l?c\b *(?P<quote>['\"])")


def parse(document: Document) -> Iterable[Fact]:
    batch = "#SBATCH" in document.text
    inside = False
    started: bool | None = None
    for index, line in enumerate(document.lines):
        if not any(word in line for word in _WORDS) or line.lstrip().startswith("#"):
            continue
        each = _each().search(line) if any(word in line for word in ("srun", "pdsh", "clush", "mpi")) else None
        start = inside
        if each and line.count(each["quote"], each.start("quote")) % 2:
            inside = True
        elif inside and line.count("'") % 2:
            inside = False
        found = _itself().search(line) if "HOST" in line or "hostname" in line or "NODENAME" in line else None
        if found and (
            start
            or (each is not None and found.start() > each.start() and each["quote"] == "'")
            or (not batch and "gethostname" in found[0])
        ):
            yield Fact("launch.self_address", found[0][:120], document.origin(index, "config"))
            return
        if found and not batch and started is None:
            started = bool(
                re.search(r"torchrun|torch\.distributed|accelerate launch", document.text)
                and not re.search(r"(?:node_rank|machine_rank)[= ]0\b", document.text)
            )
        if found and started:
            yield Fact("launch.self_address", found[0][:120], document.origin(index, "config"))
            return
