"""The line-based chat as a process and over streams."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

from assistant.conversation import Conversation
from assistant.conversation.paste import looks_like_output, split_pasted
from assistant.plain import PlainChat
from knowledge.load import Knowledge

ROOT = Path(__file__).parent.parent.parent
SHM = "n1:201:230 [0] include/shm.h:28 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-k2x9 (size 9637888)"
INFO = "n1:201:230 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>"


def chat(kb: Knowledge, *lines: str) -> str:
    out = io.StringIO()
    assert PlainChat(Conversation(kb), io.StringIO("\n".join(lines) + "\n"), out).run() == 0
    return out.getvalue()


def test_a_pipe_is_read_line_by_line(kb: Knowledge) -> None:
    text = chat(kb, "two nodes are 3x slower than one", "dunno", "/quit", "never read")
    assert "2 nodes" in text
    assert text.rstrip().endswith("Good bye.")


def test_log_lines_in_a_row_are_one_attachment(kb: Knowledge) -> None:
    text = chat(kb, "it dies at start", INFO, SHM, "why?")
    assert "Read pasted text 1" in text
    assert "pasted text 2" not in text
    assert "What would change my mind" in text


def test_attach_and_its_errors(kb: Knowledge, tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(INFO + "\n" + SHM + "\n", encoding="utf-8")
    text = chat(kb, "/attach", "/attach /no/such/file", f"/attach {log}", "/nonsense")
    assert "Which file?" in text
    assert "/no/such/file" in text
    assert "Shared memory" in text
    assert "There is no command /nonsense" in text


def test_escape_sequences_never_reach_the_terminal(kb: Knowledge) -> None:
    text = chat(kb, "it crashes \x1b[2J\x1b]0;owned\x07", SHM.replace("NCCL WARN", "\x1b[31mNCCL WARN\x1b[0m"), INFO)
    assert "\x1b" not in text
    assert "\x07" not in text


def test_as_a_process_with_bad_bytes_and_no_input() -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    for stdin in (b"", b"\xff\xfe it hangs \x80\n\n0\n"):
        done = subprocess.run(
            [sys.executable, "-m", "assistant.cli", "chat", "--plain"],
            input=stdin,
            capture_output=True,
            timeout=120,
            env=env,
            check=False,
        )
        assert done.returncode == 0
        assert done.stderr == b""
        assert b"Tell me what is wrong" in done.stdout


def test_prose_and_output_are_told_apart() -> None:
    assert looks_like_output(SHM)
    assert looks_like_output("2024-05-01 12:00:00,123 INFO step 10 loss 2.1")
    assert not looks_like_output("The job hangs after an hour, any idea?")
    assert not looks_like_output("2 nodes of 8 A100, 4x slower")
    prose, blocks = split_pasted(f"It fails:\n{INFO}\n  continued line\n{SHM}\nWhat is it?")
    assert prose == "It fails:\nWhat is it?"
    assert blocks[0].text.count("\n") == 2
    assert split_pasted("one line\nand another") == ("one line\nand another", [])
