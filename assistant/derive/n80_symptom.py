"""What the trouble is where the user's words don't say it: blocked tasks are of a hang, a log that ends in an exception of the
program is of a crash, long waits for data or for other ranks are of a slow job."""

from __future__ import annotations

from collections.abc import Iterable

from assistant.derive.n60_launch import _fact
from assistant.diagnosis.origin import ended_well
from assistant.facts import CaseFile, Fact

_HUNG = ("kernel.hung_task", "proc.state_d", "stack.all_in_collective")
#: Facts that show a slow job, with the least value that does.
_SLOW = {
    "step.data_share": 0.2,
    "trace.data_share": 0.25,
    "disk.read_ms": 20.0,
    "eval.seconds": 120.0,
    "checkpoint.seconds": 60.0,
    "work.spread": 1.5,
    "step.skew": 1.4,
}


def derive(case: CaseFile) -> Iterable[Fact]:
    if case.about("symptom") or ended_well(case):
        return
    hung = [f for key in _HUNG for f in case.about(key)]
    raised = case.about("python.exception")
    codes = [f for f in case.about("exit_code") if isinstance(f.value, int) and f.value != 0]
    slow = [
        f
        for key, least in _SLOW.items()
        for f in case.about(key)
        if isinstance(f.value, int | float) and f.value >= least
    ]
    if hung:
        yield _fact("symptom", "hang", hung[0].origin)
    elif raised or codes:
        yield _fact("symptom", "crash", (raised or codes)[0].origin)
    elif case.about("watchdog.op"):
        yield _fact("symptom", "crash", case.about("watchdog.op")[0].origin)
    elif slow:
        yield _fact("symptom", "slow", slow[0].origin)
