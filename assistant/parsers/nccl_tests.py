"""Tables of nccl-tests (all_reduce_perf and its sisters), of all versions, several in one text.

# nThread 1 nGpus 1 minBytes 8 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#  Rank  0 Group  0 Pid   1929 on gpu-a07 device  0 [0000:53:00] NVIDIA H100 80GB HBM3
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
  1073741824     268435456     float     sum      -1   4478.2  239.77  449.57       0   4470.9  240.16  450.31       0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 51.3
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._nccl_lines import Collected
from assistant.parsers._nccl_tests_curve import at_size, dip, fit, place_ratio

NAME = "nccl-tests"
TRIGGERS = (" busbw", "_perf ", "Avg bus bandwidth", "minBytes", "     sum      -1", "nccl-tests version")
VERSIONS = "nccl-tests 1.0 to 2.17, rccl-tests"

MIB = 1 << 20
#: Bandwidth dips below this size come with the change of protocol and mean little.
DIP_FROM = MIB


@cache
def _re(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


_NUMBER = r"(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|N/A|nan|inf)"
_OPS = r"(all_reduce|all_gather|reduce_scatter|alltoall|broadcast|reduce|sendrecv|gather|scatter|hypercube|all_to_all)_perf"


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table, with the better of the out-of-place and in-place bandwidths."""

    size: int
    time: float
    busbw: float
    wrong: int
    index: int
    outside: float | None = None
    inside: float | None = None
    """Bus bandwidth out of place and in place."""


@dataclass(slots=True)
class Table:
    """One run: its head, device list and rows."""

    index: int
    op: str = ""
    micro: bool = True
    largest: int = 0
    rows: list[Row] = field(default_factory=list)
    hosts: dict[str, int] = field(default_factory=dict)
    ranks: int = 0
    gpu: str = ""
    average: float | None = None
    wrong: int = 0
    headed: bool = False


def parse(document: Document) -> Iterable[Fact]:
    out = Collected(document, "tool")
    found = [t for t in tables(document, out) if t.headed or t.rows]
    for table in found:
        _facts(table, out)
    peaks: dict[str, list[float]] = {}
    for table in found:
        if table.rows:
            peaks.setdefault(table.op, []).append(max(r.busbw for r in table.rows))
    for values in peaks.values():
        if len(values) > 1 and min(values) > 0:
            out.add("nccl_tests.runs_ratio", round(max(values) / min(values), 2), found[-1].index)
    return out.facts()


def tables(document: Document, out: Collected) -> list[Table]:
    """All runs of the text, in order. Versions that the head names are added to `out` at once."""
    runs: list[Table] = []
    current: Table | None = None
    op = ""
    named = _re(_OPS).search(document.name + "_perf")
    for index, line in enumerate(document.messages):
        if "_perf" in line:
            called = _re(_OPS).search(line)
            if called:
                op = called[1]
                if current is not None and not current.rows and not current.op:
                    current.op = op
        if "nccl-library=" in line:
            number = _re(r"nccl-library=(\d+)").search(line)
            if number:
                out.add("nccl_version", library_version(int(number[1])), index)
        if "minBytes" in line or "Using devices" in line:
            if current is None or current.rows or current.headed:
                current = Table(index, op)
                runs.append(current)
            largest = _re(r"maxBytes (\d+)").search(line)
            if largest:
                current.largest = int(largest[1])
            continue
        if "busbw" in line and "algbw" in line:
            if current is None or current.rows:
                current = Table(index, op)
                runs.append(current)
            current.headed = True
            continue
        if current is None or current.rows:
            row = read_row(line, index)
            if row is not None and (
                current is None or row.size <= current.rows[-1].size
            ):  # rows pasted without their head
                current = Table(index, op)
                runs.append(current)
        if current is not None:
            _line(current, line, index)
    for run in runs:
        run.op = run.op or (named[1] if named else "")
    return runs


def library_version(number: int) -> str:
    """22203 -> 2.22.3; versions before 2.9 count 2804."""
    if number < 10000:
        return f"{number // 1000}.{number % 1000 // 100}.{number % 100}"
    return f"{number // 10000}.{number % 10000 // 100}.{number % 100}"


def _line(table: Table, line: str, index: int) -> None:
    if "device" in line and "Rank" in line:
        device = _re(r"Rank\s+\d+ .*?\bon\s+(\S+)\s+device\s+\d+ \[[^\]]*\] ?(.*)$").search(line)
        if device:
            table.ranks += 1
            table.hosts[device[1]] = table.hosts.get(device[1], 0) + 1
            table.gpu = table.gpu or device[2].strip()
    elif "(ms)" in line:
        table.micro = False
    elif "Avg bus bandwidth" in line:
        average = _re(r"Avg bus bandwidth\s*:\s*(\d+(?:\.\d+)?)").search(line)
        if average:
            table.average = float(average[1])
    elif "Out of bounds values" in line:
        bad = _re(r"Out of bounds values\s*:\s*(\d+) FAILED").search(line)
        if bad:
            table.wrong = max(table.wrong, int(bad[1]))
    else:
        row = read_row(line, index)
        if row is not None:
            table.rows.append(row)
            table.wrong += row.wrong


@cache
def _row() -> re.Pattern[str]:
    return re.compile(
        rf"^\s*(?P<size>\d+)\s+\d+\s+(?:u?int\d*|half|float\w*|double|bfloat16|char|fp8\w*|f8\w*|\w*int\w*)(?:\s+[a-z]\w*)?(?:\s+-?\d+)?"
        rf"\s+(?P<t1>{_NUMBER})\s+{_NUMBER}\s+(?P<b1>{_NUMBER})\s+(?P<w1>{_NUMBER})"
        rf"(?:\s+(?P<t2>{_NUMBER})\s+{_NUMBER}\s+(?P<b2>{_NUMBER})\s+(?P<w2>{_NUMBER}))?"
    )


def read_row(line: str, index: int) -> Row | None:
    """A row of any version; columns redop and root are missing in some."""
    found = _row().match(line) if line.lstrip()[:1].isdigit() else None
    if not found:
        return None
    outside, inside = _float(found["b1"]), _float(found["b2"])
    bandwidths = [value for value in (outside, inside) if value is not None]
    times = [value for value in (_float(found["t1"]), _float(found["t2"])) if value is not None]
    if not bandwidths or not times:
        return None
    wrong = sum(int(w) for w in (found["w1"], found["w2"] or "") if w.isdecimal())
    return Row(int(found["size"]), min(times), max(bandwidths), wrong, index, outside, inside)


def _float(text: str | None) -> float | None:
    if text is None or text in ("N/A", "nan", "inf"):
        return None
    return float(text)


def _facts(table: Table, out: Collected) -> None:
    if table.op:
        out.add("nccl_tests.op", table.op, table.index)
    if table.ranks:
        out.add("nccl_tests.ranks", table.ranks, table.index)
        out.add("nccl_tests.nodes", len(table.hosts), table.index)
        out.add("nccl_tests.gpus_per_node", max(table.hosts.values()), table.index)
        if table.ranks == 1:
            out.add("nccl_tests.zero_busbw", True, table.index)
    if table.gpu:
        out.add("gpu", table.gpu, table.index)
    last = table.rows[-1] if table.rows else None
    if last is None or (table.largest and last.size < table.largest // 2):
        out.add("nccl_tests.incomplete", True, last.index if last else table.index)
    if last is None:
        return
    best = max(table.rows, key=lambda row: row.busbw)
    out.add("nccl_tests.busbw_peak_gbs", best.busbw, best.index)
    out.add("nccl_tests.size_max", max(row.size for row in table.rows), last.index)
    if table.average is not None:
        out.add("nccl_tests.busbw_avg_gbs", table.average, table.index)
    small = min(table.rows, key=lambda row: row.size)
    if 0 < small.size <= 65536:
        out.add("nccl_tests.latency_small_us", small.time * (1 if table.micro else 1000), small.index)
    if table.wrong:
        out.add("nccl_tests.wrong", table.wrong, table.index)
    if best.busbw > 0:
        out.add("nccl_tests.dip_ratio", round(last.busbw / best.busbw, 3), last.index)
    high = 0.0
    for row in table.rows:
        if row.size >= DIP_FROM and row.busbw < high * 2 / 3:
            out.add("nccl_tests.drop_at_size", True, row.index)
            break
        high = max(high, row.busbw)
    _curve(table, best, out)


def _curve(table: Table, best: Row, out: Collected) -> None:
    """Latency and bandwidth apart, dips, and the whole run in a form that can be compared with other runs."""
    fitted = fit(table.rows)
    scale = 1 if table.micro else 1000
    run = [f"op={table.op or '-'}", f"ranks={table.ranks}", f"nodes={len(table.hosts)}", f"size={best.size}"]
    if fitted.alpha is not None:
        out.add("nccl_tests.alpha_us", round(fitted.alpha * scale, 1), table.rows[0].index)
        run.append(f"alpha={fitted.alpha * scale:.4g}")
    if fitted.beta is not None:
        out.add("nccl_tests.beta_gbs", round(fitted.beta, 2), table.rows[-1].index)
        run.append(f"beta={fitted.beta:.4g}")
    large = max(table.rows, key=lambda row: row.size)
    if large.size >= MIB and large.busbw > 0:
        hosts = ",".join(sorted(table.hosts)) or (out.document.host or "")
        out.add("nccl_tests.run", " ".join([*run, f"peak={large.busbw:g}", f"hosts={hosts}"])[:400], large.index)
    fall = dip(table.rows)
    if fall is not None and isinstance(fall.row, Row):
        out.add("nccl_tests.dip_kind", fall.kind, fall.row.index)
        out.add(
            "nccl_tests.dip_at",
            f"{at_size(fall.row.size)}: {fall.row.busbw:g} after {fall.before:g} GB/s",
            fall.row.index,
        )
    ratio = place_ratio(table.rows)
    if ratio is not None and not 0.85 <= ratio <= 1.18:
        out.add("nccl_tests.place_ratio", round(ratio, 2), best.index)
    wrong = next((row for row in table.rows if row.wrong), None)
    if wrong is not None:
        out.add("nccl_tests.wrong_from", wrong.size, wrong.index)
