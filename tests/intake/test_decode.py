"""Bytes to text: encodings, binaries, control sequences, progress bars."""

from __future__ import annotations

import os
import pickle
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.facts import Input
from assistant.intake.chunks import Chunker
from assistant.intake.decode import Binary, Encoding, clean, detect, states
from assistant.intake.document import Document
from assistant.safe_text import CONTROLS, safe, safe_line

TEXT = "Rank 3: Übertragung nach 10.0.0.1 失敗 — ok\nsecond line\n" * 5


def read(data: bytes, *, step: int = 1 << 20, chunk: int = 16 << 20) -> tuple[list[Document], Input]:
    record = Input("x.log", 0, 0, "text")
    chunker = Chunker(record, chunk=chunk)
    documents = [d for i in range(0, len(data), step) for d in chunker.feed(data[i : i + step])]
    return documents + list(chunker.finish()), record


def text_of(data: bytes, **options: int) -> str:
    return "\n".join(d.text for d in read(data, **options)[0])


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"]
)
@pytest.mark.parametrize("step", [1, 7, 1 << 20])
def test_encodings(encoding: str, step: int) -> None:
    text = TEXT if not encoding.endswith(("le", "be")) else "rank 3: failed with Ü\nsecond line\n" * 5
    assert text_of(text.encode(encoding), step=step) == text.rstrip("\n")


def test_latin_1_is_said() -> None:
    documents, record = read("Gerät läuft nicht, größer als üblich: Fehler\n".encode("latin-1") * 4)
    assert documents[0].lines[0] == "Gerät läuft nicht, größer als üblich: Fehler"
    assert "Latin-1" in record.notes[0]


def test_broken_utf_8_is_kept() -> None:
    documents, record = read(b"good \xe2\x9c\x93 line\nbad \xff byte\n")
    assert documents[0].lines == ["good \u2713 line", "bad \ufffd byte"]
    assert "UTF-8" in record.notes[0]


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\x00" + bytes(100), "ELF"),
        (b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x04\x00" + bytes(100), "core dump"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "PNG"),
        (pickle.dumps({"entries": [1, 2, 3]}), "pickle"),
        (pickle.dumps([("a", 1)], protocol=5), "pickle"),
        (b"SQLite format 3\x00" + bytes(100), "SQLite"),
        (bytes(range(256)) * 64, "binary"),
    ],
)
def test_binaries_are_named(data: bytes, what: str) -> None:
    found = detect(data)
    assert isinstance(found, Binary) and what in found.what
    documents, record = read(data)
    assert documents == [] and record.kind == "binary" and what in record.notes[0]


def test_random_bytes_are_binary() -> None:
    assert isinstance(detect(os.urandom(1 << 16)), Binary)


def test_zero_bytes() -> None:
    assert text_of(bytes(1 << 20) + b"after a hole\n" + bytes(300_000) + b"more\n") == "after a hole\nmore"
    assert (
        text_of(b"NCCL_DEBUG=INFO\x00NCCL_IB_HCA=mlx5_0\x00PATH=/bin\x00")
        == "NCCL_DEBUG=INFO\nNCCL_IB_HCA=mlx5_0\nPATH=/bin"
    )
    assert read(bytes(1000))[1].kind == "empty"
    assert read(b"")[1].kind == "empty"


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[2m\x1b[36m(pid=1, ip=10.0.0.2)\x1b[0m x", "(pid=1, ip=10.0.0.2) x"),
        ("[36m(pid=1)[0m x", "(pid=1) x"),
        ("^[[36m(pid=1)^[[0m x", "(pid=1) x"),
        ("\\x1b[1mb\\x1b[0m \\u001b[31mc", "b c"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPq#0;2;0;0;0\x1b\\text", "text"),
        ("\x9b31mred\x9b0m", "red"),
        ("a\x08ab\x07c", "abc"),
        ("l\u200bo\u202eg\ufeff", "log"),
        ("no\xa0break", "no break"),
        ("tab\tstays", "tab\tstays"),
        ("array[0m] is text", "array[0m] is text"),
        ("NCCL [0] INFO [31]", "NCCL [0] INFO [31]"),
    ],
)
def test_control_sequences_go(raw: str, plain: str) -> None:
    assert clean(raw) == plain


def test_progress_bars_keep_what_tells() -> None:
    line = "".join(f"\r{i}%|{'#' * (i // 10)} | {i}/100 [00:01<00:02, 3.1it/s]" for i in range(100))
    assert text_of((line + "\rRuntimeError: x\r" + line + "\nnext\n").encode()).split("\n") == [
        "99%|######### | 99/100 [00:01<00:02, 3.1it/s]",
        "RuntimeError: x",
        "99%|######### | 99/100 [00:01<00:02, 3.1it/s]",
        "next",
    ]
    assert states("Epoch 1:  90%|#\rEpoch 1: 100%|##\rEpoch 2:  10%|#") == ["Epoch 1: 100%|##", "Epoch 2:  10%|#"]
    assert states("text\r") == ["text"]


def test_line_numbers_stay_those_of_the_file() -> None:
    documents, record = read(b"one\n1%|a\rboom\r2%|b\nthree\r\n" + b"ab c" * 17_500 + b"\nfive\n")
    document = documents[0]
    numbers = {line: document.line(i).number for i, line in enumerate(document.lines)}
    assert (numbers["one"], numbers["boom"], numbers["three"], numbers["five"]) == (1, 2, 3, 5)
    assert record.lines == 5 and record.notes == ["1 line longer than 64 KiB cut"]
    assert max(map(len, document.lines)) < 66_000


def test_old_line_ends() -> None:
    document = read(b"first line\rsecond line\rthird line\r")[0][0]
    assert document.lines == ["first line", "second line", "third line"]
    assert document.line(2).number == 3


def test_large_text_comes_in_parts() -> None:
    lines = [f"line {i}" for i in range(60_000)]
    documents, record = read("\n".join(lines).encode(), step=5000, chunk=40_000)
    assert len(documents) > 5
    assert [x for d in documents for x in d.lines] == lines
    assert [d.line(0).number for d in documents] == [int(d.lines[0].split()[1]) + 1 for d in documents]
    assert record.lines == 60_000


def test_endless_line_costs_little() -> None:
    record = Input("x", 0, 0, "text")
    chunker = Chunker(record)
    block = b"a" * (1 << 20)
    for _ in range(200):
        assert not list(chunker.feed(block))
    documents = [*chunker.feed(b"\nlast\n"), *chunker.finish()]
    assert documents[0].lines[-1] == "last" and documents[0].line(1).number == 2
    assert len(documents[0].text) < 70_000


def test_copies_are_counted_in_large_texts() -> None:
    warning = "[W423 11:58:{:02}.4 TCPStore.cpp:125] [c10d] sendBytes failed on SocketImpl(fd=71)"
    lines = [warning.format(i % 60) for i in range(60_000)] + ["RuntimeError: the only one"]
    documents, record = read("\n".join(lines).encode(), step=1 << 20)
    kept = [(d, i) for d in documents for i in range(len(d.lines))]
    assert len(kept) < 20_000
    assert sum(d.count(i) for d, i in kept if "sendBytes" in d.lines[i]) == 60_000
    assert documents[-1].lines[-1] == "RuntimeError: the only one"
    assert documents[-1].line(len(documents[-1].lines) - 1).number == 60_001
    assert record.lines == 60_001 and "counted" in record.notes[-1]


def test_small_texts_are_kept_whole() -> None:
    text = "warning: x\n" * 3000
    assert text_of(text.encode()) == text.rstrip("\n")


def test_different_lines_are_kept_in_large_texts() -> None:
    lines = [f"h{i % 64}:1:2 [0] NCCL INFO Channel 00/16 : {i}[0] -> {i + 1}[1] via NET/IB/0" for i in range(40_000)]
    assert text_of("\n".join(lines).encode()).split("\n") == lines


_PIECES = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        [
            "\r",
            "\n",
            "\r\n",
            "\x1b[31m",
            "\x1b]0;",
            "\x00",
            "\x08",
            "10%|#",
            "\u202e",
            '{"log":"x\\n","stream":"a"}',
            "[0m",
            "\x9b1m",
            "\ud800",
        ]
    ),
)


@given(st.lists(_PIECES, max_size=12), st.integers(1, 50))
def test_nothing_steers_a_terminal(parts: list[str], step: int) -> None:
    data = "".join(parts).encode("utf-8", "surrogatepass")
    documents, _ = read(data, step=step, chunk=64)
    for document in documents:
        assert not CONTROLS.search(document.text.replace("\n", "").replace("\t", ""))
        assert "\x1b" not in document.text
        numbers = [document.line(i).number for i in range(len(document.lines))]
        assert numbers == sorted(numbers) and all(n >= 1 for n in numbers)


@given(st.binary(max_size=400), st.integers(1, 60))
def test_any_bytes(data: bytes, step: int) -> None:
    documents, record = read(data, step=step)
    assert record.bytes == len(data)
    assert (record.kind == "text") == bool(documents)
    assert isinstance(detect(data), Binary | Encoding)


@given(
    st.lists(st.text(st.characters(codec="ascii", exclude_categories=("Cc",)), max_size=30), min_size=1, max_size=30),
    st.integers(1, 40),
)
def test_plain_text_is_unchanged(lines: list[str], step: int) -> None:
    if any(re.search(r"\[[\d;]*m|[{\\^]", x) for x in lines) or not "".join(lines).strip():
        return
    from assistant.intake.redact import redact

    assert text_of("\n".join(lines).encode(), step=step) == redact("\n".join(lines)).removesuffix("\n")


@given(st.text(max_size=200))
def test_safe_text(text: str) -> None:
    assert not CONTROLS.search(safe(text).replace("\n", "").replace("\t", ""))
    assert "\n" not in safe_line(text)
