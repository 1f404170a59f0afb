"""Which adapters carry the traffic: RDMA ports that stand still beside busy Ethernet, adapters that idle beside busy ones."""

from __future__ import annotations

import re
from collections.abc import Iterable

from assistant.facts import CaseFile, Fact

#: Less than this share of the busiest adapter is no traffic of the job.
IDLE = 0.03
#: Gbit/s from which an adapter counts as busy.
BUSY = 1.0
_RDMA = re.compile(r"(?:^|/)(?:mlx|roce?p\d|ibp\d|bnxt_re|irdma|rdmap|efa|hfi|ib\d|hsn)")
_VIRTUAL = re.compile(r"(?:^|/)(?:lo|docker|br-|virbr|veth|cni|flannel|cali|tun|tap|tailscale|wg|vxlan|bond)")
_BONDED = re.compile(r"(?:^|/)bond\d|mlx5_bond")


def derive(case: CaseFile) -> Iterable[Fact]:
    yield from _hca_is_bond(case)
    yield from _hca_filter(case)
    rates: dict[str, tuple[float, Fact]] = {}
    for key in ("nic.tx_gbps", "nic.tx_gbit_between"):
        for fact in case.about(key):
            if isinstance(fact.value, int | float) and not _VIRTUAL.search(fact.subject.name):
                known = rates.get(fact.subject.name)
                if known is None or fact.value > known[0]:
                    rates[fact.subject.name] = (float(fact.value), fact)
        if rates:
            break
    if len(rates) < 2:
        return
    top, busiest = max(rates.values(), key=lambda r: r[0])
    if top < BUSY:
        return
    rdma = {n: v for n, (v, _) in rates.items() if _RDMA.search(n)}
    ethernet = {n: v for n, (v, _) in rates.items() if not _RDMA.search(n)}
    if rdma and ethernet and max(ethernet.values()) >= BUSY and max(rdma.values()) < IDLE * top:
        yield _derived(busiest, "net.rdma_idle", True)
        return
    alike = rdma if len(rdma) > 1 and busiest.subject.name in rdma else _family(busiest.subject.name, ethernet)
    if len(alike) > 1:
        busy = sum(v > IDLE * top for v in alike.values())
        yield _derived(busiest, "nic.busy_share", round(busy / len(alike), 3))


def _family(name: str, rates: dict[str, float]) -> dict[str, float]:
    """Interfaces named like this one up to the last number: the ports of one card or bond."""
    stem = re.sub(r"\d+(?:np\d+)?$", "", name)
    return {n: v for n, v in rates.items() if re.sub(r"\d+(?:np\d+)?$", "", n) == stem}


def _hca_is_bond(case: CaseFile) -> Iterable[Fact]:
    """NCCL uses the bonded adapter although single ones, the compute rails, are there and up."""
    used = [f for f in case.about("nccl.hcas") if "bond" in str(f.value)]
    others = {
        f.subject.name
        for f in case.about("ib.netdev")
        if not _BONDED.search(f.subject.name) and "bond" not in str(f.value)
    }
    if used and len(others) >= 2 and all("bond" in part for part in str(used[0].value).split(",")):
        yield _derived(used[0], "nccl.hca_kind", "bond-beside-rails")


def _hca_filter(case: CaseFile) -> Iterable[Fact]:
    """The share of active ports that NCCL_IB_HCA admits."""
    ports = {
        f.subject.name.rpartition("/")[2].partition(":")[0] for f in case.about("ib.state") if str(f.value) == "Active"
    }
    for fact in case.about("env.NCCL_IB_HCA"):
        text = str(fact.value)
        if len(ports) < 2 or text.startswith("^"):
            continue
        names = [part.partition(":")[0] for part in text.lstrip("=").split(",") if part]
        exact = text.startswith("=")
        admitted = {p for p in ports if any(p == n if exact else p.startswith(n) for n in names)}
        if admitted:
            yield _derived(fact, "nccl.hca_filter_share", round(len(admitted) / len(ports), 3))
            return


def _derived(source: Fact, key: str, value: str | float | bool) -> Fact:
    o = source.origin
    return Fact(key, value, o.derived())
