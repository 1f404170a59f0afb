"""Whether NCCL meets over another network than the one by which the launcher reaches the hosts.

    10.1.0.4: n1:20:20 [0] NCCL INFO Bootstrap : Using sdp0:172.31.0.2<0>     the launcher calls the host 10.1.0.4
    MASTER_ADDR=10.1.0.4

The launcher's network carries connections between the hosts, as the job came so far; the other one may not.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, ip_address, ip_interface

from assistant.facts import JOB, CaseFile, Fact, Origin

ATTACHMENTS_ONLY = True

#: Without a prefix length of its own, addresses that agree in so many bits may be in one network.
USUAL_PREFIX = 16


def derive(case: CaseFile) -> Iterable[Fact]:
    used = [(f, a) for f in case.about("nccl.bootstrap_addr") if (a := _address(f.value))]
    if not used:
        return
    names = {f.subject.name for key in [*case.keys()] for f in case.about(key) if f.subject.kind == "host"}
    master = [f.value for key in ("launch.master_addr", "env.MASTER_ADDR") for f in case.about(key)]
    reached = sorted({a for name in (*names, *master) if (a := _address(name)) and not a.is_loopback})
    networks = _networks(case)
    if not reached or any(_together(a, b, networks) for a in reached for _, b in used):
        return
    fact, address = used[0]
    names_used = sorted({str(f.value) for f in case.about("nccl.bootstrap_ifname")})
    yield Fact(
        "nccl.bootstrap_elsewhere",
        f"{', '.join(names_used) or address} ({address}), while the hosts are reached as {reached[0]}",
        Origin("derived", file=fact.origin.file, line=fact.origin.line, host=fact.origin.host, quote=fact.origin.quote),
        JOB,
    )


def _address(value: object) -> IPv4Address | None:
    try:
        address = ip_address(str(value).split("/")[0])
    except ValueError:
        return None
    return address if isinstance(address, IPv4Address) else None


def _networks(case: CaseFile) -> list[IPv4Network]:
    """Networks of the hosts' interfaces; one of a single address is none."""
    found = []
    for fact in case.about("nic.address"):
        try:
            network = ip_interface(str(fact.value)).network
        except ValueError:
            continue
        if isinstance(network, IPv4Network) and network.prefixlen < 31:
            found.append(network)
    return found


def _together(a: IPv4Address, b: IPv4Address, networks: list[IPv4Network]) -> bool:
    if any(a in n and b in n for n in networks):
        return True
    return a in IPv4Network((b, USUAL_PREFIX), strict=False)
