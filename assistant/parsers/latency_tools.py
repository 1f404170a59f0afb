r"""Latency between hosts, from the OSU tests, sockperf, qperf, netperf, mtr and the ping of mesh networks.

# OSU MPI Latency Test v7.2
# Size          Latency (us)
8                      28.70

sockperf: ====> avg-latency=412.553 (std-dev=11.207)
  2.|-- 10.99.0.4                  0.0%   100   24.3  24.2  23.8  25.1   0.3
pong from rig-b (100.88.41.19) via DERP(fra) in 61ms
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._net import Reader

NAME = "latency tests"
TRIGGERS = (
    "OSU MPI",
    "avg-latency=",
    "|-- ",
    "pong from ",
    "bytes from ",
    "latency ",
    "Latency (us)",
    "traceroute to ",
    "REQUEST/RESPONSE",
)
VERSIONS = "sockperf 3, qperf 0.4, netperf 2, osu_latency 5 to 7"

_OSU = re.compile(r"^#.*\bOSU MPI(?:-CUDA)? (?:\w+ )?Latency Test")
_OSU_ROW = re.compile(r"^(?P<size>\d+)\s+(?P<us>\d+\.\d+)\s*$")
_SOCKPERF = re.compile(r"avg-latency=(?P<us>\d+(?:\.\d+)?)")
_QPERF = re.compile(r"^\s+latency\s+=\s+(?P<n>\d+(?:\.\d+)?) (?P<unit>us|ms)\s*$")
_NETPERF = re.compile(r"^\d+\s+\d+\s+1\s+1\s+\d+(?:\.\d+)?\s+(?P<rate>\d+(?:\.\d+)?)\s*$")
_HOP = re.compile(r"^\s*\d+ {1,2}\S.*?(?P<ms>\d+(?:\.\d+)?) ms")
_MTR = re.compile(
    r"^\s*\d+\.\|-- (?P<hop>.+?)\s+(?P<loss>\d+(?:\.\d+)?)%?\s+(?P<sent>\d+)\s+\d+(?:\.\d+)?\s+(?P<avg>\d+(?:\.\d+)?)\s"
)
_PONG = re.compile(r"^\s*pong from \S+ \([^)]*\) via (?P<via>\S+) in (?P<ms>\d+(?:\.\d+)?)ms")
_REPLY = re.compile(r"bytes from \S+(?: \([^)]{0,200}\))?: icmp_seq=\d+ .{0,100}?\btime=(?P<ms>\d+(?:\.\d+)?) ms")


def parse(document: Document) -> Iterable[Fact]:
    reader = Reader(document)
    osu = tracing = False
    requests = "REQUEST/RESPONSE" in document.text
    hop: tuple[int, float, float] | None = None
    summary = "min/avg/max" in document.text
    replies: list[tuple[float, int]] = []
    for index, text in enumerate(document.messages):
        if text.startswith("#") and "OSU" in text:
            osu = bool(_OSU.match(text))
            continue
        row = _OSU_ROW.match(text) if osu else None
        if row:
            if 1 <= int(row["size"]) <= 64:
                yield reader.job(index, "net.mpi_lat_us", float(row["us"]))
                osu = False
            continue
        socket = _SOCKPERF.search(text) or _QPERF.match(text)
        if socket:
            scale = 1000.0 if "unit" in socket.re.groupindex and socket["unit"] == "ms" else 1.0
            value = float(socket["us"] if "us" in socket.re.groupindex else socket["n"]) * scale
            yield reader.job(index, "net.tcp_lat_us", value)
            continue
        trip = _NETPERF.match(text) if requests else None
        if trip and float(trip["rate"]) > 0:
            yield reader.job(index, "net.rtt_ms", round(1000 / float(trip["rate"]), 4))
            continue
        if text.startswith("traceroute to "):
            tracing = True
            continue
        step = _HOP.match(text) if tracing else None
        if step:
            hop = (index, float(step["ms"]), 0.0)
            continue
        tracing = tracing and "* * *" in text
        found = _MTR.match(text)
        if found:
            hop = (index, float(found["avg"]), float(found["loss"]))
            continue
        if hop:
            yield from _last_hop(reader, hop)
            hop = None
        pong = _PONG.match(text)
        if pong:
            yield reader.job(index, "net.rtt_ms", float(pong["ms"]))
            continue
        reply = _REPLY.search(text)
        if reply and not summary:
            replies.append((float(reply["ms"]), index))
    if hop:
        yield from _last_hop(reader, hop)
    if replies:
        middle = sorted(replies)[len(replies) // 2]
        yield reader.job(middle[1], "net.rtt_ms", middle[0])


def _last_hop(reader: Reader, hop: tuple[int, float, float]) -> Iterable[Fact]:
    """The line of the destination: its average and its loss; loss of a hop before it means nothing."""
    yield reader.job(hop[0], "net.rtt_ms", hop[1])
    if hop[2] > 0:
        yield reader.job(hop[0], "net.ping_loss_pct", hop[2])
