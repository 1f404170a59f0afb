r"""State and rate of RDMA ports, from ibstat, ibstatus, ibv_devinfo, iblinkinfo, rdma link, ibdev2netdev.

CA 'mlx5_0'
        Port 1:
                State: Active
                Physical state: LinkUp
                Rate: 200
                Link layer: InfiniBand

hca_id: mlx5_0
                port:   1
                        state:                  PORT_ACTIVE (4)
                        active_mtu:             4096 (5)
                        link_layer:             Ethernet

link mlx5_1/1 state DOWN physical_state DISABLED netdev ens1f1np1
mlx5_0 port 1 ==> ib0 (Up)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._lines import lines_with
from assistant.parsers._net import Reader

NAME = "RDMA port state"
TRIGGERS = (
    "CA '",
    "hca_id:",
    "Infiniband device '",
    "physical_state",
    " port 1 ==> ",
    "==( ",
    "phys_state",
    "active_mtu",
)
VERSIONS = (
    "ibstat, ibstatus, iblinkinfo, ibv_devinfo of rdma-core 17 to 55, rdma link of iproute2 5 to 6, "
    "ibdev2netdev of MLNX_OFED"
)

#: Of these one stands in every line that begins a block.
_DEVICE = ("CA '", "hca_id:", "Infiniband device '", "ibv_devinfo")
_LANE = {"SDR": 2.5, "DDR": 5, "QDR": 10, "FDR10": 10, "FDR": 14, "EDR": 25, "HDR": 50, "NDR": 100, "XDR": 200}


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "device": re.compile(
            r"^\s*(?:CA '(?P<a>[\w.-]+)'|hca_id:\s+(?P<b>[\w.-]+)|Infiniband device '(?P<c>[\w.-]+)' port (?P<p>\d+) status"
            r"|.*[$#] ?(?:sudo )?ibv_devinfo (?:.* )?-d (?P<d>[\w.-]+))"
        ),
        "port": re.compile(r"^\s+(?:Port (?P<a>\d+):|port:\s+(?P<b>\d+))\s*$"),
        "field": re.compile(
            r"^\s+(?P<key>State|state|Physical state|phys state|phys_state|Rate|rate|Link layer|link_layer|active_mtu|max_mtu"
            r"|active_width|active_speed):\s+(?P<value>\S.*?)\s*$"
        ),
        "rdma": re.compile(
            r"\blink (?P<dev>[\w.-]+)/(?P<port>\d+) (?:\S+ )*?state (?P<state>\w+) physical_state (?P<phys>\w+)(?: netdev (?P<netdev>\S+))?"
        ),
        "netdev": re.compile(r"^\s*(?P<dev>[\w.-]+) port (?P<port>\d+) ==> (?P<netdev>\S+) \((?P<state>Up|Down)\)"),
        "link": re.compile(
            r"^\s*(?:0x[0-9a-f]+\s+(?:\"(?P<name>[^\"]*)\"\s+)?)?(?P<lid>\d+)\s+(?P<port>\d+)\[[^\]]*\]\s*==\(\s*"
            r"(?:(?P<width>\dX|\d+X)\s+(?P<rate>\d+(?:\.\d+)?) Gbps\s+)?(?P<state>\w+)\s*/\s*(?P<phys>\w+)\s*\)==>"
            r"(?:\s+(?:0x[0-9a-f]+\s+)?\d+\s+\d+\[[^\]]*\]\s+\"(?P<peer>[^\"]*)\")?"
        ),
        "owner": re.compile(r"^\s*(?:Switch|CA): (?:0x[0-9a-f]+ )?(?P<name>\S.*?):?\s*$"),
        "adapter": re.compile(r"^(?P<host>[A-Za-z][\w.-]*) (?P<dev>(?:mlx\d_|HCA-|hfi1_|qib|bnxt_re)\S*)$"),
        "could": re.compile(r"\(\s*Could be (?P<could>[^)]*?)\s*\)"),
    }


def parse(document: Document) -> Iterable[Fact]:
    reader = Reader(document)
    yield from _blocks(reader)
    yield from _lines(reader)


def _blocks(reader: Reader) -> Iterator[Fact]:
    """ibstat, ibstatus and ibv_devinfo: a block for each device and port."""
    patterns = _patterns()
    device = port = ""
    devices: dict[str | None, dict[str, int]] = {}
    for index, text in enumerate(reader.document.messages):
        found = patterns["device"].match(text) if any(word in text for word in _DEVICE) else None
        if found:
            device, port = found["a"] or found["b"] or found["c"] or found["d"], found["p"] or "1"
            devices.setdefault(reader.hosts[index], {}).setdefault(device, index)
            continue
        if not device or not text[:1].isspace():
            continue
        found = patterns["port"].match(text)
        if found:
            port = found["a"] or found["b"]
            continue
        found = patterns["field"].match(text)
        if found and device:
            yield from _field(reader, index, f"{device}:{port}", found["key"], found["value"])
    for names in devices.values():
        yield reader.host(next(iter(names.values())), "ib.devices", len(names))


def _field(reader: Reader, index: int, name: str, key: str, value: str) -> Iterator[Fact]:
    key = key.lower().replace(" ", "_")
    if key == "state":
        yield reader.nic(index, "ib.state", _state(value), name)
    elif key in ("physical_state", "phys_state"):
        yield reader.nic(index, "ib.phys_state", _phys(value), name)
    elif key == "rate":
        rate = re.match(r"\d+(?:\.\d+)?", value)
        if rate and rate[0].strip("."):
            yield reader.nic(index, "ib.rate_gbps", float(rate[0]), name)
        width = re.search(r"\((\d+X)\b", value)
        if width:
            yield reader.nic(index, "ib.width", width[1], name)
    elif key == "link_layer":
        yield reader.nic(index, "ib.link_layer", value, name)
    elif key in ("active_mtu", "max_mtu"):
        mtu = re.match(r"\d+", value)
        if mtu:
            yield reader.nic(index, "ib.mtu" if key == "active_mtu" else "ib.max_mtu", int(mtu[0]), name)
    elif key == "active_width":
        yield reader.nic(index, "ib.width", value.split()[0], name)
    elif key == "active_speed":
        yield from _speed(reader, index, name, value)


def _speed(reader: Reader, index: int, name: str, value: str) -> Iterator[Fact]:
    """active_speed is the rate of one lane; the width stands on the line before it."""
    lane = re.match(r"(\d+(?:\.\d+)?) Gbps", value)
    width = re.search(r"active_width:\s+(\d+)X", "\n".join(reader.document.messages[max(index - 2, 0) : index]))
    if lane and width:
        yield reader.nic(index, "ib.rate_gbps", float(lane[1]) * int(width[1]), name)


def _state(value: str) -> str:
    """PORT_ACTIVE (4), 4: ACTIVE and Active are the same state."""
    word = re.sub(r"^\d+:\s*|PORT_|\s*\(\d+\)", "", value).strip().lower()
    return {"initializing": "Init", "init": "Init"}.get(word, word.capitalize())


def _phys(value: str) -> str:
    word = re.sub(r"^\d+:\s*|\s*\(\d+\)", "", value).strip()
    return {"LINK_UP": "LinkUp", "LINKUP": "LinkUp", "POLLING": "Polling", "DISABLED": "Disabled"}.get(
        word.upper(), word
    )


def _lines(reader: Reader) -> Iterator[Fact]:
    """rdma link, ibdev2netdev and iblinkinfo: a line for each port."""
    patterns = _patterns()
    owner = ""
    for index in lines_with(reader.document, ("Switch: ", "CA: ", "physical_state", "==>")):
        text = reader.document.messages[index]
        if text.lstrip().startswith(("Switch: ", "CA: ")):
            named = patterns["owner"].match(text)
            owner = named["name"] if named else ""
        elif "physical_state" in text:
            found = patterns["rdma"].search(text)
            if found:
                name = f"{found['dev']}:{found['port']}"
                yield reader.nic(index, "ib.state", _state(found["state"]), name)
                yield reader.nic(index, "ib.phys_state", _phys(found["phys"]), name)
                if found["netdev"]:
                    yield reader.nic(index, "ib.netdev", found["netdev"], name)
        elif "==>" in text:
            found = patterns["netdev"].match(text)
            if found:
                name = f"{found['dev']}:{found['port']}"
                yield reader.nic(index, "ib.netdev", found["netdev"], name)
                yield reader.nic(index, "ib.state", "Active" if found["state"] == "Up" else "Down", name)
                continue
            found = patterns["link"].match(text)
            if found:
                yield from _fabric_link(reader, index, text, found, owner)


def _fabric_link(reader: Reader, index: int, text: str, found: re.Match[str], owner: str) -> Iterator[Fact]:
    name = (
        _end(found["name"] or owner, found["port"], found["peer"] or "") or f"lid {found['lid']} port {found['port']}"
    )
    could = _patterns()["could"].search(text)
    if could and could["could"]:
        yield reader.nic(index, "ib.could_be", could["could"], name)
    if found["state"] == "Down":
        return  # unused switch ports are down by nature
    yield reader.nic(index, "ib.state", _state(found["state"]), name)
    if found["rate"] and found["width"]:
        yield reader.nic(index, "ib.width", found["width"], name)
        yield reader.nic(index, "ib.rate_gbps", round(float(found["rate"]) * int(found["width"][:-1]), 1), name)


def _end(owner: str, port: str, peer: str) -> str:
    """The name of a link: the adapter at one of its ends (host/device), or the switch and its port."""
    for name in (owner, peer):
        adapter = _patterns()["adapter"].match(name.strip().removesuffix(":"))
        if adapter:
            return f"{adapter['host']}/{adapter['dev']}"
    switch = owner.split(";")[-1].split(":")[0].strip('" ') if owner else ""
    return f"{switch} port {port}" if switch else ""
