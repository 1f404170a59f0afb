"""iostat and Megatron's timers."""

from __future__ import annotations

import pytest

from assistant.intake.document import Document
from assistant.parsers import io_statistics, megatron_timers

IOSTAT = """$ iostat -x 5 2
Linux 5.15.0-91-generic (gpu07)	02/11/2024	_x86_64_	(64 CPU)

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           3.12    0.00    1.40   41.73    0.00   53.75

Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz  aqu-sz  %util
sda            212.40  91340.80     0.20   0.09  148.52   430.04    1.20     20.80     4.00  76.92    2.17    17.33   31.55 100.00
nvme0n1          0.40      3.20     0.00   0.00    0.21     8.00    1.20     20.80     4.00  76.92    0.17    17.33    0.00   0.08
"""


def test_iostat() -> None:
    got = {f.key: f.value for f in io_statistics.parse(Document("iostat.txt", IOSTAT))}
    assert got == {"cpu.iowait_pct": 41.73, "disk.util_pct": 100.0, "disk.read_ms": 148.52}


@pytest.mark.parametrize("text", ["", "%util", "avg-cpu: %iowait\n%%%\n", IOSTAT[:200], "\x00%iowait\n1 2 3"])
def test_fragments_do_no_harm(text: str) -> None:
    list(io_statistics.parse(Document("a.txt", text)))
    list(megatron_timers.parse(Document("a.txt", text)))


def test_megatron_timers() -> None:
    text = (
        "(min, max) time across ranks (ms):\n"
        "    forward-backward ...............................: (700.11, 700.88)\n"
        "    forward-compute ................................: (121.04, 380.52)\n"
        "    batch-generator ................................: (12.40, 410.02)\n"
        "    grads-reduce-scatter ...........................: (0.00, 0.00)\n"
    )
    got = {f.key: f.value for f in megatron_timers.parse(Document("run.log", text))}
    assert got == {"step.skew": 3.14, "step.data_time_s": 0.41, "step.data_share": 0.585}
