"""What the trouble is where the user's words don't say it: blocked tasks are of a hang, a log that ends in an exception of the
program is of a crash, long waits for data or for other ranks are of a slow job."""

from __future__ import annotations

from collections.abc import Iterable

from assistant.derive.n60_launch import _fact
from assistant.diagnosis.origin import ended_well
from assistant.facts import CaseFile, Fact, Origin

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
    "rank.slow_steps": 1.2,
}


def derive(case: CaseFile) -> Iterable[Fact]:
    found = list(_from_outcome(case))
    yield from found or _from_signs(case)


def _from_outcome(case: CaseFile) -> Iterable[Fact]:
    """A failure tells of a crash, a figure far below what it should be of slowness."""
    if case.value("symptom") is not None or case.value("run.succeeded") is True:
        return
    if case.about("kernel.hung_task") or case.about("proc.state_d"):  # a blocked process is of a hang
        return
    failures = case.about("failures.count")
    if any(isinstance(f.value, int) and f.value > 0 for f in failures) or case.about("python.exception"):
        yield Fact("symptom", "crash", Origin("derived"))
        return
    share = case.value("nccl_tests.share_of_expected")
    if case.about("nic.tx_gbps") or case.about("net.observed_gbps"):
        yield Fact("symptom", "slow", Origin("derived"))
        return
    ratios = [case.value("nccl_tests.versions_ratio"), case.value("setting.gain")]
    if (isinstance(share, int | float) and share < 0.7) or any(r is not None for r in ratios):
        yield Fact("symptom", "slow", Origin("derived"))


def _from_signs(case: CaseFile) -> Iterable[Fact]:
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
