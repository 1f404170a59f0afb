"""What kind of trouble it is where the user's words leave it open: attachments with a failure tell of a crash, slow tables of slowness."""

from __future__ import annotations

from collections.abc import Iterable

from assistant.facts import CaseFile, Fact, Origin


def derive(case: CaseFile) -> Iterable[Fact]:
    if case.value("symptom") is not None or case.value("run.succeeded") is True:
        return
    if case.about("kernel.hung_task") or case.about("proc.state_d"):  # a blocked process is of a hang, see n80_symptom
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
