"""Counters of a port that grew between two samples: a total since the boot tells little, its growth tells what happens now."""

from __future__ import annotations

from collections.abc import Iterable

from assistant.facts import CaseFile, Fact

COUNTED = (
    "nic.loss_counter",
    "nic.error_counter",
    "nic.lossless_drop_counter",
    "ib.error_counter",
    "ib.loss_counter",
    "ib.retry_counter",
)


def derive(case: CaseFile) -> Iterable[Fact]:
    for key in COUNTED:
        samples: dict[tuple[str, str], list[Fact]] = {}
        for fact in case.about(key):
            if fact.subject.kind == "nic" and fact.origin.kind == "tool":
                samples.setdefault((fact.subject.name, str(fact.value)), []).append(fact)
        for (_, counter), facts in samples.items():
            low, high = min(facts, key=lambda f: f.count), max(facts, key=lambda f: f.count)
            if high.count > low.count:
                at = high.origin
                origin = at.derived()
                yield Fact(
                    "nic.counter_grew",
                    f"{counter} +{high.count - low.count}",
                    origin,
                    high.subject,
                    high.count - low.count,
                )
