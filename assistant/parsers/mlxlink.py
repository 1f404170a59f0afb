r"""`mlxlink` of NVIDIA's firmware tools, as text and as JSON: state and rate of a port, bit errors, advice on the cable.

State                              : Active
Physical state                     : LinkUp
Speed                              : IB-NDR
Width                              : 4x
Recommendation                     : No issue was observed
Effective Physical Errors          : 42
Effective Physical BER             : 1E-12
Link Down Counter                  : 3
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._net import Reader

NAME = "mlxlink"
TRIGGERS = ("Effective Physical BER", "Troubleshooting Info", "Physical Counters and BER Info", "Operational Info")
VERSIONS = "mlxlink of MFT 4.18 to 4.34, text (-d DEV -m -c -e) and --json"

_LANE = {"SDR": 2.5, "DDR": 5.0, "QDR": 10.0, "FDR10": 10.0, "FDR": 14.0, "EDR": 25.0, "HDR": 50.0, "NDR": 100.0, "XDR": 200.0}  # fmt: skip
#: A link without errors shows 15E-255; above this something is wrong even with error correction.
WORST_BER = 1e-14
_FINE = ("no issue", "n/a", "")


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "field": re.compile(r"^\s*\"?(?P<key>[A-Z][\w ./()\[\]-]*?)\"?\s*:\s*\"?(?P<value>[^\"\n]*?)\"?,?\s*$"),
        "command": re.compile(r"mlxlink\b.*?-d (?P<dev>\S+)"),
        "ber": re.compile(r"^(?P<n>\d+(?:\.\d+)?)E(?P<e>-?\d+)$"),
    }  # fmt: skip


def parse(document: Document) -> Iterable[Fact]:
    reader = Reader(document)
    patterns = _patterns()
    device = ""
    rate: float | None = None
    width = 0
    for index, text in enumerate(document.messages):
        command = patterns["command"].search(text) if "mlxlink" in text else None
        if command:
            device = command["dev"].rsplit("/", 1)[-1]
        if "Operational Info" in text:
            rate, width = None, 0
        if ":" not in text:
            continue
        field = patterns["field"].match(text)
        if field is None:
            continue
        key, value = field["key"], field["value"].strip()
        name = device or "port"
        if key == "State":
            yield reader.nic(index, "ib.state", "Active" if value == "Active" else value.capitalize(), name)
        elif key == "Physical state":
            yield reader.nic(index, "ib.phys_state", value if value == "LinkUp" else value.split("_")[-1], name)
        elif key == "Speed":
            rate = _lane(value)
            if value.endswith("G") and value[:-1].isdecimal():
                yield reader.nic(index, "ib.rate_gbps", float(value[:-1]), name)
        elif key == "Width":
            width = int(value[:-1]) if value[:-1].isdecimal() else 0
            if width:
                yield reader.nic(index, "ib.width", f"{width}X", name)
            if width and rate:
                yield reader.nic(index, "ib.rate_gbps", rate * width, name)
        elif key in ("Effective Physical BER", "Symbol BER"):
            ber = patterns["ber"].match(value)
            if ber and int(ber["e"]) > -100 and float(ber["n"]) * 10.0 ** int(ber["e"]) > WORST_BER:
                yield reader.nic(index, "link.ber", float(ber["n"]) * 10.0 ** int(ber["e"]), name)
        elif key in ("Effective Physical Errors", "Link Error Recovery Counter", "Symbol Errors"):
            if value.isdecimal() and int(value):
                yield reader.nic(index, "link.errors", key, name, int(value))
        elif key == "Link Down Counter":
            if value.isdecimal() and int(value):
                yield reader.nic(index, "link.downs", int(value), name)
        elif key == "Recommendation" and not value.lower().startswith(_FINE[:2]) and value:
            yield reader.nic(index, "link.advice", value, name)


def _lane(value: str) -> float | None:
    """Gbit/s of one lane of IB-NDR and the like."""
    return _LANE.get(value.removeprefix("IB-"))
