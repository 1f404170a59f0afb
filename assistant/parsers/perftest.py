r"""RDMA bandwidth and latency, from ib_write_bw, ib_read_bw, ib_send_bw and the _lat programs.

#bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
65536      5000             391.20             391.08             0.745927

#bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]
2       1000          1.02           8.31         1.06               1.08
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._net import Reader

NAME = "perftest"
TRIGGERS = ("BW average", "t_typical", "BW peak")
VERSIONS = "perftest 4 to 24: ib_write_bw, ib_read_bw, ib_send_bw and latencies, with and without CUDA"


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "command": re.compile(r"\bib_(?:write|read|send)_bw\b"),
        "head": re.compile(r"#bytes\s+#iterations\s+BW peak\[(?P<unit>[^\]]+)\]"),
        "row": re.compile(
            r"^\s*(?P<bytes>\d+)\s+(?P<iters>\d+)\s+(?P<peak>\d+(?:\.\d+)?)\s+(?P<avg>\d+(?:\.\d+)?)\s+(?P<rate>\d+(?:\.\d+)?)\s*$"
        ),
        "lat": re.compile(
            r"^\s*(?P<bytes>\d+)\s+(?P<iters>\d+)\s+(?P<min>\d+(?:\.\d+)?)\s+(?P<max>\d+(?:\.\d+)?)\s+(?P<typical>\d+(?:\.\d+)?)\s+(?P<avg>\d+(?:\.\d+)?)"
        ),
    }


def parse(document: Document) -> Iterable[Fact]:
    reader = Reader(document)
    patterns = _patterns()
    unit, latency = "", False
    best: tuple[float, int] | None = None
    sides: dict[bool, float] = {}
    on_gpu = False
    for index, text in enumerate(document.messages):
        if "ib_" in text and patterns["command"].search(text):
            on_gpu = "--use_cuda" in text or "--use_rocm" in text
        head = patterns["head"].search(text) if "BW peak" in text else None
        if head or "t_typical" in text:
            if best:
                yield reader.job(best[1], "net.rdma_bw_gbps", round(best[0], 2))
            best, unit, latency = None, head["unit"] if head else "", head is None
            continue
        if latency:
            found = patterns["lat"].match(text)
            if found and float(found["typical"]) > 0:
                latency = False
                yield reader.job(index, "net.rdma_lat_us", float(found["typical"]))
        elif unit:
            found = patterns["row"].match(text)
            if found:
                rate = float(found["avg"]) * (1.0 if unit.startswith("Gb") else 8 * 1.048576e-3)
                best = max(best, (rate, index)) if best else (rate, index)
                sides[on_gpu] = max(sides.get(on_gpu, 0.0), rate)
                if on_gpu and sides.get(False):
                    yield reader.job(index, "net.rdma_gpu_share", round(rate / sides[False], 3))
    if best:
        yield reader.job(best[1], "net.rdma_bw_gbps", round(best[0], 2))
