r"""UCX: what `UCX_LOG_LEVEL=info` prints, tables of `UCX_PROTO_INFO`, transports of `ucx_info -d`.

[1721772825.783135] [acn36:3811001:0]     ucp_context.c:2137 UCX  INFO  Version 1.16.0 (loaded from /opt/ucx/lib/libucp.so.0)
[1701292112.829711] [a670n1:162239:0]      ucp_worker.c:1855 UCX  INFO    0x100b240 inter-node cfg#3 tag(rc_mlx5/mlx5_0:1 rc_mlx5/mlx5_1:1)
[1651135254.203459] [gpu07:4117:0]     ucp_worker.c:1720 UCX  INFO  ep_cfg[2]: tag(tcp/eth0)
| ucp_context_0 inter-node cfg#1 | tagged message by ucp_tag_send* from host memory |
|                        0..2038 | short                                            | rc_mlx5/mlx5_0:1 |
#      Transport: rc_verbs
#         Device: mlx5_0:1
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from assistant.facts import JOB, Fact, Subject
from assistant.intake.document import Document
from assistant.parsers._gather import Gather
from assistant.parsers._lines import lines_with
from assistant.parsers._net import hosts

NAME = "UCX"
TRIGGERS = ("UCX  INFO", "UCX INFO", "UCX  WARN", "UCX  ERROR", "UCX  DIAG", "inter-node cfg#", "ep_cfg[", "Transport: rc_", "Transport: tcp", "Transport: self", "# UCT version")  # fmt: skip
VERSIONS = "UCX 1.8 to 1.21: ucp_worker.c (ep_cfg until 1.11, cfg#N since), UCX_PROTO_INFO tables (1.14 and later), ucx_info -d"

_RDMA = re.compile(r"^(?:rc|dc|ud|srd|gdaki|rdmacm)\w*$")
_LOCAL = frozenset(("self", "cma", "sysv", "posix", "knem", "xpmem", "cuda_copy", "cuda_ipc", "gdr_copy", "rocm_copy", "rocm_ipc", "shm", "mm"))  # fmt: skip


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "head": re.compile(r"\[(?P<host>[A-Za-z0-9][\w.-]*):(?P<pid>\d+):\d+(?::\d+)?\]"),
        "version": re.compile(r"UCX +INFO +Version (?P<v>\d+\.\d+\.\d+)|UC[TP] version=(?P<w>\d+\.\d+\.\d+)"),
        "lanes": re.compile(r"(?:(?P<kind>self|intra-node|inter-node) cfg#\d+|ep_cfg\[\d+\]:?)(?P<rest>.*)"),
        "pair": re.compile(r"\b(?P<tl>[a-z]\w+)/(?P<dev>[\w.-]+(?::\d+)?)"),
        "device": re.compile(r"^#\s+Device: (?P<dev>\S+)"),
        "transport": re.compile(r"^#\s+Transport: (?P<tl>\S+)"),
        "env": re.compile(r"UCX_\* (?:env|environment) variables?: (?P<vars>.*)$"),
        "row": re.compile(r"^(?:\[[^\]]*\] )*.{0,90}\|\s*(?:\d+\.\.|\d+[KMG]?\.\.)(?P<range>\S+)\s*\|[^|]*\|\s*(?P<path>[^|]+?)\s*\|"),
        "problem": re.compile(r"UCX +(?P<level>WARN|ERROR|DIAG) +(?P<text>.+)$"),
    }  # fmt: skip


def parse(document: Document) -> Iterable[Fact]:
    found = Gather(document)
    patterns = _patterns()
    current = "inter-node" if "inter-node cfg#" not in document.text else ""
    headings = hosts(document) if "Transport: " in document.text else []
    transport = ""
    problems = 0
    for index in lines_with(document, ("UCX", "cfg", "| ", "Transport: ", "Device: ", "UCT version", "UCP version")):
        text = document.lines[index]
        if text.startswith("#"):
            named = patterns["transport"].match(text)
            if named:
                transport = named["tl"]
                found.add("ucx.transport_present", transport, index, _host(headings[index]), headings[index])
            device = patterns["device"].match(text)
            if device and _RDMA.match(transport):
                found.add("ucx.device_present", device["dev"], index, _host(headings[index]), headings[index])
        head = patterns["head"].search(text)
        name = head["host"] if head else None
        version = patterns["version"].search(text)
        if version:
            found.add("ucx.version", version["v"] or version["w"], index, _host(name), name)
        lanes = patterns["lanes"].search(text) if "cfg" in text else None
        if lanes:
            current = lanes["kind"] or "inter-node"
            _lanes(found, index, lanes["kind"], lanes["rest"], name)
        elif "|" in text and current == "inter-node":
            row = patterns["row"].search(text)
            if row:
                _lanes(found, index, "inter-node", row["path"], name)
        problem = patterns["problem"].search(text)
        if problem and problems < 20:
            problems += 1
            found.add("ucx.problem", problem["text"].strip()[:160], index, _host(name), name)
    return found.facts


def _host(name: str | None) -> Subject:
    return Subject("host", name) if name else JOB


def _lanes(found: Gather, index: int, kind: str | None, text: str, host: str | None) -> None:
    """Transports and devices of the lanes of one connection; those that stay in the host do not count."""
    pairs = [(m["tl"], m["dev"]) for m in _patterns()["pair"].finditer(text)]
    outside = [(tl, dev) for tl, dev in pairs if tl not in _LOCAL and dev not in ("memory", "cuda", "rocm")]
    if kind in ("self", "intra-node") or not outside:
        return
    transports = {tl for tl, _ in outside}
    value = next(
        (tl for tl in sorted(transports) if _RDMA.match(tl)), "tcp" if "tcp" in transports else min(transports)
    )
    found.add("ucx.internode", value, index, _host(host), host)
    for device in sorted({dev for _, dev in outside}):
        found.add("ucx.device_used", device, index, _host(host), host)
