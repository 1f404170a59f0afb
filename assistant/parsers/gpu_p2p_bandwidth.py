r"""`p2pBandwidthLatencyTest` of the CUDA samples (and matrices of nvbandwidth): bandwidth of each pair of GPUs.

Device=0 CANNOT Access Peer Device=1
Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\D     0      1
     0 1654.31  21.54
     1  21.60 1659.57
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from statistics import median

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._device import gpu_subject, host_subject, hosts_by_line

NAME = "p2pBandwidthLatencyTest"
TRIGGERS = (
    "P2P=Enabled",
    "P2P=Disabled",
    "CANNOT Access Peer",
    "memcpy CE GPU",
    "memcpy CE CPU",
    "Peer access from",
    "P2P Connectivity Matrix",
    "can_device_access_peer",
    "CNS",
    "Chipset not supported",
)
VERSIONS = (
    "p2pBandwidthLatencyTest and simpleP2P of the CUDA samples 9 to 12, nvbandwidth 0.4 to 0.8, torch's "
    "can_device_access_peer"
)

#: Below this share of the bandwidth through host memory, a peer-to-peer path is the slow one.
SLOWER = 0.6

_NO_ACCESS = re.compile(r"Device[= ](\d+) CAN ?NOT Access Peer Device[= ](\d+)")
_NO_PEER = re.compile(r"> Peer access from .{0,200}?\(GPU(\d+)\) -> .{0,200}?\(GPU(\d+)\) : No")
_ROW = re.compile(r"^GPU(?P<own>\d+)\s+(?P<cells>(?:X|OK|CNS|GNS|TNS|NS|DR|U)(?:\s+(?:X|OK|CNS|GNS|TNS|NS|DR|U))+)$")
_ASKED = re.compile(r"can_device_access_peer\((?P<a>\d), ?(?P<b>\d)\)(?P<rest>.*)$")


def parse(document: Document) -> Iterable[Fact]:
    hosts = hosts_by_line(document)
    title: tuple[str, int] | None = None
    tables: list[tuple[str, int, list[float]]] = []
    latency: tuple[float, int] | None = None
    delays = False
    for index, text in enumerate(document.lines):
        line = text.strip()
        if "Latency" in line and "Matrix" in line:
            delays = "P2P=Enabled" in line
        delay = re.match(r"^(?P<row>\d+)\s+(?P<cells>\d+\.\d+(?:\s+\d+\.\d+)+)$", line) if delays else None
        if delay:
            worst = max((float(c) for n, c in enumerate(delay["cells"].split()) if n != int(delay["row"])), default=0.0)
            latency = max(latency, (worst, index)) if latency else (worst, index)
        found = _NO_ACCESS.match(line) or _NO_PEER.match(line) if "Peer" in line else None
        if found:
            yield Fact(
                "gpu.p2p_no_access",
                f"GPU{found[1]}-GPU{found[2]}",
                document.origin(index, "tool"),
                host_subject(hosts[index]),
            )
            continue
        if "memcpy CE CPU" in line and "bandwidth (GB/s)" in line:
            title = None
            yield from _host_copies(document, index, hosts[index])
            continue
        pair = _ROW.match(line) if line.startswith("GPU") else None
        if pair:
            for other, cell in enumerate(pair["cells"].split()):
                if cell in ("CNS", "GNS", "TNS", "NS", "DR"):
                    yield Fact(
                        "gpu.p2p_no_access",
                        f"GPU{pair['own']}-GPU{other}",
                        document.origin(index, "tool"),
                        host_subject(hosts[index]),
                    )
                    break
            continue
        asked = _ASKED.search(line) if "can_device_access_peer" in line else None
        if asked:
            after = asked["rest"] + " " + (document.lines[index + 1] if index + 1 < len(document.lines) else "")
            if re.match(r"\W*False\b", after):
                yield Fact(
                    "gpu.p2p_no_access",
                    f"GPU{asked['a']}-GPU{asked['b']}",
                    document.origin(index, "tool"),
                    host_subject(hosts[index]),
                )
            continue
        if "Matrix (GB/s)" in line or ("memcpy CE GPU" in line and "GB/s" in line):
            title = (line, index)
            continue
        if "Matrix (us)" in line:
            title = None
            continue
        row = re.match(r"^(?P<row>\d+)\s+(?P<cells>(?:\d+(?:\.\d+)?|N/A)(?:\s+(?:\d+(?:\.\d+)?|N/A))*)$", line)
        if title and row and "D\\D" not in line and ("." in row["cells"]):
            cells = row["cells"].split()
            own = int(row["row"])
            values = [float(c) for n, c in enumerate(cells) if n != own and c != "N/A"]
            if tables and tables[-1][1] == title[1]:
                tables[-1][2].extend(values)
            else:
                tables.append((title[0], title[1], values))
    if latency:
        yield Fact(
            "gpu.p2p_latency_max_us", latency[0], document.origin(latency[1], "tool"), host_subject(hosts[latency[1]])
        )
    yield from _slower_than_staged(document, tables)
    for name, index, values in tables:
        if not values:
            continue
        origin, subject = document.origin(index, "tool"), host_subject(hosts[index])
        if "P2P=Disabled" in name:
            yield Fact("gpu.p2p_off_bw_max_gbs", max(values), origin, subject)
        elif "Bidirectional" not in name:
            yield Fact("gpu.p2p_bw_min_gbs", min(values), origin, subject)
            yield Fact("gpu.p2p_bw_max_gbs", max(values), origin, subject)


def _host_copies(document: Document, index: int, host: str | None) -> Iterator[Fact]:
    """The row of nvbandwidth with the copies between host and each GPU."""
    for at in range(index + 1, min(index + 4, len(document.lines))):
        row = re.match(r"^\s*\d+\s+(?P<cells>\d+\.\d+(?:\s+\d+\.\d+)+)\s*$", document.lines[at])
        if row:
            rates = [float(c) for c in row["cells"].split()]
            middle = median(rates) if len(rates) > 2 else max(rates)
            for gpu, rate in enumerate(rates):
                if rate < 0.7 * middle:
                    yield Fact(
                        "gpu.h2d_odd",
                        f"{rate:g} GB/s (peers {middle:g} GB/s)",
                        document.origin(at, "tool"),
                        gpu_subject(host, gpu),
                    )
            return


def _slower_than_staged(document: Document, tables: list[tuple[str, int, list[float]]]) -> Iterable[Fact]:
    """Whether a pair copies far slower with peer-to-peer on than with it off."""
    for kind in ("Unidirectional", "Bidirectional"):
        on = [(min(v), i) for n, i, v in tables if kind in n and "P2P=Enabled" in n and v]
        off = [max(v) for n, _, v in tables if kind in n and "P2P=Disabled" in n and v]
        if on and off and on[0][0] < SLOWER * max(off):
            yield Fact("gpu.p2p_slower_than_staged", True, document.origin(on[0][1], "tool"))
            return
