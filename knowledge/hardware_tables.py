"""Typed access to the hardware data: GPUs, hosts and instance types, networks, measured bus bandwidths.

Data: `hardware/{gpus,instances,networks,expected_busbw}.yaml`. Figures are in GB/s one direction unless named otherwise.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from knowledge.load import ROOT
from knowledge.settings_table import read_tables

FOLDER = ROOT / "hardware"
Range = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU model. `nvlink_gbs` is 0 without NVLink; `pairs_only` where a bridge joins two cards."""

    id: str
    names: tuple[str, ...]
    nvlink_gbs: float
    pairs_only: bool
    pcie_gen: int
    p2p_pcie: bool
    tdp_w: float | None


@dataclass(frozen=True, slots=True)
class Host:
    """A well-known host or instance type; ranges are bus bandwidths of all-reduce at large messages."""

    id: str
    maker: str
    gpu: str
    gpus: int
    nic_count: int | None
    nic_gbps: float | None
    nic_kind: str
    nic_gbs: float | None
    single: Range | None
    two: Range | None
    multi: Range | None


@dataclass(frozen=True, slots=True)
class Measurement:
    """A published table: `points` is message size in bytes to bus bandwidth."""

    id: str
    gpu: str
    op: str
    nodes: int
    gpus: int
    nic_gbs: float | None
    tuned: str
    points: tuple[tuple[int, float], ...]


@cache
def _raw(name: str) -> Any:
    return read_tables([FOLDER / f"{name}.yaml"], name)[name]


def _range(value: Any) -> Range | None:
    if isinstance(value, list) and len(value) == 2:
        return float(value[0]), float(value[1])
    return None


def _one(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None


@cache
def gpus() -> tuple[Gpu, ...]:
    found = []
    for raw in _raw("gpus")["gpus"]:
        nvlink = raw.get("nvlink") or {}
        found.append(
            Gpu(
                raw["id"],
                tuple(raw["names"]),
                float(nvlink.get("uni_gbs", 0)),
                "scope" in nvlink,
                int((raw.get("pcie") or {}).get("gen", 0)),
                bool(raw.get("p2p_pcie")),
                _one(raw.get("tdp_w")),
            )
        )
    return tuple(found)


@cache
def hosts() -> tuple[Host, ...]:
    found = []
    for raw in _raw("instances")["nodes"]:
        nics, expect = raw.get("nics") or {}, raw.get("expect") or {}
        count, rate = _one(nics.get("count")), _one(nics.get("gbps"))
        found.append(
            Host(
                raw["id"],
                raw["maker"],
                raw["gpu"],
                int(raw["gpus"]),
                None if count is None else int(count),
                rate,
                str(nics.get("kind", "")),
                _one(raw.get("node_nic_gbs")),
                _range(expect.get("single")),
                _range(expect.get("two")),
                _range(expect.get("multi")),
            )
        )
    return tuple(found)


@cache
def measurements() -> tuple[Measurement, ...]:
    found = []
    for raw in _raw("expected_busbw")["rows"]:
        if not isinstance(raw["nodes"], int) or not isinstance(raw["gpus"], int):
            continue
        points = [(size_of(k), _one(v)) for k, v in raw["points"].items()]
        good = tuple(sorted((s, v) for s, v in points if s is not None and v is not None))
        nic = _one(raw.get("nic_gbs"))
        found.append(
            Measurement(
                raw["id"], raw["gpu"], raw.get("op", "all_reduce"), raw["nodes"], raw["gpus"], nic, raw["tuned"], good
            )
        )
    return tuple(found)


def size_of(text: str) -> int | None:
    """Bytes of 64M, 1G; None for other labels."""
    found = re.fullmatch(r"(\d+)([KMG])B?", text)
    return int(found[1]) << {"K": 10, "M": 20, "G": 30}[found[2]] if found else None


def _words(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", " ", name.lower()).strip()


#: What people call a model -> its id, most special first.
_GPU_NAMES = (
    (r"gb300", "gb300"), (r"gb200", "gb200"), (r"gh200", "gh200"), (r"b300", "b300"), (r"b200", "b200"), (r"b100", "b100"),
    (r"h200", "h200-sxm"), (r"h100 nvl|h100nvl", "h100-nvl"), (r"h100.*pcie", "h100-pcie"), (r"h100", "h100-sxm5"),
    (r"h800", "h800-sxm5"), (r"\bh20\b", "h20"), (r"a100.*(40 ?gb?)?.*pcie|a100.*pcie", "a100-pcie-80"),
    (r"a100.*40", "a100-sxm4-40"), (r"a100", "a100-sxm4-80"), (r"a800", "a800"), (r"\ba30\b", "a30"), (r"\ba10g\b", "a10g"),
    (r"\ba10\b", "a10"), (r"\ba40\b", "a40"), (r"\ba6000\b", "rtx-a6000"), (r"3090", "rtx-3090"), (r"4090", "rtx-4090"),
    (r"5090", "rtx-5090"), (r"pro 6000", "rtx-pro-6000-bw"), (r"l40s?\b", "l40s"), (r"\bl20\b", "l20"), (r"\bl4\b", "l4"),
    (r"\bt4\b", "t4"), (r"v100.*pcie", "v100-pcie"), (r"v100", "v100-sxm2"), (r"p100.*pcie", "p100-pcie"), (r"p100", "p100-sxm2"),
    (r"mi300x", "mi300x"), (r"mi325x", "mi325x"), (r"mi355x", "mi355x"), (r"mi250x?", "mi250x"),
)  # fmt: skip


@lru_cache(maxsize=1024)
def find_gpu(name: str) -> Gpu | None:
    """The model that a stated or printed name means."""
    words = _words(name)
    wanted = next((gpu for pattern, gpu in _GPU_NAMES if re.search(pattern, words)), None)
    return next((gpu for gpu in gpus() if gpu.id == wanted), None)


def find_host(text: str) -> Host | None:
    """The instance type or host that a text names, the longest name first."""
    lower = text.lower()
    for host in sorted(hosts(), key=lambda h: -len(h.id)):
        name = host.id.lower()
        short = name.split(".")[0] if host.maker == "AWS" else name
        if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])|(?<![\w.-]){re.escape(short)}(?![\w-])", lower):
            return host
    return None


def nvlink_busbw(gpu: Gpu, ranks: int) -> Range | None:
    """Bus bandwidth of a single NVLink host at large messages: measured where known, else from the link rate."""
    if gpu.nvlink_gbs <= 0 or (gpu.pairs_only and ranks > 2):
        return None
    for host in hosts():
        if host.gpu == gpu.id and host.gpus == ranks and host.single:
            return host.single
    return gpu.nvlink_gbs * 0.68, gpu.nvlink_gbs * 1.07


def tcp_gbs(rate_gbps: float) -> Range:
    """What TCP gets of an Ethernet port, by interpolation between the table's rates on a logarithmic scale."""
    rows = [(float(r["rate_gbps"]), _range(r["tcp_gbs"])) for r in _raw("networks")["ethernet"] if r["tcp_gbs"]]
    known = sorted((rate, span) for rate, span in rows if span is not None)
    below = max((k for k in known if k[0] <= rate_gbps), default=known[0])
    above = min((k for k in known if k[0] >= rate_gbps), default=known[-1])
    if below[0] == above[0]:
        scale = rate_gbps / below[0] if rate_gbps < known[0][0] else 1.0
        return below[1][0] * scale, below[1][1] * scale
    part = math.log(rate_gbps / below[0]) / math.log(above[0] / below[0])
    low, high = (below[1][i] + (above[1][i] - below[1][i]) * part for i in (0, 1))
    return low, high


def rdma_gbs(rate_gbps: float) -> Range:
    """What RDMA with GPUDirect gets of a port."""
    return rate_gbps / 8 * 0.85, rate_gbps / 8 * 0.98
