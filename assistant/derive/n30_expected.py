"""What this hardware should give: expected bus bandwidth beside the measured one, NICs in use beside NICs there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from assistant.facts import JOB, CaseFile, Fact, Origin
from knowledge.hardware_tables import Host, Range, find_gpu, find_host, gpus, nvlink_busbw, rdma_gbs, tcp_gbs

#: Share of the large-message bandwidth that a message of this size reaches, inside a host and between hosts.
_BY_SIZE_INSIDE = (
    (1 << 20, 0.08),
    (8 << 20, 0.40),
    (64 << 20, 0.72),
    (512 << 20, 0.93),
    (1 << 30, 0.97),
    (8 << 30, 1.0),
)
_BY_SIZE_BETWEEN = (
    (1 << 20, 0.04),
    (16 << 20, 0.25),
    (64 << 20, 0.45),
    (256 << 20, 0.72),
    (1 << 30, 0.92),
    (8 << 30, 1.0),
)
#: Bus bandwidth of GPUs without NVLink, by PCIe generation.
_PCIE: dict[int, Range] = {3: (5.0, 12.0), 4: (9.0, 24.0), 5: (16.0, 45.0), 6: (30.0, 80.0)}
_COUNT = re.compile(
    r"\b(?P<n>\d{1,2}) ?[x*×] ?(?:\w+[ -]){0,2}?(?P<rate>10|25|40|50|56|100|200|400|800) ?g", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Expected:
    """A range in GB/s, the typical figure in it, and what bounds it."""

    span: Range
    typical: float
    bound: str


def derive(case: CaseFile) -> Iterable[Fact]:
    host = instance(case)
    nics = nic_sum(case, host)
    if nics is not None:
        yield _fact("expected.nic_gbs", round(nics, 2))
    yield from _nic_share(case, host)
    peaks = [f for f in case.about("nccl_tests.busbw_peak_gbs") if isinstance(f.value, int | float)]
    for peak in peaks:
        expected = _expected(case, host, nics, peak)
        if expected is None:
            continue
        yield _fact("nccl_tests.expected_gbs", round(expected.typical, 2), peak.origin)
        yield _fact("nccl_tests.expected_low_gbs", round(expected.span[0], 2), peak.origin)
        yield _fact("nccl_tests.bound", expected.bound, peak.origin)
        yield _fact("nccl_tests.share_of_expected", round(float(peak.value) / expected.typical, 3), peak.origin)
    op = case.about("nccl_tests.op")
    if len(peaks) > 1 and len({f.value for f in op}) <= 1 and not case.about("nccl_tests.runs_ratio"):
        values = [float(f.value) for f in peaks]
        if min(values) > 0 and len({f.value for f in case.about("nccl_tests.nodes")}) <= 1:
            yield _fact("nccl_tests.runs_ratio", round(max(values) / min(values), 2), peaks[-1].origin)


def _fact(key: str, value: str | float, like: Origin | None = None) -> Fact:
    origin = Origin("derived", like.file, like.line, like.host, like.rank, like.quote) if like else Origin("derived")
    return Fact(key, value, origin, JOB)


def instance(case: CaseFile) -> Host | None:
    """The instance type or well-known host that the user names."""
    texts = [str(f.value) for key in ("instance", "network", "gpu", "platform", "cloud") for f in case.about(key)]
    for text in (*texts, *case.says):
        found = find_host(text)
        if found is not None:
            return found
    return None


def nic_sum(case: CaseFile, host: Host | None) -> float | None:
    """GB/s of all NICs of one host, as stated or as its type has them."""
    rate = case.value("network_gbps")
    counts = [case.value("nccl.hca_count"), case.value("ib.devices")]
    count = max((int(c) for c in counts if isinstance(c, int | float) and c > 0), default=0)
    named = next((m for text in (str(case.value("network") or ""), *case.says) if (m := _COUNT.search(text))), None)
    if named:
        return int(named["n"]) * float(named["rate"]) / 8
    if host is not None and host.nic_gbs:
        return host.nic_gbs
    if isinstance(rate, int | float) and rate > 0:
        return float(rate) / 8 * max(count, 1)
    return None


def _nic_share(case: CaseFile, host: Host | None) -> Iterator[Fact]:
    used = case.best("nccl.hca_count")
    if used is None or not isinstance(used.value, int):
        return
    there = [int(f.value) for f in case.about("ib.devices") if isinstance(f.value, int | float)]
    listed = {
        f.subject.name.rpartition("/")[2].partition(":")[0]
        for key in ("ib.netdev", "ib.state")
        for f in case.about(key)
    }
    total = max([*there, len(listed)], default=0)
    if not total and host is not None and host.nic_count and "EFA" not in host.nic_kind:
        total = host.nic_count
    if total > 1:
        yield _fact("nccl.nic_share", round(min(used.value / total, 1.0), 3), used.origin)


def _at_size(span: Range, typical: float, bound: str, size: float, nodes: int) -> Expected:
    table = _BY_SIZE_INSIDE if nodes == 1 else _BY_SIZE_BETWEEN
    if bound == "pcie" or (bound == "nic" and typical < 15):
        size = size * 16
    share = table[0][1]
    for (small, low), (large, high) in pairwise(table):
        if size >= small:
            share = low + (high - low) * min((size - small) / (large - small), 1.0)
    return Expected((span[0] * share, span[1]), typical * share, bound)


def _before(facts: list[Fact], peak: Fact) -> Fact | None:
    """The fact of the same table: the last one above the row in the same file."""
    same = [f for f in facts if f.origin.file == peak.origin.file and (f.origin.line or 0) <= (peak.origin.line or 0)]
    return max(same, key=lambda f: f.origin.line or 0, default=None)


def _int(fact: Fact | None) -> int | None:
    return int(fact.value) if fact is not None and isinstance(fact.value, int | float) else None


def _expected(case: CaseFile, host: Host | None, nics: float | None, peak: Fact) -> Expected | None:
    op = _before(case.about("nccl_tests.op"), peak)
    if op is not None and op.value not in ("all_reduce", "all_gather", "reduce_scatter", "reduce", "broadcast"):
        return None
    nodes = _int(_before(case.about("nccl_tests.nodes"), peak)) or _int(case.best("nodes"))
    ranks = _int(_before(case.about("nccl_tests.ranks"), peak))
    local = _int(_before(case.about("nccl_tests.gpus_per_node"), peak)) or _int(case.best("gpus_per_node")) or 8
    size = _int(_before(case.about("nccl_tests.size_max"), peak)) or _int(case.best("nccl_tests.size_max")) or 1 << 30
    if nodes is None or ranks == 1:
        return None
    gpu = find_gpu(str(case.value("gpu") or "")) or next(
        (g for g in gpus() if host is not None and g.id == host.gpu), None
    )
    inside = nvlink_busbw(gpu, local) if gpu is not None else None
    if nodes == 1:
        if host is not None and host.single and local == host.gpus:
            return _at_size(host.single, sum(host.single) / 2, "nvlink", size, 1)
        if inside is not None:
            return _at_size(inside, sum(inside) / 2, "nvlink", size, 1)
        if gpu is not None and gpu.pcie_gen in _PCIE:
            span = _PCIE[gpu.pcie_gen]
            return _at_size(span, sum(span) / 2, "pcie", size, 1)
        return None
    if host is not None and local == host.gpus:
        known = host.two if nodes == 2 and host.two else host.multi
        if known:
            return _at_size(known, sum(known) / 2, "nic", size, nodes)
    if nics is None:
        return None
    rdma = case.value("network_rdma")
    if rdma is False:
        rate = case.value("network_gbps")
        span = tcp_gbs(float(rate)) if isinstance(rate, int | float) and rate > 0 else tcp_gbs(nics * 8)
        return _at_size(span, span[1], "nic", size, nodes)
    low, high = rdma_gbs(nics * 8)
    if inside is None and gpu is not None and gpu.pcie_gen in _PCIE:
        high = min(high, _PCIE[gpu.pcie_gen][1])
        low = min(low, high * 0.7)
    typical = (low + high) / 2
    return _at_size((low, high), typical, "nic", size, nodes)
