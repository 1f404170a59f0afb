r"""Link settings, counters and driver of Ethernet interfaces, from ethtool IF, ethtool -S IF and ethtool -i IF.

Settings for ens1f0np0:
        Supported link modes:   10000baseT/Full
                                100000baseCR4/Full
        Speed: 10000Mb/s
        Duplex: Full
        Link detected: yes

NIC statistics:
     rx_discards_phy: 120934
     rx_prio3_pause: 88123
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._net import Reader

NAME = "ethtool"
TRIGGERS = (
    "Settings for ",
    "NIC statistics",
    "ethtool",
    "Link detected:",
    "_phy: ",
    "allowance_exceeded",
    "firmware-version:",
    "baseT/Full",
)
VERSIONS = "ethtool 4.5 to 6.11: plain, -S (mlx5, bnxt, ice, i40e, ena, efa, gve), -i"

_ERRORS = frozenset((
    "rx_crc_errors_phy", "rx_symbol_err_phy", "rx_pcs_symbol_err_phy", "link_down_events_phy", "rx_crc_errors", "rx_errors",
    "tx_carrier_errors", "rx_frame_errors", "module_bus_stuck", "module_high_temp", "module_bad_shorted", "rx_fcs_errors",
    "rx_align_errors", "rx_fec_uncorrectable_blocks",
))  # fmt: skip
_LOSS = frozenset((
    "rx_discards_phy", "tx_discards_phy", "rx_out_of_buffer", "rx_dropped", "tx_dropped", "rx_missed_errors", "rx_fifo_errors",
    "rx_no_buffer_count", "rx_no_dma_resources", "port.rx_dropped", "rx_discards", "tx_discards", "rx_buff_alloc_err",
))  # fmt: skip
_MTU = frozenset(
    ("rx_oversize_pkts_phy", "rx_out_of_range_len_phy", "rx_length_errors", "rx_long_length_errors", "rx_oversize")
)
_PAUSE = re.compile(
    r"^(?:rx|tx)_(?:pause_ctrl_phy|global_pause|prio\d_pause|pause|flow_control_xo(?:ff|n)|pause_storm_(?:warning|error)_events)$"
)
_LOSSLESS = re.compile(r"^rx_prio[1-7]_(?:discards|buf_discard)$")
#: Below so many, drops and pauses are what every busy host shows.
_FEW_DROPS, _FEW_PAUSES = 100, 1000


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "head": re.compile(
            r"(?:Settings for (?P<a>[\w.@-]+):|ethtool (?:-[a-zA-Z]+ |--[\w-]+ )*(?P<b>[A-Za-z][\w.@-]*))"
        ),
        "field": re.compile(r"^\s*(?P<key>Speed|Duplex|Link detected|driver):\s+(?P<value>\S.*?)\s*$"),
        "modes": re.compile(
            r"^\s*(?P<who>Supported link modes|Advertised link modes|Link partner advertised link modes|[A-Z][\w -]+):"
        ),
        "mode": re.compile(r"\b(?P<speed>\d+)base\w*/(?:Full|Half)"),
        "stat": re.compile(r"^\s+(?P<name>[a-z][\w.]*): (?P<value>\d+)\s*$"),
    }


def parse(document: Document) -> Iterable[Fact]:
    reader = Reader(document)
    patterns = _patterns()
    device, modes = "", ""
    best: dict[tuple[str, str, str | None], tuple[int, float]] = {}
    for index, text in enumerate(document.messages):
        if ":" not in text and "base" not in text and "ethtool" not in text:
            continue
        head = patterns["head"].search(text) if "ethtool " in text or "Settings for " in text else None
        if head:
            device, modes = head["a"] or head["b"], ""
            continue
        label = patterns["modes"].match(text)
        if label:
            modes = label["who"]
        for mode in patterns["mode"].finditer(text) if "base" in text else ():
            speed = int(mode["speed"]) / 1000
            key = (modes, device, reader.hosts[index])
            if key not in best or speed > best[key][1]:
                best[key] = (index, speed)
        field = patterns["field"].match(text)
        if field:
            yield from _field(reader, index, device or "interface", field["key"], field["value"])
            continue
        stat = patterns["stat"].match(text) if text[:1].isspace() else None
        if stat:
            yield from _stat(reader, index, device or "interface", stat["name"], int(stat["value"]))
    for (label_text, name, _), (line, speed) in best.items():
        if label_text == "Supported link modes":
            yield reader.nic(line, "nic.max_speed_gbps", speed, name or "interface")
        elif label_text == "Link partner advertised link modes":
            yield reader.nic(line, "nic.partner_max_gbps", speed, name or "interface")


def _field(reader: Reader, index: int, device: str, key: str, value: str) -> Iterator[Fact]:
    if key == "Speed":
        speed = re.match(r"(\d+)Mb/s", value)
        if speed and 0 < int(speed[1]) < 10_000_000:
            yield reader.nic(index, "nic.speed_gbps", int(speed[1]) / 1000, device)
    elif key == "Duplex" and value in ("Full", "Half"):
        yield reader.nic(index, "nic.duplex", value, device)
    elif key == "Link detected":
        yield reader.nic(index, "nic.link", value.startswith("yes"), device)
    elif key == "driver":
        yield reader.nic(index, "nic.driver", value, device)


def _stat(reader: Reader, index: int, device: str, name: str, value: int) -> Iterator[Fact]:
    if value == 0:
        return
    if name.endswith("allowance_exceeded") and not name.startswith(("conntrack", "linklocal")):
        yield reader.nic(index, "nic.limit_counter", name, device, value)
    elif _LOSSLESS.match(name):
        yield reader.nic(index, "nic.lossless_drop_counter", name, device, value)
    elif name in _ERRORS:
        yield reader.nic(index, "nic.error_counter", name, device, value)
    elif name in _MTU:
        yield reader.nic(index, "nic.mtu_counter", name, device, value)
    elif name in _LOSS and value > _FEW_DROPS:
        yield reader.nic(index, "nic.loss_counter", name, device, value)
        yield reader.nic(index, "nic.drops", value, device)
    elif _PAUSE.match(name) and value > _FEW_PAUSES:
        yield reader.nic(index, "nic.pause", value, device)
        priority = re.match(r"(?P<way>[rt]x)_prio(?P<n>\d)_pause$", name)
        if priority:
            yield reader.nic(index, "nic.pause_priority", f"{priority['way']} {priority['n']}", device, value)
