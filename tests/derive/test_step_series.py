"""Series of steps put together over documents of a file and set side by side over ranks."""

from __future__ import annotations

import pytest

from assistant.derive import n51_step_series
from assistant.derive._rank_series import outliers
from assistant.facts import CaseFile, Fact, Origin
from assistant.intake.document import Document
from assistant.parsers import progress_megatron, training_progress
from assistant.parsers._steps import Step, course, drift_of, level_shift, period_of, slow_steps


def line(number: int, milliseconds: float) -> str:
    return f" iteration {number:8d}/  500000 | consumed samples: 1 | elapsed time per iteration (ms): {milliseconds:.1f} | lm loss: 2.1 |"


def case(*documents: Document, **stated: int) -> CaseFile:
    result = CaseFile()
    for document in documents:
        for module in (progress_megatron, training_progress):
            result.add(module.parse(document))
    result.add(Fact(k.replace("__", "."), v, Origin("config")) for k, v in stated.items())
    return result


def facts(c: CaseFile) -> dict[str, object]:
    return {f.key: f.value for f in n51_step_series.derive(c) if f.subject.kind == "job"}


def chunks(lines: list[str], parts: int) -> list[Document]:
    """The documents into which a large file is cut."""
    size = -(-len(lines) // parts)
    return [Document("run.log", "\n".join(lines[i : i + size]), first_line=i + 1) for i in range(0, len(lines), size)]


def noise(number: int) -> float:
    """Between 0 and 4, without order."""
    return number * 7919 % 5


@pytest.mark.parametrize("parts", [1, 4])
def test_a_change_of_level_is_found_at_its_step_and_line(parts: int) -> None:
    lines = [line(n, (1000 if n < 2600 else 1100) + noise(n)) for n in range(1, 4001)]
    c = case(*chunks(lines, parts))
    got = {f.key: f for f in n51_step_series.derive(c)}
    assert got["step.count"].value == 4000
    assert got["step.level_shift"].value == pytest.approx(1.1, abs=0.002)
    assert got["step.shift_at"].value == 2600
    assert got["step.shift_at"].origin.line == 2600
    assert "    2600/" in str(got["step.shift_at"].origin.quote)


def test_stalls_of_checkpoints_in_a_long_file() -> None:
    """Every 200 steps one takes 21 s instead of 1 s: 20 of 220 s, 9.1 % of the time."""
    lines: list[str] = []
    for n in range(1, 6001):
        if n % 200 == 1 and n > 1:
            lines.append(f"saving checkpoint at iteration {n - 1} to /ckpt in torch_dist format")
        lines.append(line(n, 21_000 if n % 200 == 1 and n > 1 else 1000 + noise(n)))
    got = facts(case(*chunks(lines, 3)))
    assert got["step.time_s"] == pytest.approx(1.002)
    assert got["step.spike_period"] == 200
    assert got["step.slow_steps"] == 29
    assert got["step.stall_s"] == pytest.approx(20.0, abs=0.01)
    assert got["step.stall_excess"] == pytest.approx(19.96, abs=0.02)
    assert got["step.stall_share"] == pytest.approx(20 / 220, abs=0.005)
    assert got["step.stall_phase"] == "checkpoint"
    assert "step.level_shift" not in got


def test_stalls_without_a_line_fit_the_interval_that_is_set() -> None:
    lines = [line(n, 9000 if n % 50 == 0 else 1000 + noise(n)) for n in range(1, 400)]
    got = facts(case(Document("run.log", "\n".join(lines)), config__save_steps=50, config__eval_steps=70))
    assert got["step.stall_interval"] == "save_steps=50"
    assert "step.stall_phase" not in got
    other = facts(case(Document("run.log", "\n".join(lines)), config__save_steps=70))
    assert "step.stall_interval" not in other


def test_lines_of_saving_that_are_everywhere_explain_nothing() -> None:
    lines: list[str] = []
    for n in range(1, 200):
        lines += [line(n, 9000 if n in (20, 77, 130) else 1000), "evaluation took 0.1 s"]
    assert "step.stall_phase" not in facts(case(Document("run.log", "\n".join(lines))))


def test_a_slow_creep_is_drift_and_no_change_of_level() -> None:
    """From 1000 to 1400 ms within 2000 steps: 0.2 ms a step, 200 ms in 1000 steps, 1/6 of the median of 1200 ms."""
    lines = [line(n, 1000 + 0.2 * n + noise(n)) for n in range(2000)]
    got = facts(case(*chunks(lines, 2)))
    assert got["step.drift_per_1000"] == pytest.approx(200 / 1202, abs=0.003)
    assert "step.level_shift" not in got


def test_even_steps_have_no_drift_and_little_spread() -> None:
    got = facts(case(Document("run.log", "\n".join(line(n, 1000 + noise(n)) for n in range(1000)))))
    assert "step.drift_per_1000" not in got
    assert "step.level_shift" not in got
    assert "step.slow_steps" not in got
    assert got["step.mad_share"] == pytest.approx(1.4826 * 1 / 1002, abs=0.0005)


def test_copies_that_were_left_out_count() -> None:
    document = Document("run.log", "\n".join(line(n, 1000) for n in range(1, 21)), repeats={19: 80})
    assert facts(case(document))["step.count"] == 100


def test_a_slow_start() -> None:
    lines = [line(n, 9000 if n <= 4 else 1000) for n in range(1, 60)]
    assert facts(case(Document("run.log", "\n".join(lines))))["step.slow_start"] == 4


def test_the_rank_that_is_slower_than_the_others() -> None:
    documents = [
        Document(f"rank{r}.log", "\n".join(line(n, (1300 if r == 11 else 1000 + r) + noise(n)) for n in range(1, 40)))
        for r in range(16)
    ]
    slow = [f for f in n51_step_series.derive(case(*documents)) if f.key == "rank.slow_steps"]
    assert [(str(f.subject), f.origin.file) for f in slow] == [("rank 11", "rank11.log")]
    assert slow[0].value == pytest.approx(1302 / 1010, abs=0.002)


def test_the_rank_whose_log_ends_earlier() -> None:
    documents = [
        Document(f"rank{r}.log", "\n".join(line(n, 1000) for n in range(1, 38 if r == 2 else 40))) for r in range(8)
    ]
    behind = [f for f in n51_step_series.derive(case(*documents)) if f.key == "rank.behind_steps"]
    assert [(str(f.subject), f.value) for f in behind] == [("rank 2", 2)]


def test_many_ranks_in_one_text() -> None:
    text = "\n".join(
        f"[rank{r}]: {line(n, 1500 if r == 33 else 1000 + noise(r))}" for n in range(1, 30) for r in range(64)
    )
    c = case(Document("all.log", text))
    got = list(n51_step_series.derive(c))
    assert [str(f.subject) for f in got if f.key == "rank.slow_steps"] == ["rank 33"]
    assert {f.value for f in got if f.key == "step.count"} == {29}
    assert sum(len(str(f.value)) for f in c.about("step.series")) < 64_000


def test_outliers_need_a_crowd_that_agrees() -> None:
    assert outliers({0: 1.0, 1: 2.0}) == []
    assert outliers({r: 1.0 + r / 10 for r in range(8)}) == []
    assert [r for r, _, _ in outliers({**dict.fromkeys(range(7), 1.0), 7: 1.2})] == [7]
    assert outliers({0: 1.0, 1: 1.0, 2: 2.0, 3: 2.0}) == []


def test_statistics_by_hand() -> None:
    steps = [Step(n, 1.0 + 0.001 * n, n) for n in range(200)]
    assert drift_of(steps) == pytest.approx(0.001)
    assert drift_of([Step(n, 1.0 + 0.1 * noise(n), n) for n in range(200)]) is None
    shift = level_shift([Step(n, 1.0 if n < 2000 else 1.2, n) for n in range(5000)])
    assert shift is not None
    assert shift[0] == pytest.approx(1.2)
    assert shift[1].number == 2000
    assert period_of([10, 20, 30, 40], 100) == 10
    assert period_of([10, 13, 44, 80], 100) is None
    row = [Step(n, 3.0 if n in (10, 11, 12, 40) else 1.0, n) for n in range(60)]
    assert [s.step.number for s in slow_steps(row)] == [10, 40]
    assert [s.extra for s in slow_steps(row)] == pytest.approx([6.0, 2.0])


def test_ten_steps_a_line() -> None:
    """One line for ten steps: a line of 3 s a step instead of 1 s holds 20 s too many."""
    steps = [Step(10 * n, 3.0 if n % 10 == 0 else 1.0, n) for n in range(1, 61)]
    told = {key: value for key, value, _ in course(steps)}
    assert told["step.spike_period"] == 100
    assert slow_steps(steps)[0].extra == pytest.approx(20.0)


def test_of_a_large_file_only_some_lines_are_read() -> None:
    """Ten of each two hundred lines, and what stands around the lines of saving; the numbers tell how many there were."""
    lines: list[str] = []
    shifts: list[tuple[int, int]] = []
    for n in range(1, 40_001):
        stall = n % 500 == 1 and n > 1
        if n > 16 and n % 200 >= 10 and not 0 <= (n - 1) % 1500 <= 3:
            continue
        if not lines or n % 200 == 0 or stall:
            shifts.append((len(lines), n))
        if stall and (n - 1) % 1500 == 0:
            lines.append(f"saving checkpoint at iteration {n - 1} to /ckpt")
        lines.append(line(n, 21_000 if stall and (n - 1) % 1500 == 0 else 1000 + noise(n)))
    got = facts(case(Document("run.log", "\n".join(lines), shifts=shifts)))
    assert got["step.count"] == pytest.approx(40_000, rel=0.01)
    assert got["step.spike_period"] == 1500
    assert got["step.stall_phase"] == "checkpoint"
    assert got["step.stall_share"] == pytest.approx(26 * 20 / (40_000 + 26 * 20), abs=0.003)
