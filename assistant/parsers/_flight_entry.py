"""One entry of a flight recorder dump, whatever the version that wrote it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

_P2P = re.compile(r"(send|recv) (\d+)(->|<-)(\d+)")
_LIBRARY = re.compile(r"[/\\](?:site|dist)-packages[/\\]|[/\\]torch[/\\]|[/\\]lib[/\\]python3|^<|multiprocessing")

#: Operations for which every rank must hand in (input) or get (output) the same number of elements.
_SAME_INPUT = {
    "all_reduce",
    "allreduce",
    "broadcast",
    "reduce",
    "_reduce_scatter_base",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "allreduce_coalesced",
}
_SAME_OUTPUT = {"all_gather", "_all_gather_base", "all_gather_into_tensor", "allgather"}
#: Operations that no rank can finish before all have begun.
SYNCHRONISING = (
    _SAME_INPUT - {"broadcast", "reduce"}
    | _SAME_OUTPUT
    | {"all_to_all", "alltoall", "all_to_all_single", "barrier", "monitored_barrier"}
)


@dataclass(frozen=True, slots=True)
class Entry:
    group: str
    desc: str
    pg_id: int | None
    seq: int
    """Sequence number among the collectives of the group, or among its sends and receives."""
    op: str
    peer: int | None
    """Number in the group of the other side of a send or receive."""
    sizes: str
    same: str
    """Elements that must be equal on all ranks; empty where they may differ."""
    dtype: str
    state: str
    pending: bool
    ended: bool
    """Retired without having been seen complete: finished or failed, the dump does not tell which."""
    created: int | None
    """Milliseconds."""
    frame: str
    group_size: int | None
    """Ranks in the group, where the sizes of an all-gather or reduce-scatter tell."""

    @property
    def p2p(self) -> bool:
        return self.peer is not None or self.op in ("send", "recv")


def integer(value: Any) -> int | None:
    """An int, also where it was written as text."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if abs(value) < 1 << 63 else None
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,18}", value):
        return int(value)
    return None


def read_entry(raw: dict[str, Any]) -> Entry | None:
    """The entry, or None where it is too damaged to tell what it is."""
    name = raw.get("profiling_name")
    if not isinstance(name, str):
        return None
    op = name.rpartition(":")[2][:120]
    direction = _P2P.search(op)
    p2p = raw.get("is_p2p") is True or direction is not None
    seq = integer(raw.get("p2p_seq_id")) if p2p else None
    if seq is None:
        seq = integer(raw.get("collective_seq_id", raw.get("seq_id")))
    if seq is None:
        return None
    group, desc = _group(raw)
    inputs, outputs = _sizes(raw.get("input_sizes")), _sizes(raw.get("output_sizes"))
    state = raw.get("state") if isinstance(raw.get("state"), str) else "scheduled"
    retired = raw.get("retired") is True
    done = state == "completed" or bool(integer(raw.get("time_discovered_completed_ns")))
    created = integer(raw.get("time_created_ns"))
    return Entry(
        group,
        desc,
        integer(raw.get("pg_id")),
        seq,
        direction[1] if direction else op.split(" ")[0] or "?",
        int(direction[4]) if direction else None,
        _shown(inputs or outputs),
        _same(op, inputs, outputs),
        _dtype(raw),
        str(state),
        not done and not retired,
        not done and retired,
        None if created is None else created // 1_000_000,
        _frame(raw.get("frames")),
        _group_size(op, inputs, outputs),
    )


def _group(raw: dict[str, Any]) -> tuple[str, str]:
    found = raw.get("process_group")
    if isinstance(found, list) and found:
        return str(found[0]), str(found[1]) if len(found) > 1 else ""
    if isinstance(found, str):
        return found, ""
    if isinstance(raw.get("pg_name"), str):
        return raw["pg_name"], ""
    return str(raw.get("pg_id", "0")), ""


def _sizes(value: Any) -> list[list[int]]:
    if not isinstance(value, list):
        return []
    if value and all(isinstance(v, int) for v in value[:16]):
        value = [value]
    return [
        [n for n in shape[:16] if isinstance(n, int) and 0 <= n < 1 << 48]
        for shape in value[:4096]
        if isinstance(shape, list)
    ]


def _elements(shapes: list[list[int]]) -> int:
    total = 0
    for shape in shapes:
        count = 1
        for number in shape:
            count *= number
        total += count
    return total


def _shown(shapes: list[list[int]]) -> str:
    text = " ".join("x".join(str(n) for n in shape) or "1" for shape in shapes[:4])
    return f"{text} ... ({len(shapes)} tensors)" if len(shapes) > 4 else text


def _same(op: str, inputs: list[list[int]], outputs: list[list[int]]) -> str:
    shapes = inputs if op in _SAME_INPUT else outputs if op in _SAME_OUTPUT else []
    return str(_elements(shapes)) if shapes else ""


def _group_size(op: str, inputs: list[list[int]], outputs: list[list[int]]) -> int | None:
    if not inputs or not outputs:
        return None
    one, all_of_them = (
        (_elements(inputs), _elements(outputs)) if op in _SAME_OUTPUT else (_elements(outputs), _elements(inputs))
    )
    if op not in _SAME_OUTPUT and "reduce_scatter" not in op:
        return None
    return all_of_them // one if one > 0 and all_of_them % one == 0 and all_of_them // one < 1_000_000 else None


def _dtype(raw: dict[str, Any]) -> str:
    for key in ("input_dtypes", "output_dtypes"):
        found = raw.get(key)
        if isinstance(found, list) and found:
            return ",".join(sorted({str(d)[:24] for d in found[:64]}))
    return ""


def _frame(frames: Any) -> str:
    """The innermost frame that is not a library's, as `train.py:120 step`."""
    if not isinstance(frames, list):
        return ""
    known = [f for f in frames[:64] if isinstance(f, dict) and isinstance(f.get("filename"), str)]
    own = [f for f in known if not _LIBRARY.search(f["filename"])] or known
    if not own:
        return ""
    file = own[0]["filename"].replace("\\", "/").rsplit("/", 1)[-1]
    return f"{file}:{own[0].get('line', '?')} {own[0].get('name', '')}".strip()[:160]
