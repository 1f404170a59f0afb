"""What NCCL's facts tell together: RDMA there and unused, hosts that differ, settings that cost something."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from assistant.derive._setup import fabric, several_nodes
from assistant.facts import JOB, CaseFile, Fact, Origin, Value
from knowledge.hardware_tables import find_host
from knowledge.settings_table import settings

_RDMA = re.compile(
    r"\b(?:infini-?band|ib-?(?:hdr|edr|ndr|fdr|xdr)|[hexn]dr\d*|roce\w*|efa|rdma|omni-?path|slingshot|connectx|cx-?[5-8]|mellanox)\b",
    re.IGNORECASE,
)
_DENIED = re.compile(r"\b(?:no|not|without|none|non)\b[^.,;]{0,20}\b(?:infini-?band|roce|efa|rdma)", re.IGNORECASE)
SOCKETS = ("socket", "fastsocket")
#: Settings that name what differs between hosts by nature (device and interface names), so that a difference is no fault.
_BY_HOST = (
    "NCCL_SOCKET_IFNAME",
    "NCCL_IB_HCA",
    "GLOO_SOCKET_IFNAME",
    "NCCL_DEBUG_FILE",
    "NCCL_TOPO_FILE",
    "NCCL_HOSTID",
    "NCCL_CONF_FILE",
)


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
        Origin("derived", origin.file, origin.line, origin.host, origin.rank, origin.quote, origin.time),
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


def _interfaces(case: CaseFile) -> Iterator[Fact]:
    by_host: dict[str, set[str]] = {}
    facts = [f for f in case.about("nccl.bootstrap_addr") if f.subject.kind == "host"]
    for fact in facts:
        by_host.setdefault(fact.subject.name, set()).add(_network_of(str(fact.value)))
    if len(by_host) < 2:
        return
    common = set.intersection(*by_host.values())
    kinds = {f.subject.name: f.value for f in case.about("nccl.ifname_kind") if f.subject.kind == "host"}
    if not common and (len(set(kinds.values())) > 1 or len(set.union(*by_host.values())) > 1):
        yield _derived("nccl.ifname_differs", True, facts[-1])


def _network_of(address: str) -> str:
    """The /16 of an IPv4 address; for IPv6 its first group. Hosts of one cluster seldom differ in it."""
    parts = address.split(".")
    return ".".join(parts[:2]) if len(parts) == 4 else address.split(":")[0]


def _versions(case: CaseFile) -> Iterator[Fact]:
    for key, name in (
        ("nccl_version", "NCCL"),
        ("nccl.driver_cuda", "NVIDIA driver"),
        ("nccl.plugin_version", "aws-ofi-nccl"),
    ):
        by_host: dict[str, set[str]] = {}
        facts = [f for f in case.about(key) if f.origin.kind in ("log", "tool")]
        measured = bool(case.about("nccl_tests.busbw_peak_gbs"))
        for fact in facts:
            if fact.subject.kind == "host":
                by_host.setdefault(fact.subject.name, set()).add(str(fact.value))
            elif (
                fact.origin.kind == "tool" and fact.origin.file and not measured
            ):  # one file of each host, not named in it
                by_host.setdefault(fact.origin.file, set()).add(str(fact.value))
        if len(by_host) > 1 and not set.intersection(*by_host.values()):
            yield Fact("versions.differ", name, _derived("", "", facts[-1]).origin, JOB)


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
        if len(seen) > 1 and setting.match == "all" and name not in _BY_HOST and _two_places(case.about(key)):
            yield _derived("nccl.env_differs", name, case.about(key)[-1])


def _two_places(facts: list[Fact]) -> bool:
    """Whether different hosts have different values (one host with two values is two runs)."""
    by_host: dict[str, set[str]] = {}
    for fact in facts:
        if fact.subject.kind == "host":
            by_host.setdefault(fact.subject.name, set()).add(str(fact.value))
    return len(by_host) > 1 and not set.intersection(*by_host.values())


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", text)[:3])


def _transports(case: CaseFile) -> Iterator[Fact]:
    """Hosts of one job that chose different networks, or of which only some load a plugin."""
    by_host: dict[str, set[str]] = {}
    facts = [f for f in case.about("nccl.net") if f.subject.kind == "host"]
    for fact in facts:
        by_host.setdefault(fact.subject.name, set()).add(str(fact.value))
    if len(by_host) > 1 and not set.intersection(*by_host.values()):
        shown = ", ".join(f"{host} {'/'.join(sorted(names))}" for host, names in sorted(by_host.items())[:6])
        yield Fact("nccl.net_differs", shown, _derived("", "", facts[-1]).origin, JOB)
        lower = {name.casefold() for names in by_host.values() for name in names}
        if lower & set(SOCKETS) and lower - set(SOCKETS):
            yield Fact("nccl.net_differs_kind", "socket", _derived("", "", facts[-1]).origin, JOB)
        else:
            yield Fact("nccl.net_differs_kind", "plugin", _derived("", "", facts[-1]).origin, JOB)


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
