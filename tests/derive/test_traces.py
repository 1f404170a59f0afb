"""Ranks' profiler traces side by side: who is late and why, and what a step is spent on where nobody is."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from kineto_writer import Job

from assistant.derive.n57_traces import derive
from assistant.facts import CaseFile, Fact, Input
from assistant.intake.packed import Counted
from assistant.intake.read import read_inputs
from assistant.intake.traces import read_trace
from assistant.parsers.kineto_trace import parse

DATA = Path(__file__).parent.parent / "data" / "traces"


def case_of(traces: dict[int, str]) -> CaseFile:
    case = CaseFile()
    for rank, text in traces.items():
        record = Input(f"rank{rank}.pt.trace.json", 0, 0, "text")
        case.add(parse(read_trace(record, Counted(io.BytesIO(text.encode())))))
    return case


def found(job: Job) -> dict[str, Fact]:
    return {f.key: f for f in derive(case_of(job.traces()))}


def late(facts: dict[str, Fact]) -> tuple[str, object] | None:
    fact = facts.get("trace.late_rank")
    return None if fact is None else (fact.subject.name, fact.value)


def test_a_healthy_job_has_no_late_rank_and_hides_most_of_its_communication() -> None:
    facts = found(Job())
    assert late(facts) is None
    assert facts["trace.ranks"].value == 8
    assert facts["trace.equal_ranks"].value == pytest.approx(4000 / 65_700, abs=0.01)
    assert float(facts["trace.comm_share"].value) == pytest.approx(16 / 77.5, abs=0.01)
    assert "trace.small_kernels" not in facts and "symptom" not in facts
    assert facts["trace.busbw_gbs"].value == pytest.approx(2 * 7 / 8 * (32 << 20) / 4e-3 / 1e9, rel=0.01)


@pytest.mark.parametrize("style", ["1.9", "1.13", "2.2", "2.9"])
def test_a_slow_gpu(style: str) -> None:
    facts = found(Job(style=style, slow={5: 1.4}))
    assert late(facts) == ("5", "slow-kernels")
    assert "rank 5: the same kernels take 1.40 times as long as on 7 peers" in str(facts["rank.odd_compute"].value)
    assert "of a step in collectives, the others" in str(facts["trace.late_figures"].value)
    assert "work.spread" not in facts and facts["symptom"].value == "slow"


def test_a_rank_with_more_work_is_no_slow_gpu() -> None:
    facts = found(Job(work={2: 1.8}))
    assert late(facts) == ("2", "more-work")
    assert "rank.odd_compute" not in facts
    assert float(facts["work.spread"].value) == pytest.approx(1.8, abs=0.05)
    assert facts["work.spread_of"].value == "trace"


def test_a_rank_that_waits_for_its_loader() -> None:
    facts = found(Job(data={6: 45_000.0}))
    assert late(facts) == ("6", "data")
    assert facts["step.data_ranks_differ"].value is True
    assert float(facts["trace.data_share"].value) == pytest.approx(45 / 110.6, abs=0.02)


def test_a_rank_whose_process_lags() -> None:
    assert late(found(Job(host={1: 30_000.0}))) == ("1", "host")


def test_a_rank_that_saves_a_checkpoint_in_one_step() -> None:
    facts = found(Job(steps=8, save={0: 2_500_000.0}))
    assert str(facts["trace.long_gap"].value) == "rank 0: GPU idle for 2.5 s in save_checkpoint"
    assert str(facts["trace.slow_steps"].value).startswith("1 of 8 steps, up to 2.57 s instead of 0.0657 s")
    assert late(facts) is None  # not late in the ordinary step


def test_the_late_rank_changes() -> None:
    facts = found(Job(world=6, steps=12, varies=True))
    assert facts["trace.late_changes"].value == 6
    assert late(facts) is None and "trace.equal_ranks" not in facts


def test_two_late_ranks_of_sixteen() -> None:
    case = case_of(Job(world=16, slow={3: 1.5, 9: 1.5}).traces())
    assert {f.subject.name for f in derive(case) if f.key == "trace.late_rank"} == {"3", "9"}


def test_half_of_the_ranks_is_no_single_rank() -> None:
    assert late(found(Job(slow=dict.fromkeys(range(4), 1.5)))) is None


def test_two_traces() -> None:
    assert late(found(Job(world=2, slow={1: 1.6}))) == ("1", "slow-kernels")
    assert late(found(Job(world=2, slow={1: 1.05}))) is None


def test_nobody_is_late_and_the_network_is_slow() -> None:
    facts = found(Job(transfer=30_000.0))
    assert late(facts) is None
    assert float(facts["trace.equal_ranks"].value) > 0.5
    assert float(facts["trace.busbw_gbs"].value) < 2.0
    assert facts["trace.small_time"].value == 0.0


def test_collectives_after_the_backward_pass() -> None:
    facts = found(Job(overlap=False, transfer=8000.0))
    assert float(facts["trace.overlap"].value) < 0.02
    assert float(found(Job(buckets=12, elements=2 << 20, transfer=2000.0))["trace.overlap"].value) > 0.8


def test_many_small_messages() -> None:
    facts = found(Job(world=4, buckets=200, elements=2000, transfer=150.0, compute=12_000.0))
    assert facts["trace.small_kernels"].value is True
    assert (facts["trace.small_messages"].value, facts["trace.small_time"].value) == (1.0, 1.0)
    assert facts["trace.collectives_per_step"].value == 200


def test_the_host_reads_values_and_launches_late() -> None:
    facts = found(Job(items=40))
    assert float(facts["trace.sync_idle"].value) == pytest.approx(40 * 0.3 / 78.5, abs=0.02)
    assert facts["trace.syncs_per_step"].value == 80  # an item and its synchronisation


def real(name: str) -> dict[str, Fact]:
    case = CaseFile()
    for source in read_inputs([str(DATA / f"{name}.tar.xz")]):
        for document in source.documents():
            case.add(parse(document))
    return {f.key: f for f in derive(case)}


def test_real_traces_of_gloo() -> None:
    assert late(real("even")) is None
    assert late(real("sleeper")) == ("2", "host")
    loader = real("loader")
    assert late(loader) is None
    assert float(loader["trace.data_share"].value) > 0.45 > 0.1 > float(real("even")["trace.data_share"].value)


def test_garbage_is_left_out() -> None:
    case = case_of(Job(world=3, steps=2).traces())
    first = case.about("trace.summary")[0]
    for text in ("", "[]", "{}", '{"span": 5}', '{"span": 5, "steps": {"n": 1}, "idle": 3}', "null"):
        case.add([Fact("trace.summary", text, first.origin, first.subject)])
    assert {f.key: f.value for f in derive(case)}["trace.ranks"] == 3


def test_a_sound_job_is_told_from_one_in_trouble() -> None:
    assert found(Job())["trace.sound"].value is True
    for job in (Job(slow={5: 1.4}), Job(transfer=30_000.0), Job(items=40), Job(data=dict.fromkeys(range(8), 45_000.0))):
        assert "trace.sound" not in found(job)


def test_more_communication_than_compute_is_not_called_a_lack_of_overlap() -> None:
    assert "trace.overlap" not in found(Job(transfer=30_000.0))
