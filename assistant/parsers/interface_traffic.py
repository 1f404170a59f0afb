r"""How much each interface or adapter carries: `sar -n DEV`, counters of RDMA ports read twice, lists of rates, bonds.

10:02:11        IFACE   rxpck/s   txpck/s    rxkB/s    txkB/s   rxcmp/s   txcmp/s  rxmcst/s   %ifutil
10:02:16         eno1 812331.20 809772.60 1187233.41 1190011.08      0.00      0.00      0.40     97.26

/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data:902113
mlx5_1 43988 MB/s
Transmit Hash Policy: layer2 (0)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._lines import lines_with
from assistant.parsers._net import Reader

NAME = "interface traffic"
TRIGGERS = (
    "txkB/s",
    "port_xmit_data",
    "port_rcv_data",
    "Average:",
    "MB/s",
    "GB/s",
    "Gb/s",
    "Gbit/s",
    "Transmit Hash Policy",
    "GBit/s",
    "MBit/s",
)
VERSIONS = "ip -s link, ifconfig, /proc/net/dev, sampled twice"

_TO_GBPS = {
    "MB/s": 8e-3,
    "GB/s": 8.0,
    "Mb/s": 1e-3,
    "Gb/s": 1.0,
    "Mbit/s": 1e-3,
    "Gbit/s": 1.0,
    "MiB/s": 8.389e-3,
    "GiB/s": 8.59,
}
#: Where sar writes the kB sent, and how many figures a row has at least.
_SAR_COLUMN, _SAR_CELLS = 3, 7
#: port_xmit_data counts words of four bytes.
_WORD_BITS = 32


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    name = r"(?:mlx[45]_\w+|bnxt_re\w*|irdma\w+|rdmap\w+|efa_?\d+|hfi1_\d+|hsn\d+|ib\d\w*|ens?\w+|eno\w+|eth\d+|enp\w+|bond\d+|rail ?\d+|nic ?\d+|port ?\d+)"
    return {
        "sar_head": re.compile(r"\bIFACE\s+(?P<columns>\S+(?:\s+\S+)+)$"),
        "sar": re.compile(
            r"^(?:\d\d:\d\d:\d\d(?: [AP]M)?|Average:)\s+(?P<dev>[A-Za-z][\w.@-]*)\s+(?P<cells>\d+(?:\.\d+)?(?:\s+\d+(?:\.\d+)?)+)\s*$"
        ),
        "words": re.compile(r"infiniband/(?P<dev>[\w.-]+)/ports/(?P<port>\d+)/counters/port_xmit_data[:= ]+(?P<n>\d+)"),
        "rate": re.compile(
            rf"^\W*(?P<dev>{name})(?::\d)?(?: \([\w-]+\))?\s*[:=|]?\s*(?:(?:tx|rx|xmit)\s*[:=]?\s*)?(?P<n>\d+(?:\.\d+)?) ?(?P<u>[MG](?:i?B|bit|b)/s)\b"
        ),
        "nload_device": re.compile(r"^\s*Device (?P<dev>[\w.@-]+) \[[^\]]*\] \(\d+/\d+\)"),
        "nload": re.compile(r"^\s*Avg: (?P<n>\d+(?:\.\d+)?) (?P<u>[kMG])Bit/s"),
        "policy": re.compile(r"Transmit Hash Policy: (?P<policy>\S+)"),
    }


def parse(document: Document) -> Iterable[Fact]:
    reader = Reader(document)
    patterns = _patterns()
    column = _SAR_COLUMN
    device, outgoing = "", False
    words: dict[tuple[str | None, str], list[tuple[int, int]]] = {}
    table = "IFACE" in document.text
    marked = lines_with(
        document, ("port_xmit_data", "B/s", "b/s", "bit/s", "Bit/s", "Device ", "Outgoing:", "Transmit Hash Policy")
    )
    for index in range(len(document.lines)) if table else marked:
        text = document.messages[index]
        head = patterns["sar_head"].search(text) if "IFACE" in text else None
        if head:
            columns = head["columns"].split()
            column = columns.index("txkB/s") if "txkB/s" in columns else _SAR_COLUMN
            continue
        row = patterns["sar"].match(text)
        if row:
            cells = row["cells"].split()
            if len(cells) >= _SAR_CELLS:
                yield reader.nic(index, "nic.tx_gbps", round(float(cells[column]) * 8e-6, 4), row["dev"])
            continue
        counted = patterns["words"].search(text) if "port_xmit_data" in text else None
        if counted:
            where = (reader.hosts[index], f"{counted['dev']}:{counted['port']}")
            words.setdefault(where, []).append((index, int(counted["n"])))
            continue
        rate = patterns["rate"].match(text) if "/s" in text else None
        if rate:
            yield reader.nic(
                index, "nic.tx_gbps", round(float(rate["n"]) * _TO_GBPS[rate["u"]], 4), rate["dev"].replace(" ", "")
            )
            continue
        shown = patterns["nload_device"].match(text)
        if shown:
            device, outgoing = shown["dev"], False
            continue
        outgoing = outgoing or text.strip() == "Outgoing:"
        average = patterns["nload"].match(text) if device and outgoing else None
        if average:
            seen = float(average["n"]) * {"k": 1e-6, "M": 1e-3, "G": 1.0}[average["u"]]
            yield reader.nic(index, "nic.tx_gbps", round(seen, 4), device)
            yield reader.job(index, "net.observed_gbps", round(seen, 4))
            outgoing = False
            continue
        policy = patterns["policy"].search(text) if "Policy" in text else None
        if policy:
            yield reader.host(index, "nic.bond_hash", policy["policy"])
    yield from _grown(reader, words)


def _grown(reader: Reader, words: dict[tuple[str | None, str], list[tuple[int, int]]]) -> Iterator[Fact]:
    """Counters that were read twice: how far each one moved."""
    for (_, device), seen in words.items():
        if len(seen) > 1:
            index, last = seen[-1]
            yield reader.nic(
                index, "nic.tx_gbit_between", round(max(last - seen[0][1], 0) * _WORD_BITS / 1e9, 3), device
            )
