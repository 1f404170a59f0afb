"""Reads what people write: sentences and stated facts -> facts."""

from __future__ import annotations

from collections.abc import Iterator

from assistant.facts import Fact, Origin, Value
from assistant.understand.experiments import read_experiments
from assistant.understand.job import read_job
from assistant.understand.machines import read_machines
from assistant.understand.network import read_network
from assistant.understand.performance import read_performance
from assistant.understand.stated import read_stated
from assistant.understand.symptom import symptom_of

__all__ = ["read_sentence", "read_stated"]

_READERS = (read_job, read_machines, read_network, read_performance, read_experiments)


def read_sentence(text: str) -> list[Fact]:
    """The facts that a sentence or a few of them state. Nothing here fails; what is not understood yields nothing."""
    said = Origin("say", quote=" ".join(text.split())[:240])
    inferred = Origin("derived", quote=said.quote)
    facts = [Fact(key, value, inferred if assumed else said) for key, value, assumed in _found(text[:8000])]
    symptom = symptom_of(text[:8000])
    if symptom:
        facts.append(Fact("symptom", symptom, said))
    return facts


def _found(text: str) -> Iterator[tuple[str, Value, bool]]:
    seen: set[tuple[str, Value]] = set()
    for reader in _READERS:
        for key, value, assumed in reader(text):
            if (key, value) not in seen:
                seen.add((key, value))
                yield key, value, assumed
