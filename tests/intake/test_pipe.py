"""Named pipes and lines without an end: said or cut, never silent and never without bound."""

from __future__ import annotations

import io
import os
import threading
import time
from pathlib import Path

import pytest

from assistant import plain
from assistant.conversation import Conversation
from assistant.intake import pipe
from assistant.intake.read import read_inputs
from knowledge.load import Knowledge


def test_a_pipe_without_a_writer_says_that_it_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pipe, "PATIENCE", 0.1)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    def write() -> None:
        time.sleep(0.5)
        fifo.write_text("gx7:1:2 [0] NCCL INFO x\n")

    writer = threading.Thread(target=write)
    writer.start()
    (source,) = read_inputs([fifo])
    texts = [d.text for d in source.documents()]
    writer.join()
    assert texts == ["gx7:1:2 [0] NCCL INFO x"]
    assert f"waiting for {fifo} to be written" in capfd.readouterr().err


def test_a_pipe_that_is_written_at_once_says_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    writer = threading.Thread(target=fifo.write_text, args=("x\n",))
    writer.start()
    (source,) = read_inputs([fifo])
    assert [d.text for d in source.documents()] == ["x"]
    writer.join()
    assert capfd.readouterr().err == ""


class Endless(io.TextIOBase):
    """A line that never ends."""

    count = 0

    def readline(self, size: int | None = -1) -> str:  # type: ignore[override]
        assert size is not None and 0 < size <= plain.LONGEST
        self.count += size
        return "slow " * (size // 5) + "x" * (size % 5)

    def isatty(self) -> bool:
        return False


def test_an_endless_line_is_answered_and_ends(kb: Knowledge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain, "ENDLESS", 8 << 20)
    source, out = Endless(), io.StringIO()
    assert plain.PlainChat(Conversation(kb), source, out).run() == 0
    assert source.count <= 10 << 20
    assert len(out.getvalue().split("\n\n")) >= 2


def test_lines_after_a_long_one_are_read(kb: Knowledge) -> None:
    lines = plain._Lines(io.StringIO("a" * (3 * plain.LONGEST) + "\nnext\n"))
    assert len(lines.next() or "") == plain.LONGEST
    assert not lines.more_at_once()
    assert lines.next() == "next"
    assert lines.next() is None
