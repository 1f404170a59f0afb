r"""Where MPI put its processes and over what it talks: Open MPI's `--display-map`, and what Intel MPI prints for I_MPI_DEBUG.

 Data for node: node1   Num slots: 2    Max slots: 0    Num procs: 2
        Process OMPI jobid: [54391,1] App: 0 Process rank: 0 Bound: socket 0[core 0[hwt 0]]:[B/./.][./././]

[0] MPI startup(): Intel(R) MPI Library, Version 2021.12  Build 20240213 (id: 4f55822)
[0] MPI startup(): libfabric provider: tcp;ofi_rxm
[0] MPI startup(): Rank    Pid      Node name       Pin cpu
[0] MPI startup(): 0       17077    gpu01           {0,1,15}
[0] MPI startup(): Rank    Pin nic
[0] MPI startup(): 0       eth0
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from assistant.facts import Fact, Origin, Subject
from assistant.intake.document import Document
from assistant.parsers._gather import Gather, host_named, rank_subject

NAME = "MPI map"
TRIGGERS = ("JOB MAP", "Data for node:", "MPI startup()")
VERSIONS = "Open MPI 1.4 to 4.1 (--display-map), Open MPI 5 with PRRTE (--display map), Intel MPI 2018 to 2021 with I_MPI_DEBUG=1 to 5"

_RANKS = 4096


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "node": re.compile(
            r"Data for node: (?:Name: )?(?P<host>[\w.-]+)\s+(?:.*?Num slots: (?P<slots>\d+))?(?:.*?Num procs: (?P<procs>\d+))?"
        ),
        "process": re.compile(r"Process (?:OMPI )?jobid: \S+ (?:App: \d+ )?Process rank: (?P<rank>\d+)"),
        "version": re.compile(r"Intel\(R\) MPI Library, Version (?P<v>[\d.]+)"),
        "provider": re.compile(r"MPI startup\(\): libfabric provider: (?P<p>[\w;-]+)"),
        "pin": re.compile(r"MPI startup\(\): (?P<rank>\d+)\s+(?P<pid>\d+)\s+(?P<host>[A-Za-z0-9][\w.-]*)\s+\{?(?P<cpus>\d[\d,-]*)\}?\s*$"),
        "nic": re.compile(r"MPI startup\(\): (?P<rank>\d+)\s+(?P<nic>[a-zA-Z]\w*)\s*$"),
        "nics": re.compile(r"Number of NICs:\s+(?P<n>\d+)"),
    }  # fmt: skip


def parse(document: Document) -> Iterable[Fact]:
    found = Gather(document, "tool")
    patterns = _patterns()
    node = ""
    counts: dict[str, int] = {}
    pinned: dict[tuple[str, str], list[Origin]] = {}
    nics = False
    for index, text in enumerate(document.lines):
        if "Data for node:" in text:
            named = patterns["node"].search(text)
            if named:
                node = named["host"]
                counts.setdefault(node, 0)
                found.add("mpi.node", node, index, host_named(node))
                if named["procs"]:
                    found.add("mpi.procs", int(named["procs"]), index, host_named(node))
                if named["procs"] and named["slots"] and int(named["procs"]) > int(named["slots"]) > 0:
                    found.add(
                        "mpi.oversubscribed", f"{named['procs']} on {named['slots']} slots", index, host_named(node)
                    )
        elif "Process rank:" in text and node:
            counts[node] += 1
        elif "MPI startup()" in text:
            version, provider = patterns["version"].search(text), patterns["provider"].search(text)
            if version:
                found.add("mpi.version", f"Intel MPI {version['v']}", index)
            if provider:
                found.add("mpi.provider", provider["p"], index)
            if "Rank" in text and "Pin nic" in text:
                nics = True
            pin = patterns["pin"].search(text)
            if pin and len(pinned) < _RANKS:
                nics = False
                found.add("mpi.node", pin["host"], index, host_named(pin["host"]))
                counts[pin["host"]] = counts.get(pin["host"], 0) + 1
                pinned.setdefault((pin["host"], pin["cpus"]), []).append(document.origin(index, "tool"))
            nic = patterns["nic"].search(text) if nics else None
            if nic:
                found.add("mpi.rank_nic", nic["nic"], index, rank_subject(nic["rank"]))
    facts = found.facts
    if counts:
        first = facts[0].origin
        facts.append(Fact("nodes", len(counts), first))
        if sum(counts.values()):
            facts.append(Fact("world_size", sum(counts.values()), first))
    for (host, cpus), origins in pinned.items():
        if len(origins) > 1 and cpus.isdecimal():
            facts.append(Fact("cpu.shared_core", len(origins), origins[1], Subject("host", host)))
    return facts
