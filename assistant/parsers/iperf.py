r"""Throughput between two hosts, from iperf and iperf3.

[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-1.00   sec  1.10 GBytes  9.41 Gbits/sec    0   1.57 MBytes
[SUM]   0.00-10.00  sec   109 GBytes  93.6 Gbits/sec  311             sender
[  3]  0.0-10.0 sec   113 MBytes  95.1 Mbits/sec
[  4]  0.0-10.0 sec  1.06 GBytes   910 Mbits/sec   0.031 ms 2511/778102 (0.32%)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from statistics import median

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._lines import lines_with
from assistant.parsers._net import Reader, gbps

NAME = "iperf"
TRIGGERS = ("bits/sec", "Bytes/sec", "iperf")
VERSIONS = "iperf 2.0 and 2.1, iperf3 3.0 to 3.18, text and JSON, one or many streams"


@dataclass(frozen=True, slots=True)
class Row:
    index: int
    stream: str
    start: float
    end: float
    rate: float
    rest: str


#: Of these one stands in every line that is read.
_HINTS = (
    "iperf",
    "/sec",
    "Connecting to host",
    "Client connecting to",
    "Server listening on",
    "Accepted connection",
    "connect failed: ",
)


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "row": re.compile(
            r"^\[\s*(?P<id>\d+|SUM)\](?:\[[TR]X-[SC]\])?\s+(?P<t0>\d+(?:\.\d+)?)\s*-\s*(?P<t1>\d+(?:\.\d+)?)\s+sec\s+\d+(?:\.\d+)? \w?Bytes\s+"
            r"(?P<rate>\d+(?:\.\d+)?) (?P<unit>[KMGT]?(?:bits|Bytes))/sec(?P<rest>.*)$"
        ),
        "retransmits": re.compile(r"^\s+(?P<n>\d+)\s+(?:sender|\d+(?:\.\d+)? \w?Bytes)"),
        "loss": re.compile(r"\d+/\s*\d+ \((?P<pct>[\d.e+-]+)%\)"),
        "refused": re.compile(
            r"(?:iperf3: error - |connect failed: |iperf: )(?P<why>unable to connect to server[^\n]*|Connection (?:refused|timed out)|No route to host)"
        ),
        "parallel": re.compile(r"\biperf3? .*-P ?(?P<n>\d+)"),
        "start": re.compile(r"Connecting to host|Client connecting to|Server listening on|^\s*Accepted connection"),
    }


def parse(document: Document) -> Iterable[Fact]:
    reader = Reader(document)
    patterns = _patterns()
    run: list[Row] = []
    asked = 1
    for index in lines_with(document, _HINTS):
        text = document.messages[index]
        if "iperf" in text and "-c" in text:
            if run:
                yield from _run(reader, run, asked)
                run = []
            parallel = patterns["parallel"].search(text)
            asked = int(parallel["n"]) if parallel else 1
        if patterns["start"].search(text) and run:
            yield from _run(reader, run, asked)
            run = []
        found = patterns["row"].match(text)
        if found:
            rate = gbps(found["rate"], found["unit"])
            run.append(Row(index, found["id"], float(found["t0"]), float(found["t1"]), rate, found["rest"]))
            continue
        refused = patterns["refused"].search(text)
        if refused:
            yield reader.job(index, "net.iperf_refused", refused["why"])
    if run:
        yield from _run(reader, run, asked)


def _run(reader: Reader, rows: list[Row], asked: int = 1) -> Iterator[Fact]:
    """Facts of one run: whole-run rows where there are any, else the median over the intervals."""
    streams = {r.stream for r in rows if r.stream != "SUM"}
    sums = [r for r in rows if r.stream == "SUM"]
    chosen = sums or rows
    longest = max(r.end - r.start for r in chosen)
    intervals = [r for r in chosen if r.end - r.start < longest * 0.9] or chosen
    rate = median(r.rate for r in intervals)
    if not sums and len(streams) > 1 and len(intervals) >= len(streams):
        rate *= len(streams)
    first = chosen[0]
    yield reader.job(first.index, "net.iperf_gbps", round(rate, 4))
    yield reader.job(first.index, "net.iperf_streams", max(len(streams), asked))
    if len(intervals) > 2 and min(r.rate for r in intervals) > 0:
        low = min(intervals, key=lambda r: r.rate)
        yield reader.job(low.index, "net.iperf_min_gbps", round(low.rate, 4))
        yield reader.job(low.index, "net.iperf_variation", round(max(r.rate for r in intervals) / low.rate, 2))
    patterns = _patterns()
    counts = [(int(m["n"]), r.index) for r in chosen if (m := patterns["retransmits"].match(r.rest))]
    if counts:
        total = max(counts) if any("sender" in r.rest for r in chosen) else (sum(c for c, _ in counts), counts[0][1])
        yield reader.job(total[1], "net.iperf_retransmits", total[0])
        volume = rate / 8 * max(r.end for r in chosen)
        if volume > 0.1:
            yield reader.job(total[1], "net.iperf_retrans_per_gb", round(total[0] / volume, 1))
    losses = [(float(m["pct"]), r.index) for r in rows if (m := patterns["loss"].search(r.rest))]
    if losses:
        yield reader.job(max(losses)[1], "net.iperf_loss_pct", max(losses)[0])
