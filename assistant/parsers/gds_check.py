r"""`gdscheck -p` of GPUDirect Storage, and types of IOMMU groups in /sys: whether ACS and IOMMU stand in the way of peer traffic.

Found ACS enabled for switch 0000:64:00.0
IOMMU: enabled
$ cat /sys/kernel/iommu_groups/18/type
DMA-FQ
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from assistant.facts import Fact, Value
from assistant.intake.document import Document
from assistant.parsers._device import host_subject, hosts_by_line
from assistant.parsers._lines import lines_with

NAME = "gdscheck, IOMMU groups"
TRIGGERS = ("ACS enabled for switch", "IOMMU: ", "IOMMU State:", "iommu_groups/")
VERSIONS = "gdscheck of GPUDirect Storage 1.0 to 1.14, /sys/kernel/iommu_groups"

_STATE = re.compile(
    r"^IOMMU: (?P<a>enabled|disabled|[Pp]ass-?through)\b|IOMMU State: (?P<b>Enabled|Disabled|Pass-?through)\b"
)
_GROUP = re.compile(r"iommu_groups/\d+/type:(?P<type>DMA(?:-FQ)?|identity)$")
_ASKED = re.compile(r"iommu_groups/\S{1,80}/type$")
_KINDS = {"DMA": "on", "DMA-FQ": "on", "identity": "pt"}


def parse(document: Document) -> Iterable[Fact]:
    lines = document.lines
    for index in lines_with(document, ("ACS enabled for switch", "IOMMU", "iommu_groups/")):
        line = lines[index].strip()
        if "ACS enabled for switch" in line:
            yield _fact(document, index, "pcie.acs_on", True)
        state = _STATE.search(line)
        if state:
            word = (state["a"] or state["b"]).lower()
            yield _fact(document, index, "kernel.iommu", {"enabled": "on", "disabled": "off"}.get(word, "pt"))
        found = _GROUP.search(line)
        if found:
            yield _fact(document, index, "kernel.iommu", _KINDS[found["type"]])
        if _ASKED.search(line):
            answer = index + 1
            while answer < len(lines) and (kind := _KINDS.get(lines[answer].strip())):
                yield _fact(document, answer, "kernel.iommu", kind)
                answer += 1


def _fact(document: Document, index: int, key: str, value: Value) -> Fact:
    return Fact(key, value, document.origin(index, "tool"), host_subject(hosts_by_line(document)[index]))
