r"""`lspci -vvv`: links below their capability and access control of bridges. Also `/sys/.../current_link_*` dumps.

17:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)
        LnkCap: Port #0, Speed 32GT/s, Width x16, ASPM not supported
        LnkSta: Speed 2.5GT/s (downgraded), Width x8 (downgraded)
        ACSCtl: SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._device import host_subject, hosts_by_line

NAME = "lspci"
TRIGGERS = ("LnkSta:", "(rev ff)", "ACSCtl:", "LnkCap:", "SrcValid", "ECAP_ACS", " @f2a = ", ") @")
VERSIONS = "lspci -vv of pciutils 3.5 to 3.13, PCIe 3 to 6"


@dataclass
class _Device:
    address: str = "?"
    text: str = ""
    cap_speed: float | None = None
    cap_width: int | None = None

    @property
    def kind(self) -> str:
        lowered = self.text.lower()
        if "bridge" in lowered:
            return "bridge"
        if "nvidia" in lowered or "3d controller" in lowered or "display controller" in lowered:
            return "gpu"
        if any(word in lowered for word in ("mellanox", "infiniband", "ethernet", "network", "connectx")):
            return "nic"
        return "other"


def parse(document: Document) -> Iterable[Fact]:
    hosts = hosts_by_line(document)
    header = re.compile(r"^(?P<address>(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])(?:\s+(?P<text>.*))?$")
    names: dict[str, str] = {}
    device = _Device()
    bridges: list[int] = []
    clean: list[int] = []
    for index, text in enumerate(document.lines):
        line = text.strip()
        if register := re.search(r"^(?:\S+ )?\(cap \w+ @[0-9a-f]+\) @[0-9a-f]+ = (?P<bits>[0-9a-f]{4})$", line):
            (bridges if int(register["bits"], 16) & 0x1D else clean).append(
                index
            )  # source validation, request, completion, upstream
            continue
        found = header.match(line)
        if found:
            address = found["address"].removeprefix("0000:")
            words = found["text"] or names.get(address, "")
            names[address] = words
            device = _Device(address, words)
            if "(rev ff)" in words and device.kind == "gpu":
                yield Fact("gpu.lost", "missing", document.origin(index, "tool"), host_subject(hosts[index]))
        elif line.startswith("LnkCap:"):
            device.cap_speed, device.cap_width = _speed(line), _width(line)
        elif line.startswith("LnkSta:"):
            yield from _status(line, device, document, index, hosts[index])
        elif "ACSCtl:" in line:
            (bridges if re.search(r"SrcValid\+|ReqRedir\+|CmpltRedir\+", line) else clean).append(index)
    if bridges or clean:
        where = (bridges or clean)[0]
        subject = host_subject(hosts[where])
        yield Fact("pcie.acs_on", bool(bridges), document.origin(where, "tool"), subject)
        if bridges:
            yield Fact("pcie.acs_bridges", len(bridges), document.origin(where, "tool"), subject)


def _speed(line: str) -> float | None:
    found = re.search(r"Speed (\d+(?:\.\d+)?)GT/s", line)
    return float(found[1]) if found else None


def _width(line: str) -> int | None:
    found = re.search(r"Width x(\d+)", line)
    return int(found[1]) if found else None


def _status(line: str, device: _Device, document: Document, index: int, host: str | None) -> Iterator[Fact]:
    speed, width = _speed(line), _width(line)
    if width == 0:
        return
    narrow = "(downgraded)" in line.partition("Width")[2] or (width and device.cap_width and width < device.cap_width)
    slow = "(downgraded)" in line.partition("Width")[0] or (speed and device.cap_speed and speed < device.cap_speed)
    if not (narrow or slow):
        return
    parts = []
    if slow:
        parts.append(f"{speed:g} of {device.cap_speed:g} GT/s" if speed and device.cap_speed else "lower speed")
    if narrow:
        parts.append(f"x{width} of x{device.cap_width}" if width and device.cap_width else f"x{width}")
    origin, subject = document.origin(index, "tool"), host_subject(host)
    yield Fact(
        "pcie.degraded_device",
        f"{device.address} {' '.join(device.text.split()[:6])}: {', '.join(parts)}",
        origin,
        subject,
    )
    yield Fact("pcie.degraded_kind", f"{device.kind}{'-width' if narrow else '-speed'}", origin, subject)
