r"""NCCL's view of the machine: the dump in its log and the file of NCCL_TOPO_DUMP_FILE.

NCCL INFO === System : maxBw 24.0 totalBw 24.0 ===
NCCL INFO + PCI[48.0] - GPU/0-1b000 (0)
NCCL INFO                + NVL[240.0] - NVS/0

<pci busid="0000:41:00.0" class="0x030200" ... link_speed="5.0 GT/s PCIe" link_width="8">
  <gpu dev="1" sm="80" rank="1" gdr="1"/>
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from assistant.facts import Fact, Origin
from assistant.intake.document import Document
from assistant.parsers._device import gpu_subject, hosts_by_line

NAME = "NCCL topology"
TRIGGERS = ("=== System : maxBw", "link_speed=", "=== System : maxWidth")
VERSIONS = "NCCL 2.4 to 2.28: dumps of the graph and the XML topology in logs"


def parse(document: Document) -> Iterable[Fact]:
    yield from _dump(document)
    yield from _file(document)


def _dump(document: Document) -> Iterator[Fact]:
    start: int | None = None
    gpus = links = 0
    for index, text in enumerate(document.messages):
        if "=== System : max" in text:
            start, gpus, links = index, 0, 0
        elif start is not None and "======" in text:
            if gpus > 1:
                yield Fact("nccl.topo_no_nvlink", links == 0, document.origin(start))
            return
        elif start is not None:
            gpus += bool(re.search(r"- GPU/[\w-]+ \(\d+\)", text))
            links += bool(re.search(r"\+ (?:NVL|XGMI)\[", text))


def _file(document: Document) -> Iterator[Fact]:
    hosts = hosts_by_line(document)
    speeds: dict[str, tuple[float, int, Origin, str | None]] = {}
    link: tuple[float, int, int] | None = None
    for index, text in enumerate(document.lines):
        found = re.search(
            r'<pci [^<>]{0,600}?class="0x0302\d\d"[^<>]{0,600}?link_speed="(?P<speed>\d+(?:\.\d+)?) GT/s[^"]*" link_width="(?P<width>\d+)"',
            text,
        )
        if found:
            link = (float(found["speed"]), int(found["width"]), index)
            continue
        found = re.search(r'<gpu dev="(?P<dev>\d+)"', text)
        if found and link is not None:
            speeds[found["dev"]] = (link[0], link[1], document.origin(link[2], "tool"), hosts[index])
            link = None
    if len(speeds) < 2:
        return
    fastest, widest = max(s[0] for s in speeds.values()), max(s[1] for s in speeds.values())
    for dev, (speed, width, origin, host) in speeds.items():
        if 0 < width < widest or speed < fastest:
            yield Fact(
                "gpu.pcie_odd",
                f"{speed:g} GT/s x{width} (peers {fastest:g} GT/s x{widest})",
                origin,
                gpu_subject(host, dev),
            )
