"""Choices of algorithm and protocol in NCCL's log (NCCL_DEBUG_SUBSYS=TUNING), and the table they come from.

NCCL INFO 33554432 Bytes -> Algo 1 proto 2 time 421.500000                                           (2.22)
NCCL INFO AllReduce: 33554432 Bytes -> Algo 1 proto 2 time 421.500000                                (2.23)
NCCL INFO AllReduce: 33554432 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..23}                (2.24 and later)

NCCL INFO   Algorithm   |                            Tree                  |                            Ring                  | ...
NCCL INFO   Protocol    |             LL |          LL128 |         Simple | ...
NCCL INFO     AllReduce |    20.4/   7.3 |    33.6/  91.5 |   155.1/  92.1 | ...
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._nccl_lines import Collected
from assistant.parsers._nccl_tests_curve import at_size

NAME = "NCCL tuning"
TRIGGERS = (" Bytes -> Algo ", " Max NThreads |")
VERSIONS = "NCCL 2.7 to 2.29: NCCL_DEBUG_SUBSYS=TUNING, with and without names of algorithm and protocol"

MIB = 1 << 20
#: LL moves flags with half of the bytes; at this size and above it costs half of the bandwidth in any job.
LL_TOO_LARGE = 32 * MIB
#: Simple waits for memory fences; at this size and below LL and LL128 are faster wherever they are allowed.
SIMPLE_TOO_SMALL = 4 << 10
LARGE = 64 * MIB
CHOICES = 24
_ALGO = {
    "0": "TREE",
    "1": "RING",
    "2": "COLLNET_DIRECT",
    "3": "COLLNET_CHAIN",
    "4": "NVLS",
    "5": "NVLS_TREE",
    "6": "PAT",
}
_PROTO = {"0": "LL", "1": "LL128", "2": "SIMPLE"}


@cache
def _choice() -> re.Pattern[str]:
    return re.compile(r" Bytes -> Algo (\w+) proto (\w+)(?: channel\{Lo\.\.Hi\}=\{(\d+)\.\.(\d+)\}| time [\d.]+)")


@cache
def _cell() -> re.Pattern[str]:
    return re.compile(r"(\d+\.\d+)/ *(\d+\.\d+)(?:\(\s*\d+\))? *\|")


def parse(document: Document) -> Iterable[Fact]:
    out = Collected(document)
    _choices(document, out)
    if " Max NThreads |" in document.text:
        _table(document, out)
    return out.facts()


def _choices(document: Document, out: Collected) -> None:
    text = document.text
    seen: dict[tuple[str, int, str, str], int] = {}
    widest: dict[str, tuple[int, int, int]] = {}
    for found in _choice().finditer(text):
        end = found.start()
        begin = text.rfind(" ", max(0, end - 24), end) + 1
        number = text[begin:end]
        if not number.isdecimal():
            continue
        name = text[max(0, begin - 32) : begin].rstrip().rpartition(" ")[2]
        op, size = name[:-1] if name.endswith(":") and name[:-1].isalpha() else "collective", int(number)
        algo, proto, low, high = found.groups()
        mark = (op, size, _ALGO.get(algo, algo), _PROTO.get(proto, proto))
        if mark not in seen and len(seen) < 4096:
            seen[mark] = begin
        if high and size >= LARGE:
            channels = int(high) - int(low) + 1
            if channels > widest.get(op, (0, 0, 0))[0]:
                widest[op] = (channels, size, begin)
    for (op, size, algo, proto), start in _spread_out(seen):
        index = text.count("\n", 0, start)
        out.add("tuning.choice", f"{op} of {at_size(size)}: {algo}/{proto}", index)
    for (op, size, algo, proto), start in seen.items():
        odd = _odd(size, algo, proto)
        if odd:
            out.add("tuning.odd_choice", f"{proto} {odd}", text.count("\n", 0, start))
            out.add("tuning.odd_example", f"{op} of {at_size(size)}: {algo}/{proto}", text.count("\n", 0, start))
            break
    for channels, _, start in widest.values():
        out.add("tuning.channels_large", channels, text.count("\n", 0, start))
    small = [(size, start) for (op, size, algo, _), start in seen.items() if op == "AllReduce" and algo == "RING"]
    if small and min(small)[0] <= 64 << 10:
        out.add("tuning.ring_at_small", min(small)[0], text.count("\n", 0, min(small)[1]))


def _spread_out(seen: dict[tuple[str, int, str, str], int]) -> list[tuple[tuple[str, int, str, str], int]]:
    """Some of the choices, over all sizes: of each collective, algorithm and protocol the smallest and the largest."""
    ends: dict[tuple[str, str, str], list[tuple[str, int, str, str]]] = {}
    for mark in seen:
        pair = ends.setdefault((mark[0], mark[2], mark[3]), [mark, mark])
        pair[0], pair[1] = min(pair[0], mark, key=lambda m: m[1]), max(pair[1], mark, key=lambda m: m[1])
    chosen = list(dict.fromkeys(mark for pair in ends.values() for mark in pair))
    return [(mark, seen[mark]) for mark in chosen[:CHOICES]]


def _odd(size: int, algo: str, proto: str) -> str | None:
    if proto == "LL" and size >= LL_TOO_LARGE:
        return "at a large message"
    if proto == "SIMPLE" and 0 < size <= SIMPLE_TOO_SMALL and algo in ("RING", "TREE"):
        return "at a small message"
    return None


def _table(document: Document, out: Collected) -> None:
    columns: list[str] = []
    """The algorithms over the columns of the block that is being read, three protocols each."""
    reach: dict[str, float] = {}
    fast: dict[str, float] = {"LL": 0.0, "LL128": 0.0, "Simple": 0.0}
    first: int | None = None
    for index, line in enumerate(document.lines):
        if "|" not in line:
            continue
        if "Algorithm   |" in line:
            columns = line.partition("Algorithm   |")[2].replace("|", " ").split()
        elif "Latency/AlgBw |" in line:
            names = re.findall(r"(\w+)/ *\w+ \|", line.partition("Latency/AlgBw |")[2])
            columns = list(dict.fromkeys(names))
        elif "AllReduce |" in line and columns:
            cells = _cell().findall(line.partition("AllReduce |")[2])
            first = index if first is None else first
            for number, (_, bandwidth) in enumerate(cells):
                if number // 3 < len(columns):
                    name = columns[number // 3]
                    reach[name] = max(reach.get(name, 0.0), float(bandwidth))
                    proto = ("LL", "LL128", "Simple")[number % 3]
                    fast[proto] = max(fast[proto], float(bandwidth))
    if first is None or not reach:
        return
    out.add("tuning.model_algbw_gbs", max(reach.values()), first)
    off = [name for name in ("Tree", "Ring") if reach.get(name) == 0.0]
    for name in off:
        out.add("tuning.algo_off", name, first)
    for proto, value in fast.items():
        if value == 0.0:
            out.add("tuning.proto_off", proto, first)
