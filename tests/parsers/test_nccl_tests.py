"""Tables of nccl-tests of several versions."""

from __future__ import annotations

import pytest

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers import nccl_tests

HEAD = """\
# nccl-tests version 2.17.6 nccl-headers=22203 nccl-library=22203
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 1048576 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid   1929 on  gpu-a07 device  0 [0000:53:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid   1930 on  gpu-a08 device  0 [0000:53:00] NVIDIA H100 80GB HBM3
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
"""
ROWS = """\
     1048576        262144     float     sum      -1    80.12   13.09   13.09       0    79.80   13.14   13.14       0
  1073741824     268435456     float     sum      -1    21791   49.27   49.27       0    21987   48.84   48.84       0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 31.1
"""


def facts(text: str, name: str = "run.txt") -> dict[str, list[object]]:
    found: dict[str, list[object]] = {}
    fact: Fact
    for fact in nccl_tests.parse(Document(name, text)):
        found.setdefault(fact.key, []).append(fact.value)
    return found


def test_modern_table() -> None:
    found = facts(HEAD + ROWS)
    assert found["nccl_version"] == ["2.22.3"]
    assert found["nccl_tests.op"] == ["all_reduce"]
    assert found["nccl_tests.ranks"] == [2]
    assert found["nccl_tests.nodes"] == [2]
    assert found["nccl_tests.gpus_per_node"] == [1]
    assert found["gpu"] == ["NVIDIA H100 80GB HBM3"]
    assert found["nccl_tests.busbw_peak_gbs"] == [49.27]
    assert found["nccl_tests.busbw_avg_gbs"] == [31.1]
    assert found["nccl_tests.size_max"] == [1073741824]
    assert "nccl_tests.incomplete" not in found
    assert "nccl_tests.wrong" not in found


@pytest.mark.parametrize(
    ("row", "size", "busbw"),
    [
        (
            "        8             2   float     sum    77.80    0.00    0.00  2e-07    75.02    0.00    0.00  2e-07",
            8,
            0.0,
        ),
        (
            "  1073741824     268435456     float     sum      -1   4478.2  239.77  449.57       0   4470.9  240.16  450.31       0",
            1073741824,
            450.31,
        ),
        (
            "  1073741824     134217728     float    none      -1   2290.0  468.88  437.62       0   2301.0  466.64  435.53       0",
            1073741824,
            437.62,
        ),
        (
            "   33554432       8388608     float            612.3   54.80   51.37   0e+00    610.0   55.00   51.57   0e+00",
            33554432,
            51.57,
        ),
        (
            "  134217728      33554432  bfloat16     sum      -1  1.2e+03  111.8  195.7     N/A  1.3e+03  103.2  180.7     N/A",
            134217728,
            195.7,
        ),
    ],
)
def test_rows_of_all_versions(row: str, size: int, busbw: float) -> None:
    found = nccl_tests.read_row(row, 0)
    assert found is not None
    assert (found.size, found.busbw) == (size, busbw)


@pytest.mark.parametrize(
    "line",
    [
        "# Avg bus bandwidth    : 31.1",
        "step 12 loss 3 lr 0.1",
        "",
        "1073741824 float",
        "  8  2  float  sumkepler: Test CUDA failure",
    ],
)
def test_other_lines_are_no_rows(line: str) -> None:
    assert nccl_tests.read_row(line, 0) is None


def test_mpirun_marks_and_two_runs() -> None:
    slow = (
        HEAD.replace("22203", "22501")
        + "  1073741824     268435456     float     sum      -1   153975    6.97    6.97       0   151787    7.07    7.07       0\n"
    )
    text = "".join(f"[1,0]<stdout>:{line}\n" for line in (HEAD + ROWS + slow).splitlines())
    found = facts(text)
    assert found["nccl_tests.busbw_peak_gbs"] == [49.27, 7.07]
    assert found["nccl_version"] == ["2.22.3", "2.25.1"]
    assert found["nccl_tests.runs_ratio"] == [pytest.approx(6.97)]


def test_hang_after_the_head() -> None:
    found = facts(HEAD)
    assert found["nccl_tests.incomplete"] == [True]
    assert "nccl_tests.busbw_peak_gbs" not in found


def test_bandwidth_that_falls_at_large_sizes() -> None:
    rows = "".join(
        f"  {size}  {size // 4}  float  sum  -1  100.0  {bw}  {bw}  0  100.0  {bw}  {bw}  0\n"
        for size, bw in ((1 << 24, 40.0), (1 << 27, 44.0), (1 << 30, 12.0))
    )
    found = facts(HEAD + rows)
    assert found["nccl_tests.drop_at_size"] == [True]
    assert found["nccl_tests.dip_ratio"] == [pytest.approx(0.273)]


def test_wrong_values_are_counted() -> None:
    text = HEAD + ROWS.replace("    0    79.80", "   17    79.80").replace("values : 0 OK", "values : 17 FAILED")
    assert facts(text)["nccl_tests.wrong"][0] >= 17  # type: ignore[operator]


def test_library_versions() -> None:
    assert nccl_tests.library_version(22203) == "2.22.3"
    assert nccl_tests.library_version(2804) == "2.8.4"


def test_truncated_text_is_no_error() -> None:
    text = HEAD + ROWS
    for cut in range(0, len(text), 11):
        facts(text[:cut])
        facts(text[cut:])
