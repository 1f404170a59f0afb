"""Network facts that follow from several others: rate against statement, the odd port, MTUs, subnets, wire share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from ipaddress import IPv4Interface

from assistant.facts import CaseFile, Fact, Origin, Subject

#: A port this much below the stated rate is not just a matter of rounding or encoding.
BELOW = 0.75
_VIRTUAL = re.compile(
    r"(?:^|/)(?:lo|docker|br-|virbr|veth|cni|flannel|cali|tunl|cilium|wg|tun|tap|tailscale|zt|vxlan|bond|ib)[\w.-]*$"
)


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    number = r"(?P<n>\d+(?:[.,]\d+)?)"
    unit = r"(?P<u>[MG]i?B(?:yte)?s?(?:/s(?:ec)?|ps)| ?megabytes? (?:per|a) second|[MG]b(?:it)?s?(?:/s(?:ec)?|ps)|[MG]bit\b)"
    seen = r"(?:on the wire|on the (?:nic|link|network|interface)|of traffic|traffic|nload|iftop|nethogs|bmon|dstat|sar|ifstat|network (?:usage|traffic|utili[sz]ation|throughput))"
    return {
        "after": re.compile(rf"{seen}\D{{0,40}}?{number} ?{unit}", re.IGNORECASE),
        "before": re.compile(
            rf"\b(?:only |just |about |around |at |see[ns]? )(?:\w+ ){{0,3}}?{number} ?(?:to|-|and|or)? ?(?P<m>\d+)? ?{unit}[^.]{{0,30}}{seen}",
            re.IGNORECASE,
        ),
    }


def derive(case: CaseFile) -> Iterable[Fact]:
    stated = _stated_gbps(case)
    yield from _below_stated(case, stated)
    yield from _odd_ports(case)
    yield from _mtus(case)
    yield from _below_max(case)
    yield from _same_subnet(case)
    yield from _shares(case, stated)
    yield from _spread(case)
    yield from _slow_link(case, stated)
    yield from _gid_index(case)
    yield from _route(case)


def _derived(source: Fact, key: str, value: str | float | bool, subject: Subject | None = None) -> Fact:
    origin = source.origin
    return Fact(
        key,
        value,
        origin.derived(),
        subject or Subject(),
    )


def _stated_gbps(case: CaseFile) -> float | None:
    """Rate of one link in Gbit/s as stated."""
    value = case.value("network_gbps")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    text = str(case.value("network") or "")
    found = re.search(r"(?P<n>\d+(?:\.\d+)?) ?-?g(?:b|\b)", text, re.IGNORECASE) or re.search(
        r"\b(?:hdr|ndr|edr|fdr|xdr)-(?P<n>\d+)\b", text, re.IGNORECASE
    )
    if found and "1gb/s" in text.lower().replace(" ", ""):
        return 1.0
    return float(found["n"]) if found else None


def _rates(case: CaseFile) -> list[Fact]:
    """Rates of ports that are up; a port that is down has no meaningful rate."""
    down = {f.subject.name for f in case.about("ib.state") if str(f.value) == "Down"}
    return [f for f in case.about("ib.rate_gbps") if isinstance(f.value, int | float) and f.subject.name not in down]


def _below_stated(case: CaseFile, stated: float | None) -> Iterator[Fact]:
    """Ports of an RDMA network that run below what the user says the network is; a slower management port is not meant."""
    if not stated or stated < 40:
        return
    rates = _rates(case)
    low = [f for f in rates if 0 < float(f.value) < BELOW * stated]
    kinds = {str(f.value) for f in case.about("ib.link_layer")}
    if low and len(low) < len(rates) * 0.75 and kinds >= {"InfiniBand", "Ethernet"}:
        return
    if low and not (len(low) < len(rates) and _is_front_end(low, rates)):
        shown = ", ".join(f"{f.subject.name} {float(f.value):g}" for f in low[:4])
        yield _derived(low[0], "net.port_below_stated", f"{shown} of {stated:g} Gbit/s", low[0].subject)


def _is_front_end(low: list[Fact], rates: list[Fact]) -> bool:
    """The same device is slow on every host: a card of another kind, not a fault."""
    hosts = {f.origin.host for f in rates}
    devices = Counter(f.subject.name.rsplit("/", 1)[-1] for f in low)
    return len(hosts) > 1 and all(n == len(hosts) for n in devices.values())


def _odd_ports(case: CaseFile) -> Iterator[Fact]:
    """One port that is down or slower while three or more of its kind are not."""
    for key in ("ib.rate_gbps", "ib.state", "ib.width"):
        facts = _rates(case) if key == "ib.rate_gbps" else [f for f in case.about(key) if f.subject.kind == "nic"]
        values = {f.subject.name: f for f in facts}
        counts = Counter(f.value for f in values.values())
        if len(values) < 3 or len(counts) != 2:
            continue
        (common, many), (rare, few) = counts.most_common(2)
        odd = [f for f in values.values() if f.value == rare]
        if few * 2 >= many or few > 2 or _is_front_end(odd, list(values.values())):
            continue
        worse = str(rare) != "Active" if key == "ib.state" else _size(rare) < _size(common)
        if worse:
            for fact in odd:
                yield _derived(
                    fact, "net.odd_port", f"{fact.subject.name}: {rare} where its peers have {common}", fact.subject
                )


def _size(value: object) -> float:
    found = re.match(r"[\d.]+", str(value))
    return float(found[0]) if found else 0.0


def _scope(fact: Fact) -> str:
    return fact.origin.host or fact.origin.file or ""


def _mtus(case: CaseFile) -> Iterator[Fact]:
    """The same interface, or the active MTU of ports of one link layer, differs between hosts."""
    layers = {f.subject.name: str(f.value) for f in case.about("ib.link_layer")}
    for key in ("nic.mtu", "ib.mtu"):
        groups: dict[str, dict[str, Fact]] = {}
        for fact in case.about(key):
            name = fact.subject.name.rsplit("/", 1)[-1]
            group = layers.get(fact.subject.name, "") if key == "ib.mtu" else name
            if key == "nic.mtu" and _VIRTUAL.search(name) and not name.startswith(("bond", "ib")):
                continue
            groups.setdefault(group, {})[f"{_scope(fact)} {name}"] = fact
        for found in groups.values():
            values = sorted({int(f.value) for f in found.values() if isinstance(f.value, int | float)})
            scopes = {_scope(f) for f in found.values()}
            if len(values) > 1 and len(scopes) > 1:
                counts = Counter(f.value for f in found.values())
                odd = min(found.values(), key=lambda f: (counts[f.value], _size(f.value)))
                shown = ", ".join(f"{name.strip()} {f.value}" for name, f in list(found.items())[:4])
                yield _derived(odd, "net.mtu_differs", shown, odd.subject)


def _below_max(case: CaseFile) -> Iterator[Fact]:
    fastest = {(f.subject.name, _scope(f)): f.value for f in case.about("nic.max_speed_gbps")}
    for fact in case.about("nic.speed_gbps"):
        top = fastest.get((fact.subject.name, _scope(fact)))
        if isinstance(top, int | float) and isinstance(fact.value, int | float) and 0 < fact.value < BELOW * float(top):
            value = f"{fact.subject.name}: {float(fact.value):g} of {float(top):g} Gbit/s"
            yield _derived(fact, "net.nic_below_max", value, fact.subject)


def _same_subnet(case: CaseFile) -> Iterator[Fact]:
    """Two interfaces of one host with addresses of one IPv4 network."""
    seen: dict[tuple[str, str], Fact] = {}
    told: set[str] = set()
    for fact in case.about("nic.address"):
        try:
            network = IPv4Interface(str(fact.value)).network
        except ValueError:
            continue
        name = fact.subject.name.rsplit("/", 1)[-1]
        if (
            network.prefixlen >= 31
            or network.is_loopback
            or network.is_link_local
            or (_VIRTUAL.search(name) and not name.startswith(("bond", "ib")))
        ):
            continue
        other = seen.setdefault((_scope(fact), str(network)), fact)
        if other.subject.name != fact.subject.name and _scope(fact) not in told:
            told.add(_scope(fact))
            host = fact.origin.host
            yield _derived(fact, "nic.same_subnet", True, Subject("host", host) if host else Subject())


def _shares(case: CaseFile, stated: float | None) -> Iterator[Fact]:
    iperf = case.best("net.iperf_gbps")
    if iperf and stated and isinstance(iperf.value, int | float):
        yield _derived(iperf, "net.iperf_share", round(float(iperf.value) / stated, 3))
    rdma = case.best("net.rdma_bw_gbps")
    ports = sorted(float(f.value) for f in _rates(case))
    rate = stated or (ports[len(ports) // 2] if ports else None)
    if rdma and rate and isinstance(rdma.value, int | float):
        yield _derived(rdma, "net.rdma_share", round(float(rdma.value) / rate, 3))
    observed = case.best("net.observed_gbps")
    if observed is None:
        observed = _observed(case)
        if observed is not None:
            yield observed
    if observed and stated and isinstance(observed.value, int | float) and case.best("net.wire_share") is None:
        yield Fact(
            "net.wire_share", round(float(observed.value) / stated, 3), Origin("derived", quote=observed.origin.quote)
        )


def _observed(case: CaseFile) -> Fact | None:
    """Traffic that the user saw while training, from their own words."""
    patterns = _patterns()
    for sentence in case.says:
        found = patterns["after"].search(sentence) or patterns["before"].search(sentence)
        if not found:
            continue
        number = found["m"] if "m" in found.re.groupindex and found["m"] else found["n"].replace(",", ".")
        unit = found["u"].strip()
        rate = float(number) * (1.0 if unit[0] in "Gg" else 1e-3)
        if re.match(r"[MGmg]i?B|mega", unit) and "bit" not in unit.lower():
            rate *= 8
        return Fact("net.observed_gbps", round(rate, 4), Origin("derived", quote=found[0][:200]))
    return None


def _spread(case: CaseFile) -> Iterator[Fact]:
    """Best over worst of the same measurement, taken several times."""
    for key in ("net.iperf_gbps", "net.rdma_bw_gbps"):
        facts = [
            f for f in case.about(key) if f.origin.kind == "tool" and isinstance(f.value, int | float) and f.value > 0
        ]
        if len(facts) > 1:
            low = min(facts, key=lambda f: _size(f.value))
            high = max(facts, key=lambda f: _size(f.value))
            yield _derived(low, "net.pair_spread", round(_size(high.value) / _size(low.value), 2))


def _slow_link(case: CaseFile, stated: float | None) -> Iterator[Fact]:
    """The rate of the path between hosts where anything tells it."""
    iperf = case.best("net.iperf_gbps")
    if iperf and isinstance(iperf.value, int | float):
        yield _derived(iperf, "net.slow_link_gbps", float(iperf.value))
        return
    speeds = [f for f in case.about("nic.speed_gbps") if isinstance(f.value, int | float) and f.value > 0]
    if speeds and not case.about("ib.rate_gbps"):
        fastest = max(speeds, key=lambda f: _size(f.value))
        yield _derived(fastest, "net.slow_link_gbps", float(fastest.value))
    elif stated:
        yield Fact("net.slow_link_gbps", stated, Origin("derived", quote=f"network={case.value('network')}"))


def _gid_index(case: CaseFile) -> Iterator[Fact]:
    """The GID index that is set against the one that carries the IPv4 address."""
    chosen = case.best("env.NCCL_IB_GID_INDEX")
    good = {f.value for f in case.about("gid.ipv4_index")}
    if chosen and good and re.fullmatch(r"\d+", str(chosen.value)) and int(chosen.value) not in good:
        rows = ", ".join(sorted(str(v) for v in good))
        yield _derived(chosen, "net.gid_index_wrong", f"{chosen.value} is set, {rows} is the row with IPv4")


def _route(case: CaseFile) -> Iterator[Fact]:
    """The interface of the route to a peer against the interfaces that the job was told to use."""
    wanted = {name for f in case.about("nccl.socket_ifnames") for name in str(f.value).split(",") if name}
    for fact in case.about("route.device"):
        device = str(fact.value)
        if wanted and device != "lo" and device not in wanted:
            yield _derived(fact, "net.route_not_chosen", f"{device} and not {', '.join(sorted(wanted))}", fact.subject)
            return
