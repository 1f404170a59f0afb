r"""One benchmark run under different CPU bindings, with different results.

$ numactl -C 64 ./bandwidthTest --memory=pinned --htod --device=0
   32000000			12.3
$ numactl -N 1 iperf3 -c gpu02 -P 4
[SUM]   0.00-10.00  sec   113 GBytes  97.1 Gbits/sec                  receiver
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._device import host_subject, hosts_by_line

NAME = "benchmark under several bindings"
TRIGGERS = ("numactl", "taskset")
VERSIONS = "bandwidthTest, nvbandwidth and iperf3 under numactl or taskset"

_COMMAND = re.compile(
    r"^\s*(?:\S*[$#>] ?)?(?P<bind>(?:numactl|taskset)\s+(?:(?:-\S+|--\S+|0x[\da-f]+|[\d,-]+)\s+)+)?(?P<program>(?:\S*/)?[\w.-]*(?:bandwidth|iperf|_bw|_perf|bench|memcpy)[\w.-]*)\b"
)
_PROMPTS = ("$", "#", ">", "numactl", "taskset")
_FIGURE = re.compile(
    r"^\s*\d{5,}\s+(?P<cuda>\d+\.\d+)\s*$|^\s*\d+\s+\d+\s+\d+(?:\.\d+)?\s+(?P<perftest>\d+\.\d+)\s+\d+(?:\.\d+)?\s*$|(?P<iperf>\d+(?:\.\d+)?) Gbits/sec|Avg bus bandwidth\s*:\s*(?P<nccl>\d+\.\d+)"
)


def parse(document: Document) -> Iterable[Fact]:
    best: dict[str, dict[str, tuple[float, int]]] = {}
    current: dict[str, tuple[float, int]] | None = None
    bind = ""
    for index, text in enumerate(document.lines):
        command = _COMMAND.match(text) if any(mark in text for mark in _PROMPTS) else None
        if command:
            bind = " ".join((command["bind"] or "").split())
            current = best.setdefault(command["program"].rpartition("/")[2], {})
            continue
        figure = None
        if current is not None and (text.lstrip()[:1].isdigit() or "Gbits/sec" in text or "Avg bus" in text):
            figure = _FIGURE.search(text)
        if figure and current is not None:
            value = float(next(v for v in figure.groups() if v))
            if value > current.get(bind, (0.0, 0))[0]:
                current[bind] = (value, index)
    for program, runs in best.items():
        if len(runs) < 2:
            continue
        low, high = min(runs.values()), max(runs.values())
        if low[0] > 0 and high[0] >= 1.25 * low[0]:
            yield Fact(
                "numa.bench_differs",
                f"{program}: {low[0]:g} against {high[0]:g}",
                document.origin(low[1], "tool"),
                host_subject(hosts_by_line(document)[low[1]]),
            )
