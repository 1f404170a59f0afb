"""Topology and graph files of NCCL side by side: hosts that are built otherwise, adapters that no ring uses."""

from __future__ import annotations

from collections.abc import Iterable

from assistant.facts import CaseFile, Fact, Origin

_ALIKE = {
    "topo_xml.gpus": "GPUs",
    "topo_xml.nets": "network devices",
    "topo_xml.nvlinks": "NVLinks",
    "topo_xml.sockets": "CPUs",
}


def derive(case: CaseFile) -> Iterable[Fact]:
    for key, what in _ALIKE.items():
        spread = case.spread(key)
        if len(spread) < 2 or not all(places.hosts for places in spread.values()):
            continue
        usual, most = max(spread.items(), key=lambda pair: (len(pair[1].hosts), str(pair[0])))
        for value, places in spread.items():
            hosts = sorted(places.hosts - most.hosts)
            if value != usual and hosts:
                text = f"{', '.join(hosts[:8])}: {value} {what}, others {usual}"
                yield Fact("topo_xml.differs", text, _origin(places.first))
    used = case.best("graph_xml.nets_used")
    there = {f.subject for f in case.about("topo_xml.net_gdr")}
    nets = case.best("topo_xml.nets")
    if used is not None and nets is not None and len(there) > 1 and isinstance(used.value, int):
        per_host = min(len(there), int(nets.value))
        yield Fact("graph_xml.net_share", round(min(1.0, used.value / per_host), 3), _origin(used))


def _origin(like: Fact) -> Origin:
    o = like.origin
    return Origin("derived", o.file, o.line, o.host, o.rank, o.quote)
