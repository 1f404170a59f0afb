"""Network facts that need several tools at once: peers without a route, MTU inside and below, how full the wire is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from ipaddress import AddressValueError, IPv4Address, IPv4Network, NetmaskValueError

from assistant.facts import CaseFile, Fact, Subject

#: Rates of links in Gbit/s; traffic just below one of them fills such a link.
_STANDARD = (1.0, 2.5, 5.0, 10.0, 25.0)
_NEAR = 0.88
_PEER = re.compile(r"[Cc]onnect(?:ion)? to \[?(?P<ip>\d+\.\d+\.\d+\.\d+)\b")


def derive(case: CaseFile) -> Iterable[Fact]:
    yield from _unrouted(case)
    yield from _changed_mtu(case)
    yield from _inside(case)
    yield from _small_mtu(case)
    yield from _full(case)
    yield from _asymmetric(case)


def _derived(source: Fact, key: str, value: str | float, subject: Subject | None = None) -> Fact:
    o = source.origin
    return Fact(key, value, o.derived(), subject or Subject())


def _networks(case: CaseFile) -> list[IPv4Network]:
    out = []
    for fact in case.about("route.network"):
        try:
            out.append(IPv4Network(str(fact.value).split()[0], strict=False))
        except (AddressValueError, NetmaskValueError, ValueError):
            continue
    return out


def _unrouted(case: CaseFile) -> Iterator[Fact]:
    """The address of a failed connection against the routing table that was shown, where it has no default route."""
    networks = _networks(case)
    if not networks:
        return
    for fact in [*case.about("nccl.warn_first"), *case.about("nccl.connect_error")]:
        found = _PEER.search(str(fact.value)) or _PEER.search(fact.origin.quote or "")
        if not found or "nreachable" not in (str(fact.value) + (fact.origin.quote or "")):
            continue
        peer = IPv4Address(found["ip"])
        if not any(peer in network for network in networks):
            yield _derived(fact, "net.peer_not_routed", str(peer))
            return


def _changed_mtu(case: CaseFile) -> Iterator[Fact]:
    """The same port of what must be two hosts in one file: the listing shows it twice, with different MTUs."""
    if case.about("net.mtu_differs"):
        return
    for key in ("nic.mtu", "ib.mtu"):
        seen: dict[tuple[str | None, str], Fact] = {}
        for fact in case.about(key):
            if fact.subject.name.startswith("container "):
                continue
            other = seen.setdefault((fact.origin.file, fact.subject.name), fact)
            if other.value != fact.value and other.origin.line != fact.origin.line:
                yield _derived(
                    fact, "net.mtu_differs", f"{fact.subject.name} {other.value} and {fact.value}", fact.subject
                )
                return


def _inside(case: CaseFile) -> Iterator[Fact]:
    facts = [f for f in case.about("nic.mtu") if isinstance(f.value, int)]
    inner = [f for f in facts if f.subject.name.rsplit("/", 1)[-1].startswith("container ")]
    below = [f for f in facts if f not in inner and f.subject.name.rsplit("/", 1)[-1] != "lo"]
    if inner and below:
        large, small = max(inner, key=lambda f: int(f.value)), min(below, key=lambda f: int(f.value))
        if int(large.value) > int(small.value):
            value = f"{large.value} in the container, {small.value} on {small.subject.name}"
            yield _derived(large, "net.mtu_too_large_inside", value)


def _small_mtu(case: CaseFile) -> Iterator[Fact]:
    """InfiniBand runs at the MTU of its partition; 2048 and 4096 are usual, less costs bandwidth."""
    layers = {f.subject.name: str(f.value) for f in case.about("ib.link_layer")}
    largest = {f.subject.name: f.value for f in case.about("ib.max_mtu")}
    for fact in case.about("ib.mtu"):
        name = fact.subject.name
        top = largest.get(name)
        if layers.get(name) == "InfiniBand" and isinstance(fact.value, int) and fact.value <= 1024 and top == 4096:
            yield _derived(fact, "net.mtu_below_max", f"{name}: {fact.value} of {top}", fact.subject)


def _full(case: CaseFile) -> Iterator[Fact]:
    """The share of the wire that a meter showed, from its own figure or from the link's speed."""
    if case.best("net.wire_share") is not None or case.about("ib.rate_gbps"):
        return
    share = case.best("nic.traffic_share")
    if share is not None:
        yield _derived(share, "net.wire_share", float(share.value))
        return
    speeds = {f.subject.name: float(f.value) for f in case.about("nic.speed_gbps") if isinstance(f.value, int | float)}
    for fact in case.about("nic.traffic_gbps"):
        speed = speeds.get(fact.subject.name)
        if speed and isinstance(fact.value, int | float):
            yield _derived(fact, "net.wire_share", round(float(fact.value) / speed, 3))
            return
    for fact in case.about("nic.traffic_gbps"):
        for rate in _STANDARD:
            if isinstance(fact.value, int | float) and _NEAR * rate <= fact.value <= rate:
                yield _derived(fact, "net.wire_share", round(float(fact.value) / rate, 3))
                yield _derived(fact, "net.slow_link_gbps", rate)
                return


def _asymmetric(case: CaseFile) -> Iterator[Fact]:
    """Two hosts ask for the route to each other, and one answers from another address than the peer knows it by."""
    pairs = [(f, str(f.value).partition(" to ")) for f in case.about("route.pair")]
    for fact, (source, _, target) in pairs:
        for other, (back_source, _, back_target) in pairs:
            if other is not fact and back_target == source and back_source != target:
                yield _derived(
                    other, "net.asymmetric_route", f"{source} asks {target}, which answers from {back_source}"
                )
                return
