"""What NCCL's facts tell together: RDMA there and unused, hosts that have nothing in common, settings that
cost something. Which host is the odd one of several is told by `n16_odd_ones`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from assistant.derive._alike import MOST
from assistant.derive._setup import fabric, several_nodes
from assistant.derive.n16_odd_ones import BY_HOST
from assistant.facts import JOB, CaseFile, Fact, Origin, Subject, Value
from knowledge.hardware_tables import find_host
from knowledge.settings_table import settings

_RDMA = re.compile(
    r"\b(?:infini-?band|ib-?(?:hdr|edr|ndr|fdr|xdr)|[hexn]dr\d*|roce\w*|efa|rdma|omni-?path|slingshot|connectx|cx-?[5-8]|mellanox)\b",
    re.IGNORECASE,
)
_DENIED = re.compile(r"\b(?:no|not|without|none|non)\b[^.,;]{0,20}\b(?:infini-?band|roce|efa|rdma)", re.IGNORECASE)
SOCKETS = ("socket", "fastsocket")
#: Settings that take RDMA out, which is right where there is none.
_RDMA_SETTINGS = ("NCCL_IB_DISABLE", "NCCL_NET", "NCCL_NET_PLUGIN", "NCCL_NET_GDR_LEVEL", "FI_PROVIDER")


def derive(case: CaseFile) -> Iterable[Fact]:
    yield from _rdma_unused(case)
    yield from _interfaces(case)
    yield from _versions(case)
    yield from _settings(case)
    yield from _transports(case)
    yield from _memory_setting(case)


def several_hosts(case: CaseFile) -> bool | None:
    """Whether the job spans hosts; None where nothing tells."""
    for key in ("nodes", "nccl.nnodes", "nccl_tests.nodes", "launch.nnodes"):
        value = case.value(key)
        if isinstance(value, int) and not isinstance(value, bool):
            if value > 1:
                return True
            if key in ("nodes", "nccl.nnodes"):
                return False
    if case.about("nccl.via_internode"):
        return True
    hosts = case.value("nccl.hosts_seen")
    return True if isinstance(hosts, int) and hosts > 1 else None


def _derived(key: str, value: Value, cause: Fact) -> Fact:
    origin = cause.origin
    return Fact(
        key,
        value,
        origin.derived(),
        cause.subject,
    )


def _rdma_unused(case: CaseFile) -> Iterator[Fact]:
    sockets = [f for f in case.about("nccl.net") if str(f.value).casefold() in SOCKETS]
    if not sockets:
        sockets = [f for f in case.about("nccl.via_internode") if str(f.value).casefold() in SOCKETS]
    if not sockets or several_hosts(case) is False:
        return
    for shown in _rdma_signs(case):
        yield Fact("nccl.rdma_unused", shown, _derived("", "", sockets[0]).origin, JOB)


def _rdma_signs(case: CaseFile) -> Iterator[str]:
    stated = case.best("network_rdma")
    network = str(case.value("network") or "")
    if (stated is not None and stated.value is True) or (
        stated is None and _RDMA.search(network) and not _DENIED.search(network)
    ):
        yield "stated"
    devices = case.value("ib.devices")
    if (isinstance(devices, int | float) and devices > 0) or any(
        str(f.value).casefold().endswith("active") for f in case.about("ib.state")
    ):
        yield "device"
    if any(f.value == "ipoib" for f in case.about("nccl.ifname_kind")):
        yield "ipoib"
    if case.about("env.NCCL_IB_HCA") or case.about("env.NCCL_IB_GID_INDEX"):
        yield "settings"
    for text in (network, *(str(f.value) for f in case.about("gpu")), *case.says):
        host = find_host(text)
        if host is not None and re.search(r"EFA|InfiniBand|RoCE", host.nic_kind):
            yield "instance"
            return


def _by_host(case: CaseFile, key: str) -> dict[str, set[str]]:
    """The values that each host shows."""
    found: dict[str, set[str]] = {}
    for value, places in case.spread(key).items():
        for host in places.hosts:
            found.setdefault(host, set()).add(str(value))
    return found


def _differ(by_host: dict[str, set[str]]) -> bool:
    """Whether hosts have nothing in common (one host with two values is two runs)."""
    return len(by_host) > 1 and not set.intersection(*by_host.values())


def _parted(key: str, value: Value, by_host: dict[str, set[str]], cause: Fact) -> Iterator[Fact]:
    """That hosts differ: about those that differ from most, or about the job where there is no such majority."""
    if not _differ(by_host):
        return
    origin = cause.origin
    counts = Counter(frozenset(values) for values in by_host.values())
    usual, most = counts.most_common(1)[0]
    odd = [host for host, values in sorted(by_host.items()) if values != usual]
    few = len(by_host) > 2 and most >= MOST * len(by_host)
    for host in odd[:8] if few else (None,):
        where = Origin("derived", origin.file, origin.line, host, None, origin.quote, origin.time)
        yield Fact(key, value, where, Subject("host", host) if host else JOB)


def _interfaces(case: CaseFile) -> Iterator[Fact]:
    facts = case.about("nccl.bootstrap_addr")
    by_host = {host: {_network_of(a) for a in found} for host, found in _by_host(case, "nccl.bootstrap_addr").items()}
    if facts:
        yield from _parted("nccl.ifname_differs", True, by_host, facts[-1])


def _network_of(address: str) -> str:
    """The /16 of an IPv4 address; for IPv6 its first group. Hosts of one cluster seldom differ in it."""
    parts = address.split(".")
    return ".".join(parts[:2]) if len(parts) == 4 else address.split(":")[0]


def _versions(case: CaseFile) -> Iterator[Fact]:
    measured = bool(case.about("nccl_tests.busbw_peak_gbs"))
    for key, name in (
        ("nccl_version", "NCCL"),
        ("nccl.driver_cuda", "NVIDIA driver"),
        ("nccl.plugin_version", "aws-ofi-nccl"),
    ):
        facts = [f for f in case.about(key) if f.origin.kind in ("log", "tool")]
        by_host = _by_host(case, key)
        for fact in facts if not measured else ():
            if fact.origin.kind == "tool" and fact.origin.file and fact.subject.kind != "host":
                by_host.setdefault(fact.origin.file, set()).add(str(fact.value))  # a file of each host, not named in it
        if facts and _differ(by_host):
            yield Fact("versions.differ", name, replace(_derived("", "", facts[-1]).origin, host=None, rank=None), JOB)


def _settings(case: CaseFile) -> Iterator[Fact]:
    known = settings()
    version = case.value("nccl_version")
    network = fabric(case)
    no_rdma = (network is not None and network.value == "tcp") or several_nodes(case) is False
    harmless = _RDMA_SETTINGS if no_rdma else ()
    if case.about("setup.consumer_gpu"):
        harmless = (*harmless, "NCCL_P2P_DISABLE")
    for key in sorted(k for k in [*case.keys()] if k.startswith("env.")):
        name = key[4:]
        setting = known.get(name)
        if setting is None:
            continue
        seen: set[str] = set()
        for fact in case.about(key):
            value = str(fact.value).strip().strip("\"'")
            if value in seen or "$" in value or not value:
                continue
            seen.add(value)
            if setting.flag(value) is not None and name not in harmless:
                yield _derived("nccl.env_harmful", f"{name}={value}", fact)
            elif not setting.is_valid(value):
                yield _derived("nccl.env_invalid", f"{name}={value}", fact)
            if setting.removed and version is not None and _numbers(str(version)) >= _numbers(setting.removed):
                yield _derived("nccl.env_obsolete", name, fact)
        if len(seen) > 1 and setting.match == "all" and name not in BY_HOST:
            yield from _parted("nccl.env_differs", name, _by_host(case, key), case.about(key)[-1])


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", text)[:3])


def _transports(case: CaseFile) -> Iterator[Fact]:
    """Hosts of one job that chose different networks, or of which only some load a plugin."""
    by_host = _by_host(case, "nccl.net")
    if not _differ(by_host):
        return
    last = case.about("nccl.net")[-1]
    shown = ", ".join(f"{host} {'/'.join(sorted(names))}" for host, names in sorted(by_host.items())[:6])
    yield from _parted("nccl.net_differs", shown, by_host, last)
    lower = {name.casefold() for names in by_host.values() for name in names}
    kind = "socket" if lower & set(SOCKETS) and lower - set(SOCKETS) else "plugin"
    yield from _parted("nccl.net_differs_kind", kind, by_host, last)


#: Settings that make NCCL take more memory or more connections, with the value from which that is far too much.
_GREEDY = {
    "NCCL_BUFFSIZE": 64 << 20,
    "NCCL_LL_BUFFSIZE": 64 << 20,
    "NCCL_LL128_BUFFSIZE": 64 << 20,
    "NCCL_MIN_NCHANNELS": 33,
    "NCCL_MIN_CTAS": 65,
    "NCCL_NCHANNELS_PER_NET_PEER": 33,
    "NCCL_IB_QPS_PER_CONNECTION": 33,
    "NCCL_P2P_NET_CHUNKSIZE": 64 << 20,
    "NCCL_SOCKET_NTHREADS": 17,
    "NCCL_NSOCKS_PERTHREAD": 33,
}


def _memory_setting(case: CaseFile) -> Iterator[Fact]:
    for name, most in _GREEDY.items():
        for fact in case.about(f"env.{name}"):
            value = str(fact.value).strip("\"' ")
            if value.isdecimal() and int(value) >= most:
                yield _derived("nccl.env_greedy", f"{name}={value}", fact)
                break
