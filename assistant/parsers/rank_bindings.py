r"""Cores that the processes of a job are bound to: Open MPI's report, and affinity lists of several processes.

[node1:23211] MCW rank 0 bound to socket 0[core 0[hwt 0]]: [B/././.][./././.]
[node1:23211] Rank 1 bound to package[0][core:1]
pid 4411's current affinity list: 0
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from assistant.facts import Fact, Origin
from assistant.intake.document import Document

NAME = "bindings of the ranks"
TRIGGERS = ("bound to socket", "bound to package", "current affinity list")
VERSIONS = "Open MPI 1.6 to 5.0 --report-bindings (socket and package), taskset -p"


@cache
def _report() -> re.Pattern[str]:
    return re.compile(
        r"[Rr]ank \d+ bound to (?:socket (?P<s>\d+)\[core (?P<c>\d+)|package\[(?P<p>\d+)\]\[core:(?P<k>[\d,-]+)\])(?P<rest>.*)"
    )


@cache
def _list() -> re.Pattern[str]:
    return re.compile(r"pid (?P<pid>\d+)'s current affinity list: (?P<cpus>[\d,-]+)")


def parse(document: Document) -> Iterable[Fact]:
    sockets: list[str] = []
    cores: dict[str, list[Origin]] = {}
    seen: set[str] = set()
    several = False
    for index, text in enumerate(document.lines):
        found = _report().search(text)
        if found:
            sockets.append(found["s"] or found["p"])
            several = several or (found["rest"].count("[") > 1 and "][" in found["rest"])
            one_core = found["k"] is None or found["k"].isdecimal()
            if one_core and found["rest"].count("socket") == 0:
                cores.setdefault(f"{sockets[-1]}:{found['c'] or found['k']}", []).append(document.origin(index, "tool"))
            continue
        found = _list().search(text)
        if found and found["cpus"].isdecimal() and found["pid"] not in seen:
            seen.add(found["pid"])
            cores.setdefault(found["cpus"], []).append(document.origin(index, "tool"))
    shared = max(cores.values(), key=len, default=[])
    if len(shared) > 1:
        yield Fact("cpu.shared_core", len(shared), shared[1])
    if several and len(sockets) > 1 and len(set(sockets)) == 1:
        first = next(iter(cores.values()))[0] if cores else document.origin(0, "tool")
        yield Fact("cpu.one_socket_only", True, first)
