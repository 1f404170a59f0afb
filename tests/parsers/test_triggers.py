"""Which parsers ordinary logs ask: each that is asked for nothing costs time on thousands of files."""

from __future__ import annotations

import importlib

import pytest

from assistant.intake.document import Document
from assistant.parsers import marks, parse
from benchmarks.parsers import kernel_lines, training_lines
from tests.simulated.nccl_job import Job


def _asked(text: str) -> set[str]:
    return {name for name, (triggers, _) in marks().items() if any(t in text for t in triggers)}


def test_a_ranks_nccl_log_asks_the_parsers_of_nccl() -> None:
    asked = _asked(Job(nodes=4).log(3, 1 << 18))
    assert {name for name in asked if not name.startswith("nccl_")} <= {"launch_env", "setting_runs"}


def test_a_training_log_asks_the_parsers_of_progress() -> None:
    lines = [line for line in training_lines() if " to host memory" not in line]
    assert _asked("\n".join(lines)) <= {
        "progress_megatron",
        "progress_lightning",
        "progress_trainers",
        "training_progress",
    }


def test_a_kernel_log_asks_its_parser() -> None:
    assert _asked("\n".join(kernel_lines())) == {"host_dmesg"}


@pytest.mark.parametrize("parser", sorted(marks()))
def test_parsers_look_at_no_line_of_a_text_without_their_marks(parser: str) -> None:
    """The origin of a line is dear: it is made for facts only."""
    text = "\n".join(f"{n} ordinary words of no meaning" for n in range(200))
    document = Document("x.txt", text)
    module = importlib.import_module(f"assistant.parsers.{parser}")
    assert list(module.parse(document)) == []
    assert not document._lines


def test_messages_of_single_lines_need_no_others() -> None:
    split: list[str] = []
    document = Document("x.txt", "\n".join(f"[default0]:[rank{n}]: words" for n in range(100)))
    message = document.marks.message

    def counted(line: str) -> str:
        split.append(line)
        return message(line)

    document.marks.message = counted  # type: ignore[method-assign]
    assert document.messages[7] == "words"
    assert split == ["[default0]:[rank7]: words"]
    assert document.messages[3:5] == ["words", "words"]
    assert list(document.messages) == ["words"] * 100
    assert len(document.messages) == 100


def test_top_tells_of_cpus_in_small_letters() -> None:
    top = "%Cpu(s): 51.2 us, 3.1 sy, 0.0 ni, 25.0 id, 0.1 wa, 0.0 hi, 0.2 si, 20.4 st\n"
    facts, _ = parse(Document("top.txt", top))
    assert {f.key: f.value for f in facts} == {"cpu.idle_pct": 25.0, "cpu.iowait_pct": 0.1, "cpu.steal_pct": 20.4}
