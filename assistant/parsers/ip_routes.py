r"""Routes, from ip route, ip route get and route -n.

10.20.0.0/20 dev eno1 proto kernel scope link src 10.20.3.12 metric 100
10.20.0.0/20 dev ens6f0 proto kernel scope link src 10.20.5.12 metric 100

10.20.5.15 dev eno1 src 10.20.3.12 uid 1000
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from string import ascii_lowercase

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._lines import lines_with
from assistant.parsers._net import Reader

NAME = "ip route"
#: NCCL speaks of `dev 3`: the name of an interface begins with a letter.
TRIGGERS = (
    *(f" dev {letter}" for letter in ascii_lowercase),
    "Genmask",
    "Network is unreachable",
    "network is unreachable",
)
VERSIONS = "ip route and ip route get of iproute2 3 to 6, route -n, netstat -rn"

_BRIDGE = re.compile(r"^(?:lo|docker|br-|virbr|cni|flannel|cali|tunl|cilium|veth)")


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "network": re.compile(r"^\s*(?P<net>\d+\.\d+\.\d+\.\d+/\d+)(?: via \S+)? dev (?P<dev>\S+)(?P<rest>.*)$"),
        "get": re.compile(
            r"^\s*(?P<ip>\d+\.\d+\.\d+\.\d+)(?: from \S+)?(?: via (?P<via>\S+))? dev (?P<dev>\S+)(?: table \S+)? src (?P<src>\S+)"
        ),
        "table": re.compile(
            r"^(?P<net>\d+\.\d+\.\d+\.\d+)\s+0\.0\.0\.0\s+(?P<mask>\d+\.\d+\.\d+\.\d+)\s+U\w*\s+(?P<metric>\d+)\s+\d+\s+\d+\s+(?P<dev>\S+)$"
        ),
        "default": re.compile(
            r"\s*default (?:via \S+ )?dev (?P<dev>\S+)|0\.0\.0\.0\s+\d[\d.]+\s+0\.0\.0\.0\s+UG.*?(?P<last>\S+)$"
        ),
        "unreachable": re.compile(r"(?:RTNETLINK answers|ping: connect|connect): [Nn]etwork is unreachable"),
    }


def parse(document: Document) -> Iterable[Fact]:
    reader = Reader(document)
    patterns = _patterns()
    seen: dict[tuple[str | None, str, str], str] = {}
    told: set[tuple[str | None, str]] = set()
    bridges: dict[str, str] = {}
    cards: dict[str, tuple[int, str]] = {}
    for index in lines_with(document, (" dev ", "is unreachable", "0.0.0.0")):
        text = document.messages[index]
        if "is unreachable" in text and patterns["unreachable"].search(text):
            yield reader.host(index, "route.missing", True)
            continue
        got = patterns["get"].match(text)
        if got:
            yield reader.host(index, "route.device", got["dev"])
            yield reader.host(index, "route.pair", f"{got['src']} to {got['ip']}")
            if _BRIDGE.match(got["dev"]) and got["dev"] != "lo":
                yield reader.host(index, "route.through_bridge", f"{got['ip']} over {got['dev']}")
            continue
        default = patterns["default"].match(text)
        if default:
            yield reader.host(index, "route.network", f"0.0.0.0/0 dev {default['dev'] or default['last']}")
            continue
        route = patterns["network"].match(text)
        table = None if route else patterns["table"].match(text)
        if route:
            metric = re.search(r"\bmetric (\d+)", route["rest"])
            network, device, cost = route["net"], route["dev"], metric[1] if metric else "0"
            if "linkdown" in route["rest"]:
                continue
        elif table:
            network, device, cost = f"{table['net']}/{table['mask']}", table["dev"], table["metric"]
        else:
            continue
        if network.startswith("169.254."):
            continue
        yield reader.host(index, "route.network", f"{network} dev {device}")
        if _BRIDGE.match(device):
            bridges[network] = device
            continue
        cards.setdefault(network, (index, device))
        key = (reader.hosts[index], network, cost)
        other = seen.setdefault(key, device)
        if other != device and (key[0], network) not in told:
            told.add((key[0], network))
            yield reader.host(index, "route.duplicate", f"{network} over {other} and {device}")
    for network, (line, device) in cards.items():
        if network in bridges:
            yield reader.host(line, "route.duplicate", f"{network} over {bridges[network]} and {device}")
