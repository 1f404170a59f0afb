"""Skimming of large texts: what matters is kept with its place, the rest is counted, and nothing depends on the number of workers."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.diagnosis.diagnose import diagnose
from assistant.facts import CaseFile
from assistant.gather import gather
from assistant.intake.endless import fewer_states
from assistant.intake.read import read_inputs
from assistant.triage import complete
from knowledge.load import knowledge

FILLER = "step {n} of 400000 done, nothing to report here, tokens {m}\n"
TRACEBACK = """Traceback (most recent call last):
  File "/app/train.py", line 88, in <module>
    main()
  File "/app/train.py", line 70, in main
    loss = criterion(model(x), y)
ValueError: Expected input batch_size (32) to match target batch_size (31).
"""


def text_with(middle: str, lines: int = 220_000) -> str:
    half = "".join(FILLER.format(n=n, m=n * 7) for n in range(lines // 2))
    return half + middle + half


def read(path: Path, workers: int | None = 1) -> CaseFile:
    return complete(gather(knowledge(), read_inputs([str(path)]), workers=workers), knowledge(), (), ())


def test_a_line_in_the_middle_keeps_its_number(tmp_path: Path) -> None:
    path = tmp_path / "job.out"
    path.write_text(text_with(TRACEBACK))
    case = read(path)
    fact = next(f for f in case.facts if f.key == "python.exception")
    assert "ValueError" in str(fact.value)
    assert fact.origin.line == 110_000 + TRACEBACK.count("\n")
    (record,) = case.inputs
    assert record.lines == 220_000 + TRACEBACK.count("\n")
    assert record.bytes == path.stat().st_size
    assert any("counted, not kept" in note for note in record.notes)


@pytest.mark.parametrize("ending", ["\n", ""])
def test_first_and_last_lines_are_kept(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "job.out"
    path.write_text(
        "NCCL version 2.27.5+cuda12.9\n" + text_with("") + "slurmstepd: error: *** JOB 71 ON n1 CANCELLED ***" + ending
    )
    case = read(path)
    assert [f.value for f in case.about("nccl_version")] == ["2.27.5"]
    assert case.inputs[0].lines == 220_002


def test_warnings_are_counted(tmp_path: Path) -> None:
    warning = "n1:7:9 [0] transport/net_ib.cc:93 NCCL WARN NET/IB : Got async event : port error\n"
    path = tmp_path / "job.out"
    path.write_text(text_with(warning * 5000))
    case = read(path)
    hits = [h for h in case.hits.values() if h.count >= 4000]
    assert hits, {k: h.count for k, h in case.hits.items()}


def test_carriage_returns_without_end_are_bounded_and_trouble_in_them_is_seen(tmp_path: Path) -> None:
    states = "".join(f"\r{n % 100}%|###| {n}/900000 [00:10<01:00, 3.1it/s]" for n in range(300_000))
    path = tmp_path / "job.out"
    path.write_text("begin\n" + states + "\nRuntimeError: CUDA error: an illegal memory access was encountered\n")
    case = read(path)
    assert any("illegal memory access" in (o.quote or "") for h in case.hits.values() for o in h.samples)


def test_states_that_tell_of_trouble_stay() -> None:
    states = [b"%d%%" % (n % 100) for n in range(1000)]
    states[777] = b"RuntimeError: dead"
    kept = fewer_states(b"\r".join(states)).split(b"\r")
    assert b"RuntimeError: dead" in kept and len(kept) < 60


def test_the_number_of_workers_changes_nothing(tmp_path: Path) -> None:
    """The same facts, hits and diagnosis on one core and on three."""
    for rank in range(150):
        host = f"gpu-{rank // 8:02d}"
        line = f"{host}:{100 + rank}:{300 + rank} [{rank % 8}] NCCL INFO "
        lines = [
            f"{line}NCCL version 2.27.5+cuda12.9",
            f"{line}Using network {'Socket' if rank == 77 else 'IB'}",
            *(f"{line}AllReduce: opCount {n:x} sendbuff 0x1 recvbuff 0x2 count {n} datatype 7" for n in range(1500)),
        ]
        (tmp_path / f"rank_{rank}.log").write_text("\n".join(lines) + "\n")
    one, three = read(tmp_path, workers=1), read(tmp_path, workers=3)
    assert one.facts == three.facts
    assert {k: (h.count, h.samples, h.ranks) for k, h in one.hits.items()} == {
        k: (h.count, h.samples, h.ranks) for k, h in three.hits.items()
    }
    assert diagnose(one, knowledge()).findings == diagnose(three, knowledge()).findings
    assert {p for v, places in one.spread("nccl.net").items() if v == "Socket" for p in places.ranks} == {77}
