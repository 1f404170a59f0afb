"""Network figures under keys of the user's own: round trips and MTUs, and a GID index that nobody set.

rtt_ms_between_racks: 3        ping_between_nodes: 35 ms        mtu_node1: 9000 and mtu_node2: 1500
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from assistant.facts import JOB, CaseFile, Fact, Origin

#: From this version on NCCL looks for the row with the right kind of address itself.
FINDS_GID_ITSELF = (2, 21)


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "stated": re.compile(r"^\s*(?P<key>[A-Za-z][\w .,/-]{0,60}?)\s*[:=]\s*(?P<value>[^\n]{1,120})$", re.MULTILINE),
        "round_trip": re.compile(r"(?:^|[_ -])(?:rtt|round[_ -]?trips?|ping)(?:[_ -]|$)", re.IGNORECASE),
        "number": re.compile(r"(?<![\w.])(?P<n>\d+(?:\.\d+)?) ?(?P<unit>ms|us|µs)?\b"),
        "unit": re.compile(r"(?:^|_)(?P<unit>ms|us)(?:_|$)", re.IGNORECASE),
        "mtu": re.compile(r"(?:^|[_ -])mtu(?:[_ -]|s?$)", re.IGNORECASE),
        "size": re.compile(r"(?<![\d.])(?:1[0-9]{3}|2048|4[01]\d\d|8[89]\d\d|9[0-9]{3})(?![\d.])"),
    }


def derive(case: CaseFile) -> Iterable[Fact]:
    stated = [(m["key"], m["value"]) for say in case.says for m in _patterns()["stated"].finditer(say)]
    yield from _round_trip(case, stated)
    yield from _mtu(case, stated)
    yield from _gid_unset(case)


def _round_trip(case: CaseFile, stated: list[tuple[str, str]]) -> Iterator[Fact]:
    if case.about("net.rtt_ms"):
        return
    patterns = _patterns()
    for key, value in stated:
        number = patterns["number"].search(value)
        if number is None or not patterns["round_trip"].search(key):
            continue
        in_key = patterns["unit"].search(key)
        unit = number["unit"] or (in_key["unit"].lower() if in_key else "")
        if unit:
            rtt = float(number["n"]) * (1.0 if unit == "ms" else 1e-3)
            yield Fact("net.rtt_ms", round(rtt, 5), Origin("derived", quote=f"{key}: {value}"[:200]), JOB)
            return


def _mtu(case: CaseFile, stated: list[tuple[str, str]]) -> Iterator[Fact]:
    """Two MTUs under keys that speak of the MTU; one key with one figure says nothing."""
    if case.about("net.mtu_differs"):
        return
    patterns = _patterns()
    told = [
        (key, size) for key, value in stated if patterns["mtu"].search(key) for size in patterns["size"].findall(value)
    ]
    if len({size for _, size in told}) > 1:
        shown = ", ".join(f"{key} {size}" for key, size in told[:4])
        yield Fact("net.mtu_differs", shown, Origin("derived", quote=shown[:200]), JOB)


def _gid_unset(case: CaseFile) -> Iterator[Fact]:
    """RoCE, a GID table whose IPv4 row is not the first, no index set, and an NCCL that takes the first row."""
    rows = [f for f in case.about("gid.ipv4_index") if isinstance(f.value, int) and f.value > 0]
    if (
        not rows
        or case.about("env.NCCL_IB_GID_INDEX")
        or not any(f.value == "RoCE" for f in case.about("nccl.hca_link"))
    ):
        return
    version = tuple(int(n) for n in re.findall(r"\d+", str(case.value("nccl_version") or ""))[:2])
    if version < FINDS_GID_ITSELF:
        origin = rows[0].origin
        quote = origin.derived()
        yield Fact("net.gid_index_unset", ", ".join(sorted({str(f.value) for f in rows})), quote, JOB)
