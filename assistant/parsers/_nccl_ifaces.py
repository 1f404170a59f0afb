"""What an interface or address is, by its name and number. Facts only: whether it suits the job is for the rules."""

from __future__ import annotations

import ipaddress
import re
from functools import cache

#: (kind, pattern of the interface's name), the first that fits counts.
_KINDS = (
    ("loopback", r"lo\d*"),
    ("docker", r"docker\w*|podman\w*|cni-podman\w*|br-[0-9a-f]{12}"),
    (
        "virtual",
        r"veth\w*|cali\w+|flannel\S*|cni\d*|cilium\w*|lxc\w*|vnet\d+|tap\w*|dummy\d*|nodelocaldns|kube-\w+|weave\w*|antrea\S*|ovn\S*|genev\w*|vxlan\S*|tunl\d*|ip_vti\d*|sit\d+",
    ),
    ("bridge", r"virbr\d*\S*|br\d+|br-\S+|bridge\d*|vmbr\d+|lxdbr\d+|lxcbr\d+|xenbr\d+"),
    ("vpn", r"tun\d*|wg\d*|tailscale\d*|zt\w+|ppp\d+|utun\d+|nordlynx"),
    ("wireless", r"wl\w+|wifi\d*|ath\d+|wwan\w*"),
    ("management", r"idrac\w*|ilo\d*|bmc\d*|ipmi\d*|usb\d+|enx[0-9a-f]{12}|mgmt\w*|cdc\w*|tmfifo_net\d+"),
    ("ipoib", r"ib\d\S*|ibp\w+|ibs\w+|ipoib\w*"),
)


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((kind, re.compile(rf"(?:{pattern})(?:[@:.].*)?", re.IGNORECASE)) for kind, pattern in _KINDS)


def address_kind(address: str) -> str:
    """loopback, link-local, docker, private, public, or an empty text where it is no address."""
    bare = address.strip("[]").split("%")[0].split("<")[0]
    try:
        ip = ipaddress.ip_address(bare)
    except ValueError:
        return ""
    mapped = getattr(ip, "ipv4_mapped", None)
    if mapped is not None:
        ip = mapped
    if ip.is_loopback:
        return "loopback"
    if ip.is_link_local:
        return "link-local"
    if ip.version == 4 and ip in ipaddress.ip_network("172.17.0.0/16"):
        return "docker"
    return "private" if ip.is_private else "public"


def interface_kind(name: str, address: str = "") -> str:
    """The kind of an interface; the address helps where the name says nothing."""
    for kind, pattern in _patterns():
        if pattern.fullmatch(name):
            return kind
    kind = address_kind(address)
    if kind in ("loopback", "link-local", "docker"):
        return kind
    return "ethernet"
