r"""What the wires carry while a job runs, from sar -n DEV, nload, ifstat, nicstat and bmon.

10:02:11 PM     IFACE   rxpck/s   txpck/s    rxkB/s    txkB/s   rxcmp/s   txcmp/s  rxmcst/s   %ifutil
10:02:12 PM      eth0  98211.00  97874.00 143988.21 143770.10      0.00      0.00      0.00     94.36

Device ens4 [10.138.0.5] (1/1):
  Curr: 9.21 GBit/s
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from statistics import median

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._net import Reader, gbps

NAME = "traffic meters"
TRIGGERS = ("rxkB/s", "Curr: ", "IFACE", "sar -n", "Total send rate", "Total receive rate", "bit/s")
VERSIONS = "sar of sysstat 10 to 12, nload 0.7, ifstat, nicstat, bmon, iftop, vnstat"

_NLOAD = re.compile(r"^\s*Device (?P<dev>[\w.-]+) \[")
_CURRENT = re.compile(r"^\s*(?:Curr|Avg|Max): (?P<n>\d+(?:\.\d+)?) (?P<unit>[kMG]?Bit)/s")
_IFTOP = re.compile(r"^\s*Total (?:send|receive) rate:\s+(?P<n>\d+(?:\.\d+)?)(?P<unit>[KMG]?b)\b")
_VNSTAT = re.compile(r"^\s*[rt]x\s+(?P<n>\d+(?:\.\d+)?) (?P<unit>[kMG]?bit)/s\s+\d+(?:\.\d+)? (?:\w+ )?p(?:ackets)?/s")
_SKIP = re.compile(r"^(?:lo$|docker|veth|br-|virbr|cni|cali|flannel)")


def parse(document: Document) -> Iterable[Fact]:
    reader = Reader(document)
    columns: list[str] = []
    device = ""
    rates: dict[str, list[tuple[float, int]]] = {}
    utilisation: dict[str, list[float]] = {}
    for index, text in enumerate(document.messages):
        words = text.split()
        if "IFACE" in words and "rxkB/s" in words:
            columns = words[words.index("IFACE") :]
            continue
        named = _NLOAD.match(text)
        if named:
            device = named["dev"]
            continue
        current = _CURRENT.match(text) if device else None
        current = current or _IFTOP.match(text) or _VNSTAT.match(text)
        if current:
            rates.setdefault(device or "interface", []).append((gbps(current["n"], current["unit"].lower()), index))
            continue
        names = columns or (_DEFAULT if _sar(words) else [])
        cells = words[-len(names) :] if names else []
        if len(cells) < 6 or len(cells) != len(names) or _SKIP.match(cells[0]):
            continue
        if not all(re.fullmatch(r"\d+(?:\.\d+)?", c) for c in cells[1:]):
            continue
        row = dict(zip(names, cells, strict=True))
        if not {"IFACE", "rxkB/s", "txkB/s"} <= row.keys():
            continue
        kilobytes = max(float(row["rxkB/s"]), float(row["txkB/s"]))
        rates.setdefault(row["IFACE"], []).append((kilobytes * 8.192e-6, index))
        if "%ifutil" in row:
            utilisation.setdefault(row["IFACE"], []).append(float(row["%ifutil"]))
    for name, found in rates.items():
        busiest = max(found)
        yield reader.nic(busiest[1], "nic.traffic_gbps", round(median(r for r, _ in found), 3), name)
        if name in utilisation:
            yield reader.nic(busiest[1], "nic.traffic_share", round(median(utilisation[name]) / 100, 3), name)


_DEFAULT = ["IFACE", "rxpck/s", "txpck/s", "rxkB/s", "txkB/s", "rxcmp/s", "txcmp/s", "rxmcst/s", "%ifutil"]


def _sar(words: list[str]) -> bool:
    """A row of sar that came without its heading (grep)."""
    return len(words) >= 10 and bool(re.match(r"(?:\d\d:\d\d:\d\d|Average:)$", words[0]))
