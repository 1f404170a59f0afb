"""The host towards which several others ran out of RDMA retries: the trouble is there and not on those that report it."""

from __future__ import annotations

from collections.abc import Iterable

from assistant.facts import CaseFile, Fact, Origin, Subject

ATTACHMENTS_ONLY = True

#: So many hosts must name the same peer.
ENOUGH = 2
#: Reporters that are named one by one.
NAMED = 6


def derive(case: CaseFile) -> Iterable[Fact]:
    names = _names(case)
    reporters: dict[str, set[str]] = {}
    first: dict[str, Fact] = {}
    for address, places in case.spread("nccl.wc_peer").items():
        peer = names.get(str(address), str(address))
        others = places.hosts - {peer}
        if others:
            reporters.setdefault(peer, set()).update(others)
            first.setdefault(peer, places.first)
    ranked = sorted(reporters, key=lambda peer: (-len(reporters[peer]), peer))
    if not ranked or len(reporters[ranked[0]]) < ENOUGH:
        return
    peer = ranked[0]
    hosts = sorted(reporters[peer])
    if len(ranked) > 1 and 2 * len(reporters[ranked[1]]) > len(hosts):
        return
    shown = ", ".join(hosts[:NAMED]) + (f" and {len(hosts) - NAMED} more" if len(hosts) > NAMED else "")
    origin = first[peer].origin
    yield Fact(
        "nccl.wc_common_peer",
        f"{len(hosts)} hosts ({shown})",
        Origin("derived", origin.file, origin.line, peer, None, origin.quote, origin.time),
        Subject("host", peer),
    )


def _names(case: CaseFile) -> dict[str, str]:
    """Names of hosts by the addresses over which NCCL meets; an address of several hosts tells none."""
    return {
        str(address): next(iter(places.hosts))
        for address, places in case.spread("nccl.bootstrap_addr").items()
        if len(places.hosts) == 1
    }
