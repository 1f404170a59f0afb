"""Files that change while they are read, files of the kernel's, names that nobody would choose."""

from __future__ import annotations

import io
import os
import threading
import time
from pathlib import Path

import pytest

from assistant.errors import UserError
from assistant.intake import opened
from assistant.intake.read import read_inputs, require_text
from assistant.report.as_text import to_text
from assistant.safe_text import CONTROLS


def lines_of(path: str | Path) -> list[str]:
    return [line for source in read_inputs([path]) for d in source.documents() for line in d.lines]


def test_a_file_that_grows_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opened, "GROWTH", 1 << 16)
    path = tmp_path / "rank0.log"
    path.write_text("begin\n")
    file = opened.open_path(str(path))
    total = 0
    for _ in range(1000):
        with path.open("ab") as out:
            out.write(b"one more line\n" * 8000)
        block = file.read(1 << 16)
        total += len(block)
        if not block:
            break
    file.close()
    assert (1 << 16) <= total < 4 << 16


def test_files_that_vanish_or_shrink_between_listing_and_reading(tmp_path: Path) -> None:
    for i in range(4):
        (tmp_path / f"rank{i}.log").write_text(f"{i}\n" * 10)
    sources = read_inputs([tmp_path])
    (tmp_path / "rank1.log").unlink()
    (tmp_path / "rank2.log").write_text("")
    found = [[d.text[:1] for d in s.documents()] for s in sources]
    assert found == [["0"], [], [], ["3"]]
    assert sources[1].error == "does not exist" and sources[2].inputs[0].notes == ["empty"]
    require_text(sources)


@pytest.mark.skipif(not os.path.exists("/proc/self/environ"), reason="no /proc")
def test_files_of_the_kernel() -> None:
    assert any(line.startswith("MemTotal:") for line in lines_of("/proc/meminfo"))
    assert any(line.startswith("PATH=") for line in lines_of("/proc/self/environ"))
    for name in ("/proc/self/mem", "/proc/self/pagemap", "/proc/kmsg"):
        if os.access(name, os.R_OK):
            assert lines_of(name) == []


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/null", "/dev/urandom"])
def test_devices(name: str) -> None:
    with pytest.raises(UserError, match="device"):
        read_inputs([name])


def test_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def write() -> None:
        time.sleep(0.1)
        path.write_text("line\n" * 3)

    writer = threading.Thread(target=write)
    writer.start()
    assert lines_of(path) == ["line"] * 3
    writer.join()


@pytest.mark.parametrize(
    "name",
    [b"a\x1b[31mred\x1b]0;title\x07.log", b"new\nline\rreturn.log", b"bad\xff\xfe.log", "\u202egol.txt".encode(), b"tab\t.log", b" ", b"-x.log", b"'; rm.log"],
)  # fmt: skip
def test_strange_names_are_read_and_shown_safely(tmp_path: Path, name: bytes) -> None:
    from assistant.diagnosis.diagnose import diagnose
    from assistant.report.as_html import to_html
    from assistant.report.as_json import to_json
    from assistant.report.as_markdown import to_markdown
    from assistant.triage import triage_paths
    from knowledge.load import knowledge

    folder = os.fsencode(tmp_path)
    with open(os.path.join(folder, name), "wb") as out:
        out.write(b"gpu-07:1:2 [0] NCCL WARN NET/IB : Got async event : port error\n" * 2)
    kb = knowledge()
    diagnosis = diagnose(triage_paths(kb, [os.fsdecode(os.path.join(folder, name))]), kb)
    for text in (to_text(diagnosis, 100, colour=False), to_markdown(diagnosis), to_html(diagnosis)):
        assert not CONTROLS.search(text)
        text.encode("utf-8")
    import json

    json.dumps(to_json(diagnosis), ensure_ascii=True)


def test_zeros_and_a_line_without_end() -> None:
    for data in (
        bytes(8 << 20),
        b"a" * (8 << 20),
        b"\r" * (4 << 20),
        b"\n" * (2 << 20),
        b"\x1b[31m" * (1 << 20),
        b"{" * (4 << 20),
    ):
        (source,) = read_inputs(["-"], io.BytesIO(data))
        assert sum(len(d.text) for d in source.documents()) <= 8 << 20
