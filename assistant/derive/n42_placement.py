"""CPU sets of ranks and containers compared with the cores that lie next to each GPU."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from assistant.facts import CaseFile, Fact, Subject
from assistant.parsers.host_placement import cpu_set


def derive(case: CaseFile) -> Iterable[Fact]:
    near = {f.subject.name.rpartition(":")[2]: cpu_set(str(f.value)) for f in case.about("gpu.cpu_affinity")}
    if near:
        yield from _ranks(case, near)
        yield from _container(case, near)


def _ranks(case: CaseFile, near: dict[str, frozenset[int]]) -> Iterator[Fact]:
    """Local rank n is taken to use GPU n, as launchers and frameworks do by default."""
    far, first = [], None
    for fact in case.about("cpu.local_rank_cpus"):
        beside = near.get(fact.subject.name)
        if beside and cpu_set(str(fact.value)).isdisjoint(beside):
            far.append(fact.subject.name)
            first = first or fact
    if first is not None and len(set(near.values())) > 1:
        names = ", ".join(f"GPU{n}" for n in sorted(set(far), key=int))
        yield Fact("numa.gpu_far", names, first.origin.derived(), _host(first))


def _container(case: CaseFile, near: dict[str, frozenset[int]]) -> Iterator[Fact]:
    for fact in case.about("cpu.allowed_list"):
        cpus = cpu_set(str(fact.value))
        far = [name for name, beside in near.items() if beside and cpus.isdisjoint(beside)]
        mostly = [name for name, beside in near.items() if beside and 2 * len(cpus & beside) < len(cpus)]
        if far or (len(mostly) == len(near) and len(set(near.values())) == 1):
            yield Fact("numa.gpu_far", ", ".join(f"GPU{n}" for n in far or mostly), fact.origin.derived(), fact.subject)
            return


def _host(fact: Fact) -> Subject:
    return Subject("host", fact.origin.host) if fact.origin.host else Subject()
