"""The host whose transport, provider or version differs from that of its peers."""

from __future__ import annotations

from collections.abc import Iterable

from assistant.facts import CaseFile, Fact, Origin, Subject

COMPARED = (
    "ucx.internode",
    "nccl.ofi_provider",
    "ofi.protocol",
    "ofi.nics",
    "ofi.rails",
    "ofi.fabric",
    "ofi.libfabric_version",
    "ucx.version",
)
MOST_NAMED = 32


def derive(case: CaseFile) -> Iterable[Fact]:
    for key in COMPARED:
        places = case.spread(key)
        if len(places) < 2:
            continue
        usual_value, usual = max(places.items(), key=lambda item: (len(item[1].hosts), item[1].count))
        others = {value: p for value, p in places.items() if value != usual_value}
        odd = {host: (value, p) for value, p in others.items() for host in p.hosts - usual.hosts}
        if not odd or len(odd) * 2 > len(usual.hosts):
            continue
        for host in sorted(odd)[:MOST_NAMED]:
            value, found = odd[host]
            first = found.first.origin
            origin = Origin("derived", first.file, first.line, host, first.rank, first.quote, first.time)
            yield Fact("transport.odd_host", f"{key} {value}, others {usual_value}", origin, Subject("host", host))
