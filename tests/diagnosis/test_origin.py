"""Root before echo: which failure counts as the first."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from assistant.diagnosis.origin import lead_failures
from assistant.facts import CaseFile, Fact, Hit, Origin, Subject
from knowledge.load import Knowledge

n70 = importlib.import_module("assistant.derive.n70_first_failure")


def signature(name: str, role: str, causes: dict[str, str], area: str = "nccl-warn") -> dict[str, Any]:
    return {"id": name, "role": role, "causes": causes, "area": area, "means": name, "title": name}


SIGNATURES = {
    s["id"]: s
    for s in (
        signature("net-down", "root", {"net.link-degraded": "strong"}),
        signature("oom", "root", {"gpu.memory-exhausted": "strong"}, "torch/memory"),
        signature("slurm-oom", "root", {"host.memory-exhausted": "strong"}, "slurm"),
        signature("watchdog", "either", {"work.timeout-too-short": "moderate"}, "torch/watchdog"),
        signature("closed", "echo", {"work.rank-failed": "weak"}, "torch/store"),
        signature("closed-2", "echo", {"work.rank-failed": "weak"}, "torch/store"),
        signature("note", "benign", {}, "torch/store"),
        *(signature(f"e{n}", "either", {"work.rank-failed": "weak"}, "torch/launcher") for n in range(5)),
    )
}
KB = Knowledge(
    causes={},
    signatures=SIGNATURES,
    questions={},
    vocabulary={},
    placeholders={},
    tree={},
    patterns={},
    said={},
    fingerprint="test",
)


def hit(name: str, time: float | None = None, line: int = 1, rank: int | None = None, file: str = "a.log") -> Hit:
    return Hit(name, 1, [Origin("log", file, line, "n1", rank, name, time)], [{}])


def case(*hits: Hit, facts: list[Fact] | None = None) -> CaseFile:
    return CaseFile(facts or [], {h.signature: h for h in hits})


def exception(text: str, time: float | None = None, rank: int = 3, line: int = 1) -> Fact:
    return Fact(
        "python.exception", text, Origin("log", "a.log", line, "n2", rank, text, time), Subject("rank", str(rank))
    )


def strengths(found: CaseFile) -> dict[str, dict[str, str]]:
    return {f.signature: f.causes for f in lead_failures(found, KB)}


def test_later_root_loses_a_level() -> None:
    got = strengths(case(hit("oom", 100.0), hit("net-down", 160.0)))
    assert got == {"oom": {"gpu.memory-exhausted": "strong"}, "net-down": {"net.link-degraded": "moderate"}}


def test_roots_within_the_slack_stand_side_by_side() -> None:
    assert strengths(case(hit("oom", 100.0), hit("net-down", 103.0)))["net-down"] == {"net.link-degraded": "strong"}


def test_reports_written_afterwards_keep_their_weight() -> None:
    assert strengths(case(hit("net-down", 100.0), hit("slurm-oom", 900.0)))["slurm-oom"] == {
        "host.memory-exhausted": "strong"
    }


def test_different_clocks_are_not_compared() -> None:
    got = strengths(case(hit("oom", 12.5), hit("net-down", 1_700_000_000.0)))
    assert got["net-down"] == {"net.link-degraded": "strong"}


def test_watchdog_after_an_exception_is_weak() -> None:
    alone = strengths(case(hit("watchdog", 2000.0)))
    after = strengths(case(hit("watchdog", 2000.0, line=9), facts=[exception("ValueError: x", 200.0)]))
    before = strengths(case(hit("watchdog", 100.0, line=9), facts=[exception("ValueError: x", 200.0)]))
    assert alone["watchdog"] == before["watchdog"] == {"work.timeout-too-short": "moderate"}
    assert after["watchdog"] == {"work.timeout-too-short": "weak"}


def test_without_times_the_kind_decides() -> None:
    got = lead_failures(case(hit("watchdog", line=1), hit("oom", line=9)), KB)
    assert [f.signature for f in got] == ["oom", "watchdog"]
    assert got[1].causes == {"work.timeout-too-short": "weak"}


def test_a_line_takes_the_time_of_the_line_above() -> None:
    marks = [Fact("x", 1, Origin("log", "a.log", 5, time=500.0)), Fact("x", 2, Origin("log", "a.log", 50, time=900.0))]
    got = {
        f.signature: f.time for f in lead_failures(case(hit("oom", line=7), hit("net-down", line=60), facts=marks), KB)
    }
    assert got == {"oom": 500.0, "net-down": 900.0}


def test_only_echoes_count_once() -> None:
    assert strengths(case(hit("closed", line=2), hit("closed-2", line=1))) == {"closed-2": {"work.rank-failed": "weak"}}


def test_echoes_after_a_good_end_count_nothing() -> None:
    done = Fact("run.succeeded", True, Origin("tool"))
    assert strengths(case(hit("closed"), facts=[done])) == {}


def test_many_weak_lines_are_one_failure() -> None:
    got = strengths(case(*(hit(f"e{n}", line=n) for n in range(5))))
    assert sum("work.rank-failed" in causes for causes in got.values()) == 2


def first(found: CaseFile, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr(n70, "knowledge", lambda: KB)
    return {f.key: f.value for f in n70.derive(found)}


def test_first_failure_by_time(monkeypatch: pytest.MonkeyPatch) -> None:
    got = first(
        case(hit("watchdog", 700.0, rank=0), facts=[exception("ValueError: bad batch", 100.0, rank=5)]), monkeypatch
    )
    assert got["first_failure.kind"] == "python-exception"
    assert got["first_failure.rank"] == 5
    assert got["first_failure.host"] == "n2"
    assert got["first_failure.text"] == "ValueError: bad batch"
    assert got["first_failure.time_known"] is True


def test_first_failure_by_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    code = Fact("exit_code", -9, Origin("log", "a.log", 40, "n1", 2, "exitcode -9"), Subject("rank", "2"))
    stopped = Fact("exit_code", -15, Origin("log", "a.log", 30, "n1", 1, "exitcode -15"), Subject("rank", "1"))
    got = first(case(hit("watchdog", rank=0), facts=[stopped, code]), monkeypatch)
    assert got["first_failure.kind"] == "signal"
    assert got["first_failure.rank"] == 2


def test_the_schedulers_memory_message_leads(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (
        first(case(hit("slurm-oom", line=99), hit("watchdog", line=3)), monkeypatch)["first_failure.kind"] == "oom-host"
    )


def test_stopped_and_aborted_processes_are_no_first_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    for code in (-15, -6, 1, 0):
        fact = Fact("exit_code", code, Origin("log", "a.log", 1), Subject("rank", "0"))
        assert "first_failure.kind" not in first(case(facts=[fact]), monkeypatch)


def test_sorts_of_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert first(case(hit("note")), monkeypatch)["failures.only_benign"] is True
    assert first(case(hit("note"), hit("closed")), monkeypatch)["failures.only_echo"] is True
    done = Fact("run.finished", True, Origin("log", "a.log", 10))
    assert first(case(hit("closed", line=20), facts=[done]), monkeypatch)["failures.after_end"] is True
    assert "failures.after_end" not in first(case(hit("closed", line=5), facts=[done]), monkeypatch)
