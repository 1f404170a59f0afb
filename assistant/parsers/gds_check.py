r"""`gdscheck -p` of GPUDirect Storage, and types of IOMMU groups in /sys: whether ACS and IOMMU stand in the way of peer traffic.

Found ACS enabled for switch 0000:64:00.0
IOMMU: enabled
$ cat /sys/kernel/iommu_groups/18/type
DMA-FQ
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._device import host_subject, hosts_by_line

NAME = "gdscheck, IOMMU groups"
TRIGGERS = ("ACS enabled for switch", "IOMMU: ", "IOMMU State:", "iommu_groups/")
VERSIONS = "gdscheck of GPUDirect Storage 1.0 to 1.14, /sys/kernel/iommu_groups"


def parse(document: Document) -> Iterable[Fact]:
    hosts = hosts_by_line(document)
    asked = False
    for index, text in enumerate(document.lines):
        line = text.strip()
        origin, subject = document.origin(index, "tool"), host_subject(hosts[index])
        if re.search(r"\bACS enabled for switch\b", line):
            yield Fact("pcie.acs_on", True, origin, subject)
        state = re.search(
            r"^IOMMU: (?P<a>enabled|disabled|[Pp]ass-?through)\b|IOMMU State: (?P<b>Enabled|Disabled|Pass-?through)\b",
            line,
        )
        if state:
            word = (state["a"] or state["b"]).lower()
            yield Fact("kernel.iommu", {"enabled": "on", "disabled": "off"}.get(word, "pt"), origin, subject)
        found = re.search(r"iommu_groups/\d+/type:(?P<type>DMA(?:-FQ)?|identity)$", line)
        kind = found["type"] if found else line if asked and re.fullmatch(r"DMA(?:-FQ)?|identity", line) else None
        if kind:
            yield Fact("kernel.iommu", "pt" if kind == "identity" else "on", origin, subject)
        asked = bool(re.search(r"iommu_groups/\S+/type$", line)) or (asked and kind is not None)
