"""Ranks and hosts side by side: who differs from all others, and by how much.

What should be equal or alike is marked in `knowledge/vocabulary` (`alike`). For such a key K come the facts `odd.K` and
`outlier.K`, about the hosts or ranks that differ, with a value that says what they have and what the rest has. Where the logs
of several jobs were handed over, places are compared within each of them only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from assistant.derive._alike import MOST, Odd, figures_by_place, odd_ones, outliers, partly_odd
from assistant.derive._jobs import Part, jobs
from assistant.facts import CaseFile, Fact, Origin, Places, Subject, Value
from knowledge.load import knowledge
from knowledge.settings_table import settings

ATTACHMENTS_ONLY = True

#: Places that are named for one key.
NAMED = 8
#: Hosts that can be without what all others have: of more, lines may only not have been read.
FEW = 2
#: Settings that name what differs between hosts by nature, so that a difference is no fault.
BY_HOST = frozenset(
    (
        "NCCL_SOCKET_IFNAME",
        "NCCL_IB_HCA",
        "GLOO_SOCKET_IFNAME",
        "NCCL_DEBUG_FILE",
        "NCCL_TOPO_FILE",
        "NCCL_HOSTID",
        "NCCL_CONF_FILE",
    )
)


def derive(case: CaseFile) -> Iterable[Fact]:
    parts = jobs(case)
    if len(parts) > 1:
        text = ", ".join(f"{part.size} ranks on {len(part.hosts)} hosts" for part in parts if part.size)
        first = parts[0].first.origin
        yield Fact("runs.several", text, Origin("derived", first.file, first.line, None, None, first.quote))
        for part in parts:
            yield from _within(case, part)
    else:
        yield from _within(case, None)


def _within(case: CaseFile, part: Part | None) -> Iterator[Fact]:
    """What differs inside of one job."""

    def spread(key: str) -> dict[Value, Places]:
        return case.spread(key) if part is None else part.of(case, key)

    for key, entry in knowledge().vocabulary.items():
        if entry.get("alike") == "equal":
            yield from _equal(f"odd.{key}", entry.get("called") or key, spread(key))
        elif entry.get("alike") == "similar":
            facts = case.about(key)
            facts = facts if part is None else [fact for fact in facts if part.has(fact)]
            yield from _similar(facts, key, entry.get("called") or key, entry.get("unit") or "")
    known = settings()
    keys = sorted(k for k in [*case.keys()] if k.startswith("env."))
    tell = _all_hosts(values for key in keys for values in spread(key).values())
    for key in keys:
        setting = known.get(key[4:])
        if setting is not None and setting.match == "all" and key[4:] not in BY_HOST:
            yield from _equal("odd.env", key[4:], spread(key))
            yield from _absent("odd.env", key[4:], spread(key), tell, "no setting")
    nets = _all_hosts(spread("nccl.net").values())
    yield from _absent("odd.nccl.dmabuf", "DMA-BUF", spread("nccl.dmabuf"), nets, "off")


def _all_hosts(values: Iterable[Places]) -> set[str]:
    return set().union(*(places.hosts for places in values))


def _absent(key: str, called: str, values: dict[Value, Places], everyone: set[str], none: str) -> Iterator[Fact]:
    """Hosts without what all others have, or with what no other has, where each tells what it has."""
    having = _all_hosts(values.values())
    without = everyone - having
    few = min(without, having, key=len) if len(values) == 1 else set()
    if not few or len(everyone) < 3 or len(few) > min(FEW, (1 - MOST) * len(everyone)):
        return
    (value,) = values
    have, lack = (none, _shown(value)) if few is without else (_shown(value), none)
    text = f"{called} {have}; {len(everyone) - len(few)} others have {lack}"
    origin = values[value].first.origin
    for host in sorted(few)[:NAMED]:
        where = Origin("derived", origin.file, origin.line, host, None, origin.quote) if few is having else None
        yield Fact(key, text, where or Origin("derived", host=host), Subject("host", host))


def _equal(key: str, called: str, values: dict[Value, Places]) -> Iterator[Fact]:
    if len(values) < 2:
        return
    found = odd_ones(values)
    if key in ("odd.nccl.net", "odd.nccl.via_internode") and not found:
        found = partly_odd(values)
    for odd in found:
        text = (
            f"{called} {_shown(odd.value)}{_less(odd.value, odd.usual)}; {odd.others} others have {_shown(odd.usual)}"
        )
        for subject in odd.subjects(NAMED):
            yield Fact(key, text, _origin(odd, subject), subject)


def _origin(odd: Odd, subject: Subject) -> Origin:
    origin = odd.first.origin
    host = subject.name if subject.kind == "host" else origin.host
    return Origin("derived", origin.file, origin.line, host, origin.rank, origin.quote, origin.time)


def _less(value: Value, usual: Value) -> str:
    if isinstance(value, str | bool) or isinstance(usual, str | bool) or value == usual:
        return ""
    return ", less than usual" if value < usual else ", more than usual"


def _shown(value: Value) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def _similar(facts: list[Fact], key: str, called: str, unit: str) -> Iterator[Fact]:
    for kind in ("rank", "host", "gpu", "nic"):
        figures = figures_by_place(facts, kind)
        far = sorted(outliers(figures), key=lambda o: -abs(o.value - o.usual))
        for odd in far[:NAMED]:
            first = next(f for f in facts if odd.name in (f.subject.name, f.origin.host, str(f.origin.rank)))
            text = (
                f"{called} {odd.value:.4g} {unit}".rstrip()
                + f"; the other {odd.others} have {odd.usual:.4g} in the middle, +- {odd.spread:.2g}"
            )
            origin = first.origin
            subject = Subject(kind, odd.name)
            yield Fact(
                f"outlier.{key}",
                text,
                origin.derived(),
                subject,
            )
