"""NCCL's debug log: version, interfaces, HCAs, chosen network, plugins, settings and the first warning.

    gpu-a07:184233:184310 [3] NCCL INFO NCCL version 2.27.5+cuda12.9
    gpu-a07:184233:184310 [3] NCCL INFO Bootstrap: Using eth0:10.20.3.7<0>
    gpu-a07:184233:184310 [3] NCCL INFO NCCL_IB_HCA set to mlx5_0,mlx5_1
    gpu-a07:184233:184310 [3] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.20.3.7<0>
    gpu-a07:184233:184310 [3] NCCL INFO Using network IB

Lines of all versions from 2.3 on are read. Channels and topology are read by `nccl_channels`, the life of communicators
by `nccl_init`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import cache

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._nccl_ifaces import address_kind, interface_kind
from assistant.parsers._nccl_lines import Collected, NcclLine, host_subject, nccl_lines

NAME = "NCCL log"
TRIGGERS = ("NCCL INFO", "NCCL WARN", "NCCL version ", "] INFO ", "Failed to open libibverbs")
VERSIONS = "NCCL 2.3 to 2.29, RCCL 2.7 and later, with INFO and WARN"
LINES = (
    "NCCL version ",
    "cudaDriverVersion ",
    " set by ",
    "_IFNAME set to",
    "_HCA set to",
    " set to ",
    "Bootstrap",
    "Using interface",
    "NET/Socket : Using [",
    "NET/FastSocket : Using [",
    "threads and",
    "Mbps",
    "Using network ",
    "ernal Network ",
    "NET/IB : ",
    "No device found",
    "provider=",
    "libibverbs.so",
    "lugin",
    "NET/OFI",
    "aws-ofi-nccl",
    "onnect returned",
    "onnect to ",
    "onnection to ",
    "ompletion ",
)

Speeds = dict[str | None, dict[str, tuple[int, int]]]
"""Of each host the Mbit/s of its HCAs, and the line."""

_QUIET_WARNINGS = ("Failed to open libibverbs", "No plugin found", "Could not find", "MSCCL", 'Missing "iommu=pt"')


@cache
def _re(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def parse(document: Document) -> Iterable[Fact]:
    out = Collected(document)
    networks: dict[str | None, tuple[str, int]] = {}
    chosen: set[str | None] = set()
    speeds: Speeds = {}
    first_warning: tuple[float, int, str] | None = None
    for line in _with_hosts(list(nccl_lines(document))):
        if line.level == "WARN" and line.text and not line.text.startswith(_QUIET_WARNINGS):
            time = document.line(line.index).time
            mark = (time if time is not None else float("inf"), line.index, line.text)
            if first_warning is None or mark < first_warning:
                first_warning = mark
        _versions(line, out)
        _settings(line, out)
        _bootstrap(line, out)
        _plugins(line, out)
        _failures(line, out)
        found = _network(line, out, speeds)
        if found:
            name, is_choice = found
            if is_choice:
                chosen.add(line.host)
                out.add("nccl.net", name, line.index, host_subject(line.host))
            elif name == "IB" or line.host not in networks:
                networks[line.host] = (name, line.index)
    for host, (name, index) in networks.items():
        if host not in chosen:
            out.add("nccl.net", name, index, host_subject(host))
    _speeds(speeds, out)
    if first_warning is not None:
        out.add("nccl.warn_first", first_warning[2][:200], first_warning[1])
    return out.facts()


def _with_hosts(lines: list[NcclLine]) -> list[NcclLine]:
    """Bare version lines have no host; where the text is of one host only, it is theirs."""
    hosts = {line.host for line in lines if line.host}
    if len(hosts) != 1:
        return lines
    only = hosts.pop()
    return [replace(line, host=only) if line.level == "BARE" else line for line in lines]


def _versions(line: NcclLine, out: Collected) -> None:
    if "NCCL version" in line.text or line.level == "BARE":
        found = _re(r"NCCL version (?P<nccl>\d+\.\d+\.\d+[\w.-]*?)(?:\+cuda(?P<cuda>\d+\.\d+)|\+hip\S*|\s|$)").search(
            line.text
        )
        if found:
            out.add("nccl_version", found["nccl"], line.index, host_subject(line.host))
            if found["cuda"]:
                out.add("cuda_version", found["cuda"], line.index, host_subject(line.host))
    elif "cudaDriverVersion" in line.text:
        found = _re(r"cudaDriverVersion (\d{4,5})\b").search(line.text)
        if found:
            number = int(found[1])
            out.add("nccl.driver_cuda", f"{number // 1000}.{number % 1000 // 10}", line.index, host_subject(line.host))


def _settings(line: NcclLine, out: Collected) -> None:
    if " set " not in line.text:
        return
    found = _re(r"\b(?P<name>(?:NCCL|RCCL|OFI_NCCL)_\w+) set (?:(?:by|from) environment )?to (?P<value>.+)$").search(
        line.text
    )
    if found:
        value = found["value"].strip()
        if _re(r"-?\d+\.").fullmatch(value):
            value = value[:-1]
        out.add(f"env.{found['name']}", value, line.index, host_subject(line.host))
        return
    found = _re(r"Plugin name set by env to (\S+)").search(line.text)
    if found:
        out.add("env.NCCL_NET_PLUGIN", found[1], line.index, host_subject(line.host))


def _bootstrap(line: NcclLine, out: Collected) -> None:
    text, host = line.text, host_subject(line.host)
    if "Bootstrap" in text or "Using interface" in text:
        found = _re(
            r"(?:Bootstrap ?: Using ?(?:\[0\])?|NET(?:/\w+)? ?: Using interface )(?P<name>[\w.@-]+)(?::(?P<address>\S+?)<\d+>)?"
        ).search(text)
        if found and not _re(r"Bootstrap: Using [\w-]+:\d+\s*$").search(text):
            address = (found["address"] or "").strip("[]")
            out.add("nccl.bootstrap_ifname", found["name"], line.index, host)
            if address:
                out.add("nccl.bootstrap_addr", address, line.index, host)
            out.add("nccl.ifname_kind", interface_kind(found["name"], address), line.index, host)
    if "NET/Socket : Using [" in text or "NET/FastSocket : Using [" in text or "Bootstrap : Using [" in text:
        items = _re(r"\[\d+\]([\w.@-]+):(\S+?)<\d+>").findall(text)
        if items and "Bootstrap" not in text:
            out.add("nccl.socket_ifnames", ",".join(name for name, _ in items), line.index, host)
            out.add("nccl.socket_count", len(items), line.index, host)
        for name, address in items:
            out.add("nccl.ifname_kind", interface_kind(name, address), line.index, host)
    elif "threads and" in text:
        found = _re(r"NET/Socket: Using (\d+) threads and (\d+) sockets per thread").search(text)
        if found:
            out.add("nccl.socket_streams", int(found[1]) * int(found[2]), line.index)
    elif "Mbps" in text:
        found = _re(r"(?:Found network interface \S+ with speed|speed change detected: \d+ ->) (\d+) Mbps").search(text)
        if found:
            out.add("nccl.nic_bw_mbps", int(found[1]), line.index, host)


def _speeds(found: Speeds, out: Collected) -> None:
    """The speeds of a host's HCAs in one text, so that hosts can be compared."""
    for host, hcas in found.items():
        counts = Counter(mbps for mbps, _ in hcas.values())
        most = max(counts, key=lambda mbps: (counts[mbps], mbps))
        others = sorted((name, mbps) for name, (mbps, _) in hcas.items() if mbps != most)
        shown = [f"{counts[most]} x {most / 1000:g} Gbit/s", *(f"{name} {mbps / 1000:g}" for name, mbps in others[:8])]
        out.add("nccl.hca_speeds", ", ".join(shown), next(iter(hcas.values()))[1], host_subject(host))


def _network(line: NcclLine, out: Collected, speeds: Speeds) -> tuple[str, bool] | None:
    """The network that the line names, and whether the line is NCCL's choice itself."""
    text, host = line.text, host_subject(line.host)
    if text.startswith("Using network "):
        return _re(r"\s*\[repeated \d+x.*").sub("", text[len("Using network ") :]).strip(), True
    if "Network " in text:
        found = _re(r"Using (?:external|internal) Network (\S+)").search(text)
        if found:
            return found[1], True
    if "NET/IB" in text:
        items = _re(r"\[\d+\] ?([A-Za-z][\w.-]*):(\d+)(?::\d*)*/(IB|RoCE)\b").findall(text)
        if items and ("Using" in text or (len(items) == 1 and "provider=" not in text)):
            hcas = list(dict.fromkeys(f"{name}:{port}" for name, port, _ in items))
            if "Using" in text:
                out.add("nccl.hcas", ",".join(hcas), line.index, host)
                out.add("nccl.hca_count", len(hcas), line.index, host)
            out.add("nccl.hca_link", items[0][2], line.index, host)
            return "IB", False
        if "No device found" in text:
            out.add("nccl.no_ib_device", True, line.index, host)
        found = _re(r"NET/IB ?: \[\d+\] ?(\w[\w.-]*):.*provider=\S+ speed=(\d+)").search(text)
        if found:
            out.add("nccl.nic_bw_mbps", int(found[2]), line.index, host)
            speeds.setdefault(line.host, {})[found[1]] = (int(found[2]), line.index)
    elif "libibverbs.so" in text and _re(r"(?:Failed to|Count not) open libibverbs").search(text):
        out.add("nccl.ibverbs_missing", True, line.index, host)
    elif "NET/Socket : Using [" in text or _re(r"NET/Socket : \d+ interfaces found").search(text):
        return "Socket", False
    return None


def _plugins(line: NcclLine, out: Collected) -> None:
    text, host = line.text, host_subject(line.host)
    if "lugin" not in text and "NET/OFI" not in text and "aws-ofi-nccl" not in text:
        return
    found = _re(
        r"NET/Plugin: [Ll]oaded net plugin (.+?) \(v\d+\)|Successfully loaded external network plugin (\S+)"
    ).search(text)
    if found:
        out.add("nccl.plugin", found[1] or found[2], line.index, host)
        return
    found = _re(r"NET/OFI (?:Initializing|Using) aws-ofi-nccl ([\d.]+\w*)").search(text)
    if found:
        out.add("nccl.plugin", "aws-ofi-nccl", line.index, host)
        out.add("nccl.plugin_version", found[1], line.index, host)
        return
    found = _re(r"NET/OFI Selected [Pp]rovider is (\w[\w;-]*)").search(text)
    if found:
        out.add("nccl.ofi_provider", found[1], line.index, host)
        return
    if _re(r"NET/Plugin ?:.*(?:No plugin found|Could not find:)|NCCL_NET_PLUGIN=none").search(text):
        out.add("nccl.plugin", "none", line.index, host)
    if _re(
        r"aws-ofi-nccl initialization failed|External network plugin \S+ is unsupported"
        r"|Failed to initialize NET plugin (?!IB\b|Socket\b)\S+"
        r"|(?:NET/)?Plugin.*(?:undefined symbol|version `\S+' not found|wrong ELF class)"
        r"|(?:NET/)?Plugin.*\blib(?!nccl)[\w-]+\.so[\w.]*: cannot open shared object"
    ).search(text):
        out.add("nccl.plugin_failed", True, line.index, host)


def _failures(line: NcclLine, out: Collected) -> None:
    text = line.text
    if "onnect" in text:
        found = _re(
            r"[Cc]onnect(?:ion)?(?: to (?P<peer>\S+?))? (?:returned|failed ?:) ?"
            r"(?P<error>(?:Connection|No route|Network|Host|Operation|Software|Cannot|Invalid)[a-z ]*)"
        ).search(text)
        if found:
            out.add("nccl.connect_error", found["error"].strip(), line.index)
            kind = address_kind(found["peer"] or "")
            if kind:
                out.add("nccl.connect_peer_kind", kind, line.index)
    elif "ompletion" in text and "NET/IB" in text:
        found = _re(r"(?:status=(?:IBV_WC_\w+\()?|with (?:error|status) )(\d+)").search(text)
        if found:
            out.add("nccl.wc_status", found[1], line.index)
            peer = _re(r"from peer \[?([\w.:]+?)\]?<\d+>").search(text)
            if peer and found[1] in ("12", "13"):
                out.add("nccl.wc_peer", peer[1], line.index, host_subject(line.host))
            hca = _re(r"\bhca (\S+)").search(text)
            if hca and found[1] != "5":
                out.add("nccl.wc_hca", hca[1], line.index, host_subject(line.host))
