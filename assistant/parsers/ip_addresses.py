r"""Interfaces with state, MTU and addresses, from ip address, ip link, ip -br address and ifconfig.

2: eno1: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP group default qlen 1000
    inet 10.20.3.12/20 brd 10.20.15.255 scope global dynamic eno1

eno1: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 1500
        inet 10.20.3.12  netmask 255.255.240.0  broadcast 10.20.15.255
        RX errors 0  dropped 2198 overruns 0  frame 0

eno1             UP             10.20.3.12/20 fe80::1/64
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from ipaddress import AddressValueError, IPv4Interface, NetmaskValueError

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._net import Reader

NAME = "ip address"
TRIGGERS = (
    "> mtu ",
    ">  mtu ",
    "inet ",
    "inet addr:",
    "HWaddr",
    " UP ",
    "LOWER_UP",
    "UP             ",
    "mtu ",
    "Iface ",
)
VERSIONS = "ip addr and ip link of iproute2 3 to 6, ifconfig of net-tools, old and new layout"

_VIRTUAL = re.compile(
    r"^(?:lo\d*$|docker|veth|br-|virbr|cni|flannel|cali|tunl|cilium|lxc|vnet|dummy|kube-|nodelocaldns|ovs-)"
)


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "head": re.compile(
            r"^(?:\d+: )?(?P<dev>[A-Za-z][\w.-]*)(?:@[\w.-]+)?: (?:flags=\d+)?<(?P<flags>[\w,-]*)>\s+mtu (?P<mtu>\d+)(?P<rest>.*)$"
        ),
        "alone": re.compile(r"^(?P<dev>[a-z][\w.-]*)?\s*mtu:? (?P<mtu>\d{3,5})$"),
        "table": re.compile(r"^(?P<dev>[a-z][\w.-]*)\s+(?P<mtu>\d{3,5})(?:\s+\d+){8}\s+[A-Z]+$"),
        "old": re.compile(r"^(?P<dev>[a-z][\w.:-]*)\s+Link encap:"),
        "old_mtu": re.compile(r"^\s+(?P<flags>[A-Z ]*)\s+MTU:(?P<mtu>\d+)"),
        "inet": re.compile(
            r"^\s+inet (?:addr:)?(?P<ip>\d+\.\d+\.\d+\.\d+)(?:/(?P<bits>\d+))?(?:.*?(?:netmask |Mask:)(?P<mask>\S+))?"
        ),
        "inet6": re.compile(r"^\s+inet6 (?:addr:\s*)?(?P<ip>[0-9a-f:]+)/?\d*.*?(?:scope |Scope:)(?P<scope>\w+)"),
        "brief": re.compile(
            r"^(?P<dev>[a-z][\w.-]*)(?:@\S+)?\s+(?P<state>UP|DOWN|UNKNOWN)\s+(?P<addresses>[0-9a-f].*)?$"
        ),
        "errors": re.compile(r"^\s+[RT]X errors (?P<errors>\d+)\s+dropped (?P<dropped>\d+)"),
    }


def parse(document: Document) -> Iterable[Fact]:
    reader = Reader(document)
    patterns = _patterns()
    device = ""
    four: set[tuple[str | None, str]] = set()
    six: dict[tuple[str | None, str], int] = {}
    for index, text in enumerate(document.messages):
        head = (
            patterns["head"].match(text)
            if "mtu" in text
            else patterns["old"].match(text)
            if "Link encap" in text
            else None
        )
        if head:
            device = head["dev"]
            if not _VIRTUAL.match(device) and "mtu" in head.re.groupindex:
                yield from _head(reader, index, device, head)
            continue
        alone = patterns["alone"].match(text) if "mtu" in text else None
        table = patterns["table"].match(text) if text[-1:].isupper() else None
        plain = alone or table
        if plain and not _VIRTUAL.match(plain["dev"] or "interface"):
            yield reader.nic(index, "nic.mtu", int(plain["mtu"]), plain["dev"] or "interface")
            continue
        brief = patterns["brief"].match(text) if " UP " in text or " DOWN" in text or " UNKNOWN" in text else None
        if brief and not _VIRTUAL.match(brief["dev"]):
            yield from _brief(reader, index, brief)
            continue
        if not device or not text[:1].isspace() or _VIRTUAL.match(device):
            continue
        key = (reader.hosts[index], device)
        inet = patterns["inet"].match(text)
        if inet:
            four.add(key)
            address = _address(inet)
            if address:
                yield reader.nic(index, "nic.address", address, device)
            continue
        inet6 = patterns["inet6"].match(text)
        if inet6 and inet6["scope"].lower() == "global":
            six.setdefault(key, index)
        old = patterns["old_mtu"].match(text)
        if old:
            yield reader.nic(index, "nic.mtu", int(old["mtu"]), device)
        errors = patterns["errors"].match(text)
        if errors and int(errors["errors"]) > 100:
            yield reader.nic(index, "nic.error_counter", "errors", device, int(errors["errors"]))
        if errors and int(errors["dropped"]) > 1000:
            yield reader.nic(index, "nic.drops", int(errors["dropped"]), device)
    for key, line in six.items():
        if key not in four:
            yield reader.nic(line, "nic.ipv6_only", True, key[1])


def _head(reader: Reader, index: int, device: str, head: re.Match[str]) -> Iterator[Fact]:
    yield reader.nic(index, "nic.mtu", int(head["mtu"]), device)
    flags = head["flags"].split(",")
    if "NO-CARRIER" in flags:
        yield reader.nic(index, "nic.link", False, device)
    elif "LOWER_UP" in flags or "RUNNING" in flags:
        yield reader.nic(index, "nic.link", True, device)


def _brief(reader: Reader, index: int, found: re.Match[str]) -> Iterator[Fact]:
    yield reader.nic(index, "nic.link", found["state"] != "DOWN", found["dev"])
    for word in (found["addresses"] or "").split():
        if re.fullmatch(r"\d+\.\d+\.\d+\.\d+/\d+", word):
            yield reader.nic(index, "nic.address", word, found["dev"])


def _address(found: re.Match[str]) -> str | None:
    try:
        return str(IPv4Interface(f"{found['ip']}/{found['bits'] or found['mask'] or 32}"))
    except (AddressValueError, NetmaskValueError, ValueError):
        return None
