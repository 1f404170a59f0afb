"""What reads what is handed over, on any bytes and any text."""

from __future__ import annotations

import gzip
import json
import math

from fuzz_checks import archive, bounded, documents_of, pickle_seeds, pickled, scanner, text, well_formed
from fuzz_seeds import BITS, Choices, broken, pieces
from hypothesis import given
from hypothesis import strategies as st

from assistant.intake.decode import clean, states
from assistant.intake.jsonlines import JsonLines
from assistant.intake.names import host_of_name, rank_of_name
from assistant.intake.prefix import Splitter
from assistant.intake.redact import Redactor, redact, typed
from assistant.intake.times import time_at
from assistant.safe_text import CONTROLS
from assistant.understand import read_sentence, read_stated

BYTES = st.one_of(
    st.binary(max_size=400),
    st.lists(st.sampled_from([b"\n", b"\r", b"\r\n", b"\x00", b"\x1b[31m", b"\x1b]0;t\x07", b"\xff", "é✓".encode(), b"NCCL WARN ", b"10%| 1/10", b"{\"log\":\"x\"}", b"\xef\xbb\xbf", b"\xff\xfe", b"x" * 70_000]), max_size=30).map(b"".join),
    st.binary(min_size=4, max_size=40).map(lambda b: broken(Choices(b)).encode("utf-8", "surrogatepass")),
)  # fmt: skip
TEXT = st.one_of(
    st.text(max_size=300),
    st.binary(min_size=4, max_size=40).map(lambda b: broken(Choices(b))),
    st.lists(st.one_of(st.sampled_from(BITS), st.text(max_size=5)), max_size=30).map("".join),
)
PLAIN = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(1 << 66), 1 << 66), st.floats(), st.text(max_size=20)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=12), inner, max_size=4)),
    max_leaves=12,
)


@given(BYTES, st.sampled_from([1, 7, 1000, 1 << 20]), st.sampled_from([50, 1 << 20]))
@bounded(60)
def test_any_bytes_become_clean_documents(data: bytes, block: int, chunk: int) -> None:
    for document in documents_of(data, block=block, chunk=chunk):
        numbers = [document.number(i) for i in range(len(document.lines))]
        assert numbers == sorted(numbers) and numbers[0] >= 1


@given(BYTES)
@bounded(60)
def test_any_bytes_through_parsers_and_scanner(data: bytes) -> None:
    text(data)
    scanner(data)


@given(TEXT)
@bounded(150)
def test_text_functions(raw: str) -> None:
    cleaned = clean(raw)
    assert not CONTROLS.search(cleaned.replace("\r", ""))
    assert redact(cleaned).count("\n") == cleaned.count("\n")
    assert Redactor()(cleaned).count("\n") == cleaned.count("\n")
    assert states(cleaned.replace("\n", " "))
    assert not CONTROLS.search(typed(raw).replace("\r", ""))
    split = Splitter.of(cleaned).split
    for line in raw.split("\n"):
        found = split(line)
        assert line.endswith(found.message)
        assert found.time is None or math.isfinite(found.time)
        time_at(line)
        rank_of_name(line)
        host_of_name(line)


@given(PLAIN, st.lists(st.sampled_from(["log", "message", "msg", "time", "ts", "level", "host", "rank", "kubernetes", "exc_info", "labels", "jsonPayload", "stream"]), min_size=2, max_size=5), st.lists(PLAIN, min_size=5, max_size=5))  # fmt: skip
@bounded(150)
def test_json_lines(extra: object, keys: list[str], values: list[object]) -> None:
    record = {"message": "x\n", "time": "2024-01-01T00:00:00Z", **dict(zip(keys, values, strict=False)), "extra": extra}
    reader = JsonLines()
    for line in (json.dumps(record), "[pod/a/b] " + json.dumps(record), json.dumps(record)[:-1]):
        reader.unpack(line)
    reader.rest()
    documents_of(("\n".join([json.dumps(record)] * 3)).encode())


@given(st.one_of(TEXT, st.sampled_from(pieces()).map(lambda x: x[:3000])))
@bounded(60)
def test_sentences(raw: str) -> None:
    well_formed(read_sentence(raw), clean=False)


@given(st.sampled_from(["nodes", "gpus", "gpu", "network", "throughput", "nccl_version", "launcher", "batch", "cpu", "rank", "x"]), st.one_of(TEXT, st.sampled_from(["1e999", "9" * 400, "²", "{[]: 1}", "{'1 node': 1e999}", "(" * 2000, "-" * 3000 + "1"])))  # fmt: skip
@bounded(100)
def test_stated_facts(key: str, raw: str) -> None:
    try:
        facts, _ = read_stated(key, raw)
    except ValueError:
        return
    well_formed(facts, clean=False)


@given(st.binary(max_size=200), st.integers(0, 5), st.integers(0, 2000))
@bounded(150)
def test_pickles(data: bytes, seed: int, at: int) -> None:
    whole = pickle_seeds()[seed]
    at %= len(whole)
    pickled(data)
    pickled(b"\x80\x04" + data)
    pickled(whole[:at] + data[:3] + whole[at + len(data[:3]) :])
    pickled(whole[:at])


@given(PLAIN, st.sampled_from(["profiling_name", "pg_config", "entries", "process_group", "input_sizes", "frames", "collective_seq_id", "pg_status", "state"]))  # fmt: skip
@bounded(100)
def test_flight_recorder_dumps_with_odd_values(value: object, key: str) -> None:
    entry = {
        "profiling_name": "nccl:all_reduce",
        "collective_seq_id": 1,
        "process_group": ["0", "default_pg"],
        "state": "scheduled",
        key: value,
    }
    dump = {"version": "2.9", "pg_config": {"0": {"name": "0", "ranks": "[0, 1]"}, "²": {"ranks": value}}, "pg_status": {"0": value}, "entries": [entry, value], **({key: value} if key.startswith("pg_") else {})}  # fmt: skip
    text(json.dumps(dump).encode())


@given(st.binary(max_size=300))
@bounded(60)
def test_archives(data: bytes) -> None:
    for head in (
        b"",
        b"\x1f\x8b\x08\x00",
        b"BZh91AY&SY",
        b"\xfd7zXZ\x00",
        b"\x28\xb5\x2f\xfd",
        b"\x50\x2a\x4d\x18",
        b"PK\x03\x04",
        gzip.compress(b"x" * 600),
    ):
        archive(head + data)
