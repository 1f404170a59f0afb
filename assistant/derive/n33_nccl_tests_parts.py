"""Which part of an nccl-tests table is worse than usual: the latency of small messages or the bandwidth of large ones."""

from __future__ import annotations

import math
from collections.abc import Iterable

from assistant.facts import CaseFile, Fact, Origin

#: Usual latency of a small all-reduce in microseconds: inside a host, and what each doubling of hosts adds by kind of network.
INSIDE = 25.0
DOUBLING = {"rdma": 14.0, "efa": 45.0, "tcp": 70.0}
BAD_LATENCY = 2.5
BAD_BANDWIDTH = 0.6


def derive(case: CaseFile) -> Iterable[Fact]:
    alphas = [f for f in case.about("nccl_tests.alpha_us") if isinstance(f.value, int | float)]
    if not alphas:
        return
    worst = max(alphas, key=lambda fact: float(fact.value))
    nodes = max((int(f.value) for f in case.about("nccl_tests.nodes") if isinstance(f.value, int)), default=0)
    if not nodes:
        stated = case.value("nodes")
        nodes = int(stated) if isinstance(stated, int) else 0
    if not nodes:
        return
    ratio = float(worst.value) / usual_latency(nodes, _network(case))
    yield _fact("nccl_tests.latency_ratio", round(ratio, 2), worst)
    shares = [float(f.value) for f in case.about("nccl_tests.share_of_expected") if isinstance(f.value, int | float)]
    if not shares:
        return
    slow, late = min(shares) < BAD_BANDWIDTH, ratio >= BAD_LATENCY
    part = "both" if slow and late else "bandwidth" if slow else "latency" if late else "neither"
    yield _fact("nccl_tests.bad_part", part, worst)


def usual_latency(nodes: int, network: str) -> float:
    return INSIDE + DOUBLING[network] * math.ceil(math.log2(max(nodes, 1)))


def _network(case: CaseFile) -> str:
    net = str(case.value("nccl.net") or case.value("nccl.via_internode") or case.value("network") or "").lower()
    if "socket" in net or case.value("network_rdma") is False:
        return "tcp"
    return "efa" if any(word in net for word in ("efa", "ofi", "libfabric")) else "rdma"


def _fact(key: str, value: str | float, like: Fact) -> Fact:
    o = like.origin
    return Fact(key, value, Origin("derived", o.file, o.line, o.host, o.rank, o.quote))
