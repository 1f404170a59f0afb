"""Output of NCCL's Inspector (profiler plugin of NCCL 2.28 and later): one JSON object an operation, one file a process.

{"header":{"id":"0x7f8c496ae9f661","rank":2,"n_ranks":8,"nnodes":1},"metadata":{"inspector_output_format_version":"v4.0",
"git_rev":"","rec_mechanism":"nccl_profiler_interface","dump_timestamp_us":1748030377748202,"hostname":"gpu-a07","pid":1639453},
"coll_perf":{"coll":"AllReduce","coll_sn":1407,"coll_msg_size_bytes":17179869184,"coll_exec_time_us":61974,
"coll_timing_source":"kernel_gpu","coll_algobw_gbs":277.210914,"coll_busbw_gbs":485.119099}}

Since 2.29 also as metrics for Prometheus:

nccl_bus_bandwidth_gbs{version="v5.1",slurm_job_id="7",node="gpu-a07",gpu="GPU0",comm_name="DP Group 0",n_nodes="1",nranks="4",
collective="AllReduce",message_size="4-5GB",algo_proto="Ring_ll"} 678.263

The operations of a text are summed up by communicator, collective and message size (in powers of two), so that a file of
any length yields a handful of facts. What ranks and hosts have in common is compared in `derive`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache

from assistant.facts import JOB, Fact, Subject
from assistant.intake.document import Document

NAME = "NCCL Inspector"
TRIGGERS = ('"coll_perf"', '"p2p_perf"', "nccl_bus_bandwidth_gbs{", "nccl_p2p_bus_bandwidth_gbs{")
LINES = ('"coll_perf"', '"p2p_perf"', "_bus_bandwidth_gbs{", "exec_time_microseconds{")
VERSIONS = "NCCL 2.28 and later: Inspector's output of version 4"

#: Messages up to here show latency, from `LARGE` on bandwidth.
SMALL = 64 << 10
LARGE = 16 << 20
#: Groups of operations that are told of one text: those that take the most time.
GROUPS = 8


@cache
def _record() -> re.Pattern[str]:
    return re.compile(
        r'"id"\s*:\s*"(0x[0-9a-f]+)"[^{}]{0,300}?"rank"\s*:\s*(\d+)\s*,\s*"n_ranks"\s*:\s*(\d+)\s*,\s*"nnodes"\s*:\s*(\d+)\s*\}'
        r'[^{}]{0,40}\{([^{}]{0,600})\}\s*,\s*"(?:coll|p2p)_perf"\s*:\s*\{\s*"(?:coll|p2p)"\s*:\s*"(\w+)"([^{}]{0,120}?)'
        r'"\w{1,8}_msg_size_bytes"\s*:\s*(\d+)\s*,\s*"\w{1,8}_exec_time_us"\s*:\s*(\d+)'
        r'(?:\s*,\s*"\w{1,8}_timing_source"\s*:\s*"(\w+)")?[^{}]{0,80}?"\w{1,8}_busbw_gbs"\s*:\s*"?(\d+\.?\d*|-?nan|inf)'
    )


@cache
def _metric() -> re.Pattern[str]:
    return re.compile(
        r'nccl_(p2p_)?(?:(bus_bandwidth)_gbs|(?:collective_|p2p_)?exec_time_microseconds)\{[^{}\n]{0,400}?node="([^"\n]*)",gpu="GPU(\d+)",'
        r'comm_name="([^"\n]*)",n_nodes="(\d+)",nranks="(\d+)",(?:collective|p2p_operation)="(\w+)",message_size="([^"\n]*)"'
        r"[^{}\n]{0,80}\} ([\d.e+]+)"
    )


@dataclass(slots=True)
class Group:
    """Operations of one kind and size on one rank of one communicator."""

    comm: str
    rank: str
    ranks: int
    nodes: int
    op: str
    size: int
    host: str | None
    source: str
    start: int
    """Where in the text the first of them stands."""
    times: list[float] = field(default_factory=list)
    busbw: list[float] = field(default_factory=list)

    @property
    def total(self) -> float:
        return sum(self.times)

    def text(self) -> str:
        """What `derive` reads back; also fit for a person."""
        return (
            f"comm={self.comm} op={self.op} size={self.size} rank={self.rank} of={self.ranks} nodes={self.nodes} n={len(self.times)}"
            f" us={quantile(self.times, 0.5):.6g} p90={quantile(self.times, 0.9):.6g} busbw={quantile(self.busbw, 0.5):.5g}"
            f" best={quantile(self.busbw, 0.95):.5g} host={self.host or '-'} timing={self.source or '-'}"
        )


def quantile(values: list[float], share: float) -> float:
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def parse(document: Document) -> Iterable[Fact]:
    groups = [*_records(document.text), *_metrics(document.text)]
    if not groups:
        return
    world = max(group.ranks for group in groups)
    chosen = sorted(groups, key=lambda g: (-g.total, g.start))[:GROUPS]
    chosen += [g for g in sorted(groups, key=lambda g: -len(g.times)) if g.size <= SMALL and g not in chosen][:2]
    for group in chosen:
        yield _fact("inspector.group", group.text(), group, document, world)
    first = min(groups, key=lambda g: g.start)
    yield _fact("inspector.ranks", world, first, document, 0)
    yield _fact("inspector.nodes", max(group.nodes for group in groups), first, document, 0)
    large = max((g for g in chosen if g.size >= LARGE), key=lambda g: g.total, default=None)
    if large is not None:
        yield _fact("inspector.busbw_gbs", round(quantile(large.busbw, 0.5), 3), large, document, world)
    small = max((g for g in chosen if g.size <= SMALL), key=lambda g: len(g.times), default=None)
    if small is not None:
        yield _fact("inspector.latency_us", quantile(small.times, 0.5), small, document, world)


def _records(text: str) -> Iterable[Group]:
    groups: dict[tuple[str, str, str, int, str], Group] = {}
    if '_perf"' not in text:
        return ()
    for found in _record().finditer(text):
        comm, rank, ranks, nodes, metadata, op, between, size, time, source, busbw = found.groups()
        peer = ""
        if op in ("Send", "Recv") and "_peer" in between:
            peer = between.partition('_peer"')[2].lstrip(" :\n").partition(",")[0].strip()
        bucket = 1 << max(int(size).bit_length() - 1, 0)
        key = (comm, rank, op, bucket, peer)
        group = groups.get(key)
        if group is None:
            host = re.search(r'"hostname"\s*:\s*"([^"]+)"', metadata)
            group = groups[key] = Group(
                comm,
                rank,
                int(ranks),
                int(nodes),
                f"{op}>{peer}" if peer else op,
                bucket,
                host[1] if host else None,
                source or "",
                found.start(),
            )
        value = float(busbw)
        group.times.append(float(time))
        if math.isfinite(value):
            group.busbw.append(value)
    return groups.values()


_UNITS = {"B": 0, "KB": 10, "MB": 20, "GB": 30, "TB": 40}


def _metrics(text: str) -> Iterable[Group]:
    groups: dict[tuple[str, ...], Group] = {}
    if "_bus_bandwidth_gbs{" not in text:
        return ()
    for found in _metric().finditer(text):
        _, bandwidth, node, gpu, comm, nodes, ranks, op, size, value = found.groups()
        key = (node, gpu, comm, op, size)
        group = groups.get(key)
        if group is None:
            bound = re.match(r"(\d+)-\d+([KMGT]?B)$", size)
            bucket = int(bound[1]) << _UNITS[bound[2]] if bound else 0
            name = re.sub(r"[\s=]+", "_", comm) or "unknown"
            group = groups[key] = Group(
                name, f"gpu{gpu}@{node}", int(ranks), int(nodes), op, bucket, node, "metric", found.start()
            )
        try:
            (group.busbw if bandwidth else group.times).append(float(value))
        except ValueError:
            continue
    return groups.values()


def _fact(key: str, value: str | float, group: Group, document: Document, world: int) -> Fact:
    """A fact about the rank, where the communicator is the largest one and its ranks are those of the job; else the host."""
    index = document.text.count("\n", 0, group.start)
    origin = document.origin(index, "tool", group.start - (document.text.rfind("\n", 0, group.start) + 1))
    own = group.ranks == world and group.rank.isdecimal()
    subject = JOB
    if own:
        subject = Subject("rank", group.rank)
    elif world and group.rank.startswith("gpu") and group.host:
        subject = Subject("gpu", f"{group.host}:{group.rank[3:].partition('@')[0]}")
    elif world and group.host:
        subject = Subject("host", group.host)
    rank = int(group.rank) if own else None
    return Fact(
        key, value, replace(origin, host=group.host or origin.host, rank=rank), subject, max(1, len(group.times))
    )


def read_group(text: str) -> dict[str, str]:
    """The parts of the value of an `inspector.group` fact."""
    return {name: value for name, separator, value in (part.partition("=") for part in text.split(" ")) if separator}
