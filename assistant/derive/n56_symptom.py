"""Ranks that stand in an operation while nobody has said what is wrong: the job hangs."""

from __future__ import annotations

from collections.abc import Iterable

from assistant.facts import CaseFile, Fact


def derive(case: CaseFile) -> Iterable[Fact]:
    waiting = case.best("fr.waiting_ranks")
    if waiting is not None and case.value("symptom") is None:
        yield Fact("symptom", "hang", waiting.origin)
