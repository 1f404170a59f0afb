"""Collectives of a trace: which one a kernel is, how large its message, what bus bandwidth it reached."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from assistant.intake.trace_events import number_of, text_of

#: Kernels that communicate: NCCL and RCCL of all versions, MSCCL, NVSHMEM, DeepEP, the one-shot kernels of inference engines.
COMM_KERNEL = re.compile(
    r"nccl(?:Dev)?Kernel|^nccl|rccl|mscclKernel|nvshmem|deep_ep::|(?:one|two)_shot_all_?reduce|cross_device_reduce",
    re.I,
)
SMALL = 256 << 10
LARGE = 8 << 20
#: Messages whose bandwidth is kept for each kind, and calls that are matched with kernels.
SAMPLES = 4000
CALLS = 20_000

_KINDS = (
    ("barrier", "barrier"),
    ("allreduce", "all_reduce"),
    ("allgather", "all_gather"),
    ("reducescatter", "reduce_scatter"),
    ("alltoall", "all_to_all"),
    ("broadcast", "broadcast"),
    ("send", "send_recv"),
    ("recv", "send_recv"),
    ("reduce", "reduce"),
    ("gather", "gather"),
    ("scatter", "scatter"),
)
_WIDTH = {
    "float": 4, "float32": 4, "int": 4, "int32": 4, "double": 8, "float64": 8, "long": 8, "long int": 8, "int64": 8,
    "half": 2, "float16": 2, "bfloat16": 2, "short": 2, "byte": 1, "char": 1, "bool": 1, "unsigned char": 1,
    "signed char": 1, "int8": 1, "uint8": 1,
}  # fmt: skip
_DIMS = re.compile(r"\[\s*((?:\d+\s*,\s*)*\d+)\s*\]")


def kind_of(name: str) -> str:
    """The collective that a name stands for, of a kernel, an annotation or the field "Collective name".

    >>> [kind_of(n) for n in ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "nccl:_reduce_scatter_base")]
    ['all_reduce', 'reduce_scatter']
    """
    plain = re.split(r"[(<]", name, maxsplit=1)[0].lower().replace("_", "").replace("sum", "")
    return next((kind for mark, kind in _KINDS if mark in plain), "other")


def width_of(dtype: str) -> int:
    """Bytes of an element; 0 where the type is not known."""
    plain = dtype.lower().removeprefix("c10::").strip()
    return 1 if plain.startswith("float8") else _WIDTH.get(plain, 0)


def message(args: str | dict[str, Any]) -> tuple[int, int]:
    """(bytes, ranks) of a message by the metadata that torch 2.2 and later write; 0 where they are not there."""
    sent, got = number_of(args, "In msg nelems"), number_of(args, "Out msg nelems")
    if sent is None and got is None:
        return 0, 0
    return int(max(sent or 0, got or 0)) * width_of(text_of(args, "dtype")), int(number_of(args, "Group size") or 0)


def shape(args: str | dict[str, Any]) -> int:
    """Bytes of the first input by its shape and type, as an annotation of any version gives them; 0 where it does not."""
    dims, types = _DIMS.search(text_of(args, "Input Dims")), re.search(r'"([^"]+)"', _after(args, "Input type"))
    if dims is None or types is None:
        return 0
    size = width_of(types[1])
    for number in dims[1].split(","):
        size *= int(number)
    return size


def _after(args: str | dict[str, Any], key: str) -> str:
    if isinstance(args, dict):
        return text_of(args, key)
    at = args.find(f'"{key}"')
    return args[at + len(key) + 2 : at + len(key) + 200] if at >= 0 else ""


def _factor(kind: str, ranks: int) -> float:
    if ranks < 2:
        return 0.0
    if kind == "all_reduce":
        return 2 * (ranks - 1) / ranks
    return (ranks - 1) / ranks if kind in ("all_gather", "reduce_scatter", "all_to_all") else 1.0


@dataclass
class Kind:
    """All messages of one collective."""

    count: int = 0
    time: float = 0.0
    bytes: int = 0
    sized: int = 0
    sized_time: float = 0.0
    small: int = 0
    small_time: float = 0.0
    ranks: int = 0
    rates: list[float] = field(default_factory=list)
    """Bus bandwidth of large messages, GB/s."""
    bare: list[tuple[float, float]] = field(default_factory=list)
    """(start, length) of kernels that don't say their size."""
    calls: list[tuple[float, int]] = field(default_factory=list)
    """(start, bytes) of the calls on the host."""

    def add(self, kind: str, start: float, length: float, size: int, ranks: int) -> None:
        self.count += 1
        self.time += length
        if size:
            self._sized(kind, length, size, ranks)
        elif len(self.bare) < CALLS:
            self.bare.append((start, length))

    def _sized(self, kind: str, length: float, size: int, ranks: int) -> None:
        self.sized += 1
        self.sized_time += length
        self.bytes += size
        self.ranks = max(self.ranks, ranks)
        if size < SMALL:
            self.small += 1
            self.small_time += length
        elif size >= LARGE and length > 0 and ranks > 1 and len(self.rates) < SAMPLES:
            self.rates.append(_factor(kind, ranks) * size / length / 1e3)

    def match(self, kind: str, world: int) -> None:
        """Gives kernels without a size that of the calls, where there are as many of one as of the other."""
        if not self.bare or len(self.bare) != len(self.calls) or self.sized:
            return
        for (_, length), (_, size) in zip(sorted(self.bare), sorted(self.calls), strict=True):
            if size:
                self._sized(kind, length, size, world)

    def short(self) -> dict[str, Any]:
        found: dict[str, Any] = {"n": self.count, "us": round(self.time, 1)}
        if self.sized:
            found |= {
                "bytes": self.bytes,
                "sized": self.sized,
                "sized_us": round(self.sized_time, 1),
                "ranks": self.ranks,
            }
            found |= {"small": self.small, "small_us": round(self.small_time, 1)}
        if self.rates:
            ordered = sorted(self.rates)
            found |= {
                "busbw": round(median(ordered), 2),
                "busbw_best": round(ordered[int(0.9 * (len(ordered) - 1))], 2),
                "large": len(ordered),
            }
        return found


class Collectives:
    """The messages of a trace by their kind."""

    def __init__(self) -> None:
        self.kinds: dict[str, Kind] = {}
        self._names: dict[str, str] = {}

    def of(self, name: str) -> tuple[str, Kind]:
        kind = self._names.get(name)
        if kind is None:
            kind = self._names[name] = kind_of(name)
            if len(self._names) > 10_000:
                self._names.clear()
        return kind, self.kinds.setdefault(kind, Kind())

    def kernel(self, name: str, start: float, length: float, args: str | dict[str, Any]) -> None:
        size, ranks = message(args)
        kind, found = self.of(text_of(args, "Collective name") or name)
        found.add(kind, start, length, size, ranks)

    def annotation(self, name: str, start: float, length: float, args: str | dict[str, Any], world: int) -> None:
        """A collective of the CPU, which lasts as long as its annotation."""
        kind, found = self.of(name)
        found.add(kind, start, length, shape(args), world)

    def call(self, name: str, start: float, size: int) -> None:
        found = self.of(name)[1]
        if len(found.calls) < CALLS:
            found.calls.append((start, size))

    def short(self, world: int) -> dict[str, dict[str, Any]]:
        for kind, found in self.kinds.items():
            found.match(kind, world)
        return {kind: found.short() for kind, found in sorted(self.kinds.items()) if found.count}
