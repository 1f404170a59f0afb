"""Channels, transports, GPUDirect and topology in NCCL's log.

gpu-a07:184233:184310 [3] NCCL INFO Channel 00/0 : 3[3] -> 4[4] via P2P/CUMEM/read
gpu-a07:184233:184310 [3] NCCL INFO Channel 00/0 : 3[3] -> 11[3] [send] via NET/IB/2/GDRDMA
gpu-a07:184233:184310 [3] NCCL INFO 24 coll channels, 0 collnet channels, 16 nvls channels, 32 p2p channels, 4 p2p channels per peer
gpu-a07:184233:184310 [3] NCCL INFO Connected all rings, use ring PXN 0 GDR 1
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._nccl_lines import Collected, NcclLine, host_subject, nccl_lines
from assistant.parsers._nccl_pairs import Pairs, net_name

NAME = "NCCL channels"
TRIGGERS = ("NCCL INFO", "INFO Ring ", "INFO Channel ")
VERSIONS = "NCCL 2.4 to 2.28, RCCL 2.7 and later: channels, rings, trees, connections"
LINES = (
    "INFO Channel ",
    "INFO Ring ",
    " coll channels",
    "Pattern 4",
    "Check P2P",
    "P2P is disabled",
    "NVLS multicast",
    "Loading topology",
    "DMA-BUF",
    "GPU Direct RDMA",
    "use ring PXN",
)


@cache
def _re(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


@dataclass(slots=True)
class _Seen:
    """What several lines tell only together."""

    rank_host: dict[str, str | None] = field(default_factory=dict)
    addresses: dict[str | None, set[str]] = field(default_factory=dict)
    net_links: list[tuple[str, str, str, bool, int]] = field(default_factory=list)
    gpus: dict[str, dict[str, str]] = field(default_factory=dict)
    """Of each host the CUDA device of every process, as its own numbering has it."""
    gdr_ends: list[tuple[str, bool, int]] = field(default_factory=list)
    """Host, whether with GPUDirect, and line of every end of an RDMA channel."""
    devices: dict[str | None, set[str]] = field(default_factory=dict)
    users: dict[str | None, set[str]] = field(default_factory=dict)
    """Ranks of a host whose own network links are logged; one rank's log tells nothing of the other adapters."""
    distance: dict[tuple[str | None, str], list[bool]] = field(default_factory=dict)
    distance_line: int = 0
    channel_line: int = 0
    ring_gdr: tuple[bool, int] | None = None
    pairs: Pairs = field(default_factory=Pairs)


def parse(document: Document) -> Iterable[Fact]:
    out = Collected(document)
    seen = _Seen()
    for line in nccl_lines(document):
        text = line.text
        if " via " in text:
            _channel(line, out, seen)
        elif "GPU Direct RDMA" in text or "DMA-BUF" in text or "GDR " in text:
            _gdr(line, out, seen)
        elif "Bootstrap" in text:
            found = _re(r"Using ?(?:\[0\])?[\w.@-]+:(\S+?)<").search(text)
            if found:
                seen.addresses.setdefault(line.host, set()).add(found[1])
        else:
            _topology(line, out)
    _links(out, seen)
    return [*out.facts(), *seen.pairs.facts(document, seen.rank_host)]


def _channel(line: NcclLine, out: Collected, seen: _Seen) -> None:
    found = _re(
        r"(?:Channel|Ring) \d+(?:/\d+)? : (?P<src>\d+)(?:\[[0-9a-f]+\])? -> (?P<dst>\d+)(?:\[[0-9a-f]+\])?"
        r"(?: \[(?P<dir>send|receive)\])? via (?P<how>.+?)\s*$"
    ).search(line.text)
    if not found:
        return
    how = found["how"]
    seen.pairs.add(found["src"], found["dst"], how, line.index, received=found["dir"] == "receive")
    if line.host and line.pid:
        seen.gpus.setdefault(line.host, {})[line.pid] = line.device
        seen.channel_line = seen.channel_line or line.index
    net = _re(r"NET/(?P<net>[\w .-]+?)/(?P<dev>\d+)(?:\(\d+\))?(?P<gdr>/GDRDMA)?").match(how)
    if net:
        name, gdr = net_name(net["net"]), bool(net["gdr"])
        out.add("nccl.via", f"NET/{name}" + ("/GDRDMA" if gdr else ""), line.index)
        rank = {"send": found["src"], "receive": found["dst"]}.get(found["dir"] or "")
        if rank is not None:
            seen.rank_host[rank] = line.host
            seen.users.setdefault(line.host, set()).add(rank)
        if line.host and name in ("IB", "OFI", "UCX"):
            seen.gdr_ends.append((line.host, gdr, line.index))
        seen.net_links.append((found["src"], found["dst"], name, gdr, line.index))
        seen.devices.setdefault(line.host, set()).add(net["dev"])
        return
    seen.rank_host.setdefault(found["src"], line.host)
    if how.startswith("P2P/"):
        kind = "P2P/" + how.split("/")[1].split(" ")[0]
        out.add("nccl.via", kind, line.index)
        out.add("nccl.via_intranode", "P2P", line.index)
    elif how.startswith("SHM") or "shared memory" in how:
        out.add("nccl.via", "SHM", line.index)
        out.add("nccl.via_intranode", "SHM", line.index)
    elif how.startswith("NVLS"):
        out.add("nccl.via", "NVLS", line.index)


def _links(out: Collected, seen: _Seen) -> None:
    several = {host for host, addresses in seen.addresses.items() if len(addresses) > 1}
    staged: int | None = None
    for src, dst, name, gdr, index in seen.net_links:
        a, b = seen.rank_host.get(src), seen.rank_host.get(dst)
        if a is not None and a == b and a not in several and src != dst:
            out.add("nccl.via_intranode", "NET", index)
            continue
        out.add("nccl.via_internode", name + ("/GDRDMA" if gdr else ""), index)
        if gdr:
            out.add("nccl.gdr", True, index)
        elif name in ("IB", "OFI", "UCX"):
            staged = index if staged is None else staged
    if staged is not None and not any(link[3] for link in seen.net_links):
        out.add("nccl.gdr", False, staged)
    elif staged is not None:
        _gdr_here_and_there(out, seen)
    if not seen.net_links and seen.ring_gdr is not None and seen.ring_gdr[0]:
        out.add("nccl.gdr", True, seen.ring_gdr[1])
    counts = [len(devices) for host, devices in seen.devices.items() if len(seen.users.get(host, ())) > 1]
    if counts:
        out.add("nccl.ib_devices_used", max(counts), seen.net_links[0][4])
    for name, processes in seen.gpus.items():
        if len(processes) > 1 and set(processes.values()) == {"0"}:
            out.add("nccl.one_gpu_each", True, seen.channel_line, host_subject(name))
    for (host, _), states in seen.distance.items():
        if not any(states):
            out.add("nccl.gdr_distance_off", True, seen.distance_line, host_subject(host))


def _gdr_here_and_there(out: Collected, seen: _Seen) -> None:
    """Hosts all of whose channels are staged while those of another host use GPUDirect: the far end of a channel may differ."""
    states: dict[str, set[bool]] = {}
    lines: dict[str, int] = {}
    for host, gdr, index in seen.gdr_ends:
        states.setdefault(host, set()).add(gdr)
        if not gdr:
            lines.setdefault(host, index)
    if {True} in states.values():
        for host in (h for h, found in states.items() if found == {False}):
            out.add("nccl.gdr_missing_here", True, lines[host], host_subject(host))


def _gdr(line: NcclLine, out: Collected, seen: _Seen) -> None:
    text, host = line.text, host_subject(line.host)
    if "DMA-BUF is available" in text:
        out.add("nccl.dmabuf", True, line.index, host)
        return
    found = _re(
        r"NET/(?P<net>[\w .-]+?) : GPU Direct RDMA (?P<state>Enabled|Disabled) for (?:HCA|GPU \d+\[\d+\] / HCA) \d+ '[^']*'"
    ).search(text)
    if found:
        if found["net"] not in ("Socket", "FastSocket"):
            out.add("nccl.gdr_hca", found["state"] == "Enabled", line.index, host)
        return
    found = _re(
        r"GPU Direct RDMA (?P<state>Enabled|Disabled) for GPU[ /](?P<gpu>[0-9a-f-]+)(?:\[\d+\])?(?: / HCA| \(rank \d+\) - NET/)[^(]*\(.*?distance"
    ).search(text)
    if found:
        seen.distance.setdefault((line.host, found["gpu"]), []).append(found["state"] == "Enabled")
        seen.distance_line = line.index
        return
    found = _re(r"use ring PXN \d GDR (\d)").search(text)
    if found:
        seen.ring_gdr = (found[1] == "1", line.index)


def _topology(line: NcclLine, out: Collected) -> None:
    text, host = line.text, host_subject(line.host)
    if "coll channels" in text:
        found = _re(r"(\d+) coll channels").search(text)
        if found:
            out.add("nccl.channels", int(found[1]), line.index, host)
    elif "Pattern 4" in text:
        found = _re(r"Pattern 4, .*?(?:bw|speed) (\d+(?:\.\d+)?)/\d+(?:\.\d+)?, .*?type (\w+(?:/\w+)?)").search(text)
        if found:
            out.add("nccl.topo_type", found[2], line.index)
            out.add("nccl.topo_bw", float(found[1]), line.index)
    elif "Check P2P Type" in text:
        found = _re(r"(?:intraNodeP2pSupport|isAllDirectP2p) (\d)").search(text)
        if found:
            out.add("nccl.p2p_all", found[1] == "1", line.index, host)
    elif "P2P is disabled between" in text:
        found = _re(r"connected GPUs (\d+) and (\d+)").search(text)
        if found:
            out.add("nccl.p2p_disabled_pair", f"{found[1]} and {found[2]}", line.index, host)
    elif "NVLS multicast" in text:
        found = _re(r"NVLS multicast support is (not )?available").search(text)
        if found:
            out.add("nccl.nvls", found[1] is None, line.index, host)
    elif "Loading topology file" in text:
        found = _re(r"Loading topology file (\S+)").search(text)
        if found:
            out.add("nccl.topo_file", found[1], line.index, host)
    elif text.startswith("Channel "):
        found = _re(r"Channel \d+/(\d+) ?: +\d+").match(text)
        if found and " via " not in text and "->" not in text:
            out.add("nccl.channels", int(found[1]), line.index, host)
