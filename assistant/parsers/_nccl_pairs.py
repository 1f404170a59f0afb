"""Pairs of ranks by the transport between them, from the channels that NCCL logs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from assistant.facts import Fact, Subject
from assistant.intake.document import Document

#: Pairs of one text with a slower transport that are named.
NAMED = 16
P2P, MNNVL, SHM = "P2P", "P2P over NVLink", "shared memory"
GPUDIRECT, RDMA, SOCKETS = "RDMA with GPUDirect", "RDMA without GPUDirect", "sockets"
WITHIN, BETWEEN = "within a host", "between hosts"
_NET = re.compile(r"NET/(?P<net>[\w .-]+?)/\d+(?:\(\d+\))?(?P<gdr>/GDRDMA)?")


def net_name(name: str) -> str:
    """Short name of a network: the plugins name the same one in several ways."""
    lower = name.lower()
    if "ofi" in lower or "libfabric" in lower:
        return "OFI"
    if lower.startswith("ib"):
        return "IB"
    return name


def _kind(how: str) -> tuple[str, str] | None:
    """Where a transport is used, and what it is."""
    net = _NET.match(how)
    if net:
        if net["gdr"]:
            return BETWEEN, GPUDIRECT
        return BETWEEN, SOCKETS if net["net"].casefold() in ("socket", "fastsocket") else RDMA
    if how.startswith("P2P/MNNVL"):
        return BETWEEN, MNNVL
    if how.startswith("P2P"):
        return WITHIN, P2P
    if how.startswith("SHM") or "shared memory" in how:
        return WITHIN, SHM
    return None


@dataclass(slots=True)
class Pairs:
    """(where, kind) -> pairs (from, to) with the line of the first channel."""

    found: dict[tuple[str, str], dict[tuple[str, str], int]] = field(default_factory=dict)
    slow: dict[tuple[str, str, str], int] = field(default_factory=dict)

    def add(self, source: str, target: str, how: str, index: int, *, received: bool) -> None:
        """A channel; `received` where the receiving end tells it, since pairs are counted at the sending end."""
        kind = _kind(how)
        if kind is None or source == target:
            return
        if not received:
            self.found.setdefault(kind, {}).setdefault((source, target), index)
        if kind[1] not in (P2P, MNNVL, GPUDIRECT) and len(self.slow) < NAMED:
            self.slow.setdefault((source, target, kind[1]), index)

    def facts(self, document: Document, hosts: Mapping[str, str | None]) -> Iterator[Fact]:
        for (where, kind), pairs in self.found.items():
            counts: dict[tuple[str, str], int] = {}
            lines: dict[tuple[str, str], int] = {}
            for (source, target), index in pairs.items():
                same = where == BETWEEN and kind != MNNVL and _same_host(hosts.get(source), hosts.get(target))
                place = WITHIN if same else where
                counts[source, place] = counts.get((source, place), 0) + 1
                lines.setdefault((source, place), index)
            for (source, place), count in counts.items():
                origin = document.origin(lines[source, place])
                yield Fact("nccl.pairs", f"{place}: {kind}", origin, Subject("rank", source), count)
        for (source, target, kind), index in self.slow.items():
            yield Fact("nccl.pair", f"{source} -> {target} {kind}", document.origin(index), Subject("rank", source))


def _same_host(a: str | None, b: str | None) -> bool:
    return a is not None and a == b
