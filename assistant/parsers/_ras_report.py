"""What a report of NCCL's RAS subsystem says of ranks and processes, and the facts that follow; text and JSON fill the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from assistant.facts import JOB, Fact, Origin, Subject, Value
from assistant.intake.document import Document

#: Ranks or processes that are named one by one; of more, only the number is told.
NAMED = 16
#: Results of NCCL calls as ncclras writes them, by the number that its JSON has.
RESULTS = {
    1: "Unhandled CUDA error",
    2: "System error",
    3: "Internal error",
    4: "Invalid argument",
    5: "Invalid usage",
    6: "Remote process error",
    8: "Call timed out",
}


@dataclass(slots=True)
class Place:
    """A rank as a report names it."""

    rank: int
    node: str | None = None
    pid: str | None = None
    gpu: str | None = None


@dataclass(slots=True)
class Counts:
    """Operation counts of one collective in one communicator: how many ranks have each, and which ranks where named."""

    comm: str
    op: str
    index: int
    ranks: Counter[int] = field(default_factory=Counter)
    named: dict[int, list[Place]] = field(default_factory=dict)

    def add(self, value: int, place: Place) -> None:
        self.ranks[value] += 1
        self.name(value, place)

    def name(self, value: int, place: Place) -> None:
        known = self.named.setdefault(value, [])
        if len(known) < 4 * NAMED:
            known.append(place)


class Report:
    """Facts of a document, in order; equal ones once, with a count."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.counts: list[Counts] = []
        self._facts: dict[tuple[str, Value, Subject], Fact] = {}
        self._of_key: Counter[str] = Counter()

    def add(
        self,
        key: str,
        value: Value,
        index: int,
        subject: Subject = JOB,
        node: str | None = None,
        rank: int | None = None,
    ) -> None:
        mark = (key, value, subject)
        known = self._facts.get(mark)
        if known is not None:
            self._facts[mark] = replace(known, count=known.count + 1)
            return
        self._of_key[key] += 1
        if self._of_key[key] > NAMED:
            return
        origin = self.document.origin(index, "tool")
        self._facts[mark] = Fact(key, value, _at(origin, node, rank), subject)

    def rank(self, key: str, value: Value, index: int, place: Place) -> None:
        self.add(key, value, index, Subject("rank", str(place.rank)), place.node, place.rank)

    def process(self, key: str, value: str, index: int, node: str | None) -> None:
        self.add(key, value, index, Subject("host", node) if node else JOB, node)

    def facts(self) -> Iterator[Fact]:
        for counts in self.counts:
            _compare(counts, self)
        _crossed(self)
        yield from self._facts.values()


def _at(origin: Origin, node: str | None, rank: int | None) -> Origin:
    return replace(origin, host=node or origin.host, rank=origin.rank if rank is None else rank)


def sides(counts: Counts) -> tuple[str, list[tuple[int, Place]], int]:
    """("behind" or "ahead", the odd ranks with their counts, count of most ranks)."""
    usual = max(counts.ranks, key=lambda value: (counts.ranks[value], value))
    low = [(value, place) for value, places in counts.named.items() if value < usual for place in places]
    high = [(value, place) for value, places in counts.named.items() if value > usual for place in places]
    fewer = sum(n for value, n in counts.ranks.items() if value < usual)
    return ("behind", low, usual) if fewer else ("ahead", high, usual)


def _compare(counts: Counts, out: Report) -> None:
    if len(counts.ranks) < 2:
        return
    low, high = min(counts.ranks), max(counts.ranks)
    out.add("ras.mismatch_op", counts.op, counts.index)
    out.add("ras.count_gap", high - low, counts.index)
    behind = sum(n for value, n in counts.ranks.items() if value < high)
    out.add("ras.counts", f"{counts.comm} {counts.op}: {behind} ranks below {high}, lowest {low}", counts.index)
    side, odd, usual = sides(counts)
    for value, place in sorted(odd, key=lambda pair: pair[1].rank)[:NAMED]:
        out.rank(f"ras.{side}", f"{counts.op} {value}, others {usual}", counts.index, place)


def _crossed(out: Report) -> None:
    """Ranks of one communicator that lead in one collective and lag in another: they do not run the same program."""
    lead: dict[tuple[str, int], tuple[str, Counts, Place]] = {}
    lag: dict[tuple[str, int], str] = {}
    for counts in out.counts:
        if len(counts.ranks) < 2:
            continue
        low, high = min(counts.ranks), max(counts.ranks)
        for value, places in counts.named.items():
            for place in places:
                if value == high:
                    lead[counts.comm, place.rank] = (counts.op, counts, place)
                elif value == low:
                    lag[counts.comm, place.rank] = counts.op
    camps: dict[tuple[str, str, str], list[tuple[str, int]]] = {}
    for mark in sorted(lead.keys() & lag.keys()):
        if lead[mark][0] != lag[mark]:
            camps.setdefault((mark[0], lead[mark][0], lag[mark]), []).append(mark)
    for (comm, op, other), marks in camps.items():
        opposite = camps.get((comm, other, op), [])
        if opposite and (len(opposite), opposite) < (len(marks), marks):
            continue
        for mark in marks[:NAMED]:
            _, counts, place = lead[mark]
            out.rank("ras.crossed", f"ahead in {op}, behind in {other}", counts.index, place)
