"""What the trouble is where the user's words don't say it: a log that ends in an exception of the program is of a crash."""

from __future__ import annotations

from collections.abc import Iterable

from assistant.derive.n60_launch import _fact
from assistant.diagnosis.origin import ended_well
from assistant.facts import CaseFile, Fact


def derive(case: CaseFile) -> Iterable[Fact]:
    if case.about("symptom") or ended_well(case):
        return
    raised = case.about("python.exception")
    codes = [f for f in case.about("exit_code") if isinstance(f.value, int) and f.value != 0]
    if raised or codes:
        yield _fact("symptom", "crash", (raised or codes)[0].origin)
