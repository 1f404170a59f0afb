"""The command line as users meet it: real processes, exit statuses, streams, bad input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CASES = ROOT / "tests" / "cases"


def ncclinic(
    *args: str, stdin: bytes = b"", env: dict[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "assistant.cli", *args]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **(env or {})}
    return subprocess.run(command, input=stdin, capture_output=True, timeout=120, env=environment, cwd=cwd, check=False)


SHM = b"n1:201:230 [0] include/shm.h:28 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-k2x9 (size 9637888)\n"


def test_a_problem_gives_status_1_and_the_contract_json(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_bytes(SHM)
    done = ncclinic("triage", "--json", str(log))
    assert done.returncode == 1
    assert done.stderr == b""
    document = json.loads(done.stdout)
    assert document["schema"] == "ncclinic.diagnosis/1"
    assert document["verdict"] == "problem"
    first = document["causes"][0]
    assert first["id"] == "nccl.shm-too-small"
    assert first["where"]["hosts"] == ["n1"]
    assert first["evidence"][0]["origin"]["line"] == 1
    assert "Error while creating shared memory segment" in first["evidence"][0]["quote"]
    assert {"id", "title", "steps", "commands", "gain", "verify", "risk"} <= set(first["fixes"][0])
    assert document["inputs"][0]["path"] == str(log)
    assert {"ruled_out", "next", "facts", "inputs"} <= set(document)


def test_standard_input_is_read(tmp_path: Path) -> None:
    done = ncclinic("triage", "--json", "-", stdin=SHM)
    assert json.loads(done.stdout)["causes"][0]["id"] == "nccl.shm-too-small"


def test_nothing_to_go_on_gives_status_3() -> None:
    done = ncclinic("triage", "--json", "--say", "hello")
    assert done.returncode == 3
    assert json.loads(done.stdout)["verdict"] == "inconclusive"


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["triage"], "nothing to triage"),
        (["triage", "/no/such/file"], "/no/such/file"),
        (["triage", "--fact", "nodes"], "KEY=VALUE"),
        (["triage", "--fact", "=2"], "KEY=VALUE"),
        (["triage", "--fact", "nodes=abc"], "nodes"),
        (["triage", "--nonsense"], "nonsense"),
        (["causes", "no.such"], "no.such"),
    ],
)
def test_arguments_that_cannot_be_used_give_status_2(args: list[str], told: str) -> None:
    done = ncclinic(*args)
    assert done.returncode == 2
    assert done.stdout == b""
    assert told.encode() in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    "content", [b"", bytes(range(256)) * 64, b"\x7fELF\x02\x01\x01" + bytes(4096)], ids=["empty", "bytes", "elf"]
)
def test_unusable_files_are_told(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "x.log"
    file.write_bytes(content)
    done = ncclinic("triage", str(file))
    assert done.returncode == 2
    assert b"x.log" in done.stderr and b"Traceback" not in done.stderr


def test_a_folder_without_logs_is_told(tmp_path: Path) -> None:
    done = ncclinic("triage", str(tmp_path))
    assert done.returncode == 2
    assert str(tmp_path).encode() in done.stderr


def test_invalid_utf8_is_read(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_bytes(b"caf\xe9 \xff\xfe\n" + SHM)
    done = ncclinic("triage", "--json", str(log))
    assert json.loads(done.stdout)["causes"][0]["id"] == "nccl.shm-too-small"


def test_escape_sequences_never_reach_the_terminal(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_bytes(b"\x1b]0;owned\x07\x1b[2J\x9b31m" + SHM.replace(b"n1:", b"\x1b[31mn1\x1b[0m:"))
    for form in ("text", "md", "html"):
        done = ncclinic("triage", "--format", form, "--say", "it \x1b[5mcrashes\x07", str(log))
        assert done.returncode in (0, 1, 3)
        assert not any(byte in done.stdout for byte in (b"\x1b", b"\x07", b"\x9b")), form


def test_markup_in_logs_is_shown_as_text(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_bytes(SHM.rstrip() + b" <script>alert(1)</script> [click](http://x) ```\n")
    html = ncclinic("triage", "--format", "html", str(log)).stdout.decode()
    assert "<script>" not in html and "&lt;script&gt;" in html


def test_same_input_same_output_whatever_the_hash_seed_and_locale() -> None:
    case = CASES / "nccl-1235"
    outputs = {
        ncclinic(
            "triage", "--json", "--say", "ends in an NCCL internal error", "node0.log",
            env={"PYTHONHASHSEED": seed, "LC_ALL": locale, "LANG": locale}, cwd=case,
        ).stdout
        for seed, locale in (("0", "C"), ("1", "C.UTF-8"), ("4242", "de_DE.UTF-8"))
    }  # fmt: skip
    assert len(outputs) == 1


def test_the_result_goes_to_a_file(tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    done = ncclinic("triage", "--format", "html", "-o", str(out), "-", stdin=SHM)
    assert done.returncode == 1 and done.stdout == b""
    assert out.read_text().startswith("<!doctype html>")


def test_a_result_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    done = ncclinic("triage", "-o", str(tmp_path / "no" / "report"), "-", stdin=SHM)
    assert done.returncode == 2 and b"can't write" in done.stderr


def test_causes_are_listed_and_shown() -> None:
    listed = ncclinic("causes").stdout.decode()
    assert "nccl.socket-fallback" in listed
    shown = ncclinic("causes", "nccl.shm-too-small").stdout.decode()
    assert "How it shows" in shown and "Sources" in shown


def test_version() -> None:
    assert ncclinic("--version").stdout.decode().startswith("ncclinic ")


@pytest.mark.parametrize(
    "text", ["1" * 20_000, "\n" * 100_000 + "slow", "a=" * 20_000], ids=["digits", "newlines", "pairs"]
)
def test_endless_runs_in_a_sentence_do_not_cost_time(text: str) -> None:
    done = ncclinic("triage", "--say", text)
    assert done.returncode in (1, 3)


def test_secrets_are_not_echoed() -> None:
    token = "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH"
    for args in (
        ["--fact", token],
        ["--fact", f"nodes={token}"],
        [f"{token}.log"],
        ["--say", f"slow, token {token}", "--json"],
    ):
        done = ncclinic("triage", *args)
        assert token.encode() not in done.stdout + done.stderr
    assert b"s3cr3tP99" not in ncclinic("triage", "--json", "--say", "two nodes slow, my password is s3cr3tP99").stdout
