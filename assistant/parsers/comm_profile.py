"""Summaries of communication -> its share of a step, how small its messages are, how much of it is hidden behind compute.

Samples (Nsight Systems' kernel summary, DeepSpeed's comms summary and wall clock breakdown, Megatron's timers, HTA's overlap):

     61.4    9,812,334,120     184,320   53,235.3   48,127.0    31,007    912,411  ncclDevKernel_AllReduce_Sum_f32_TREE_LL(...)
    Comm. Op            Message Size        Count               Total Latency(ms)   Avg Latency(ms)     tput_avg (Gbps)
    all_reduce
                        4.0 KB              61440               9216.00             0.15                0.22
    time (ms) | fwd_microstep: 38.12 | bwd_microstep: 341.80 | bwd_allreduce_microstep: 270.21 | step_microstep: 48.11
    time (ms) | forward-backward: 3690.11 | all-grads-sync: 2103.90 | optimizer: 290.22
    rank  idle_time(%)  compute_time(%)  non_compute_time(%)  comp_comm_overlap_pctg
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from statistics import median

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._lines import lines_with

NAME = "communication summary"
TRIGGERS = (
    "ncclDevKernel",
    "ncclKernel",
    "Message Size",
    "bwd_allreduce",
    "grads-sync",
    "grads-all-reduce",
    "grads-reduce-scatter",
    "overlap_pctg",
)
VERSIONS = (
    "Nsight Systems 2020 to 2025 (gpukernsum, cuda_gpu_kern_sum), DeepSpeed 0.7 to 0.17 comms summary, "
    "Megatron timers, HTA 0.2"
)

_NSYS = re.compile(
    r"^\s*(?P<share>\d{1,3}\.\d)\s+(?P<total>[\d,]{4,})\s+(?P<count>[\d,]+)\s+(?P<mean>[\d,]+\.\d)\s.*?(?P<name>nccl(?:Dev)?Kernel\w*)"
)
_SIZE = re.compile(
    r"^\s+(?P<n>\d+(?:\.\d+)?) (?P<u>B|[KMG]i?B)\s+(?P<count>\d+)\s+(?P<total>\d+(?:\.\d+)?)\s+(?P<mean>\d+(?:\.\d+)?)"
)
_BYTES = {"B": 1.0, "K": 1024.0, "M": 1024.0**2, "G": 1024.0**3}
_TIMER = re.compile(r"(?P<name>[a-z][\w-]*): (?P<ms>\d+(?:\.\d+)?)")
_SMALL = 1024.0**2
_MANY = 2000


def parse(document: Document) -> Iterable[Fact]:
    yield from _nsys(document)
    yield from _sizes(document)
    yield from _timers(document)
    yield from _overlap(document)


def _nsys(document: Document) -> Iterator[Fact]:
    share, first, small = 0.0, None, False
    for index in lines_with(document, ("ncclKernel", "ncclDevKernel")):
        line = document.messages[index]
        found = _NSYS.match(line)
        if found is None:
            continue
        first = index if first is None else first
        share += float(found["share"]) / 100
        small = small or (
            int(found["count"].replace(",", "")) >= _MANY
            and float(found["mean"].replace(",", "")) < 1e5
            and float(found["share"]) >= 10
        )
    if first is not None:
        yield Fact("trace.comm_share", round(min(share, 1.0), 3), document.origin(first, "tool"))
        if small:
            yield Fact("trace.small_kernels", True, document.origin(first, "tool"))


def _sizes(document: Document) -> Iterator[Fact]:
    """DeepSpeed's table: whether most of the time goes into many messages below a megabyte."""
    head = next((i for i in lines_with(document, ("Message Size",)) if "Count" in document.lines[i]), None)
    if head is None:
        return
    small = whole = 0.0
    calls = 0
    for line in document.messages[head + 1 : head + 300]:
        found = _SIZE.match(line)
        if found is None or float(found["n"]) == 0:
            continue
        whole += float(found["total"])
        if float(found["n"]) * _BYTES[found["u"][0]] < _SMALL:
            small += float(found["total"])
            calls += int(found["count"])
    if whole > 0 and calls >= _MANY and small / whole >= 0.5:
        yield Fact("comm.small_messages", True, document.origin(head, "tool"))


def _timers(document: Document) -> Iterator[Fact]:
    """One-line timers: time of the gradient exchange over that of the step."""
    shares: list[float] = []
    where = 0
    for index in lines_with(document, ("time (ms)",)):
        line = document.messages[index]
        timers = {m["name"]: float(m["ms"]) for m in _TIMER.finditer(line)}
        if "bwd_allreduce_microstep" in timers:
            exchange, whole = (
                timers["bwd_allreduce_microstep"],
                timers.get("fwd_microstep", 0.0) + timers.get("bwd_microstep", 0.0),
            )
        else:
            names = [n for n in timers if re.fullmatch(r"(?:all-)?grads-(?:sync|all-reduce|reduce-scatter)", n)]
            exchange, whole = max((timers[n] for n in names), default=0.0), timers.get("forward-backward", 0.0)
            if whole and exchange and whole < exchange + timers.get("forward-compute", 0.0):
                whole += exchange
        if whole > 0 and exchange > 0:
            shares.append(min(exchange / whole, 1.0))
            where = index
    if shares:
        yield Fact("trace.comm_share", round(median(shares), 3), document.origin(where))


def _overlap(document: Document) -> Iterator[Fact]:
    for head in lines_with(document, ("comm_overlap_pctg",)):
        line = document.messages[head]
        columns = line.replace(",", " ").split()
        column = next((i for i, c in enumerate(columns) if c.endswith("comm_overlap_pctg")), None)
        if column is None:
            continue
        values = []
        for row in document.messages[head + 1 : head + 200]:
            cells = row.replace(",", " ").split()[-len(columns) :]
            if len(cells) < len(columns) or not re.fullmatch(r"\d+(?:\.\d+)?%?", cells[column]):
                break
            values.append(float(cells[column].rstrip("%")) / 100)
        if values:
            yield Fact("trace.overlap", round(min(median(values), 1.0), 3), document.origin(head, "tool"))
        return
