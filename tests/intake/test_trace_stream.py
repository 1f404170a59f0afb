"""Profiler traces are recognised at their head and reduced in a stream, whatever their form; damage costs only what it hides."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from kineto_writer import Job

from assistant.facts import Input
from assistant.intake.intervals import Spans, clip, common, gaps, merged, minus, total
from assistant.intake.packed import Counted
from assistant.intake.read import read_inputs
from assistant.intake.trace_events import is_trace
from assistant.intake.traces import read_trace

DATA = Path(__file__).parent.parent / "data" / "traces"
EVEN = Job(world=2, steps=3).traces()[0]


class Drip(io.RawIOBase):
    """A stream that gives a few bytes at a time, and may break."""

    def __init__(self, data: bytes, size: int, broken: bool = False) -> None:
        self.data, self.size, self.broken, self.at = data, size, broken, 0

    def read(self, size: int = -1) -> bytes:
        part = self.data[self.at : self.at + self.size]
        self.at += len(part)
        if not part and self.broken:
            raise EOFError
        return part


def read(text: str | bytes, *, drip: int = 0, broken: bool = False) -> tuple[dict[str, Any], Input]:
    data = text.encode() if isinstance(text, str) else text
    record = Input("rank0.pt.trace.json", 0, 0, "text")
    document = read_trace(record, Counted(Drip(data, drip or 1 << 20, broken)))
    found: dict[str, Any] = json.loads(document.text)
    return found, record


def test_what_a_gpu_trace_tells() -> None:
    found, record = read(EVEN)
    assert record.bytes == len(EVEN) and record.notes == []
    assert (found["rank"], found["world"], found["backend"], found["nccl"]) == (0, 2, "nccl", "2.21.5")
    assert found["model"] == "NVIDIA A100-SXM4-80GB"
    assert found["steps"]["n"] == 3
    # 60 ms of kernels and the optimizer; four buckets of 4 ms, the last one behind nothing
    assert found["steps"]["compute"] == pytest.approx(61_500, rel=0.02)
    assert found["steps"]["comm"] == pytest.approx(16_000, rel=0.01)
    assert found["steps"]["exposed"] == pytest.approx(4_000, rel=0.02)
    kind = found["kinds"]["all_reduce"]
    assert (kind["n"], kind["bytes"], kind["ranks"], kind["small"]) == (12, 12 * (32 << 20), 2, 0)
    # 32 MiB in 4 ms between two ranks: 8.39 GB/s, of which 2 * (n - 1) / n is all
    assert kind["busbw"] == pytest.approx(8.39, rel=0.01)


@pytest.mark.parametrize("style", ["1.9", "1.13", "2.2", "2.9"])
def test_versions_of_torch_tell_the_same(style: str) -> None:
    found, _ = read(Job(world=2, steps=3, style=style).traces()[1])
    assert found["rank"] == 1
    assert found["steps"]["comm"] == pytest.approx(16_000, rel=0.01)
    assert found["kinds"]["all_reduce"]["bytes"] == 12 * (32 << 20)  # without metadata by the shapes of the calls
    assert found["loads"] == 3


def forms() -> list[tuple[str, str]]:
    value = json.loads(EVEN)
    events = value.pop("traceEvents")
    return [
        ("compact", json.dumps({**value, "traceEvents": events}, separators=(",", ":"))),
        ("one line", json.dumps({**value, "traceEvents": events})),
        ("sorted keys", json.dumps({**value, "traceEvents": events}, sort_keys=True)),
        ("indented", json.dumps({**value, "traceEvents": events}, indent=1)),
        ("events first", json.dumps({"traceEvents": events, **value})),
        ("reordered, events first", json.dumps({"traceEvents": [dict(reversed(e.items())) for e in events], **value})),
    ]


@pytest.mark.parametrize(("name", "text"), forms())
def test_other_forms_tell_the_same(name: str, text: str) -> None:
    assert is_trace(text.encode()[:1024])
    expected = read(EVEN)[0]
    found, record = read(text, drip=5000)
    assert record.notes == []
    assert found == expected


def test_a_plain_list_of_events() -> None:
    events = json.loads(EVEN)["traceEvents"]
    for text in (json.dumps(events), json.dumps([dict(sorted(e.items())) for e in events], indent=2)):
        assert is_trace(text.encode()[:1024])
        found, _ = read(text)
        assert "torn" not in found and "rank" not in found
        assert found["steps"] == read(EVEN)[0]["steps"]


@pytest.mark.parametrize("text", [EVEN, json.dumps(json.loads(EVEN), sort_keys=True)])
@pytest.mark.parametrize("share", [0.4, 0.7, 0.98])
def test_a_trace_that_is_cut_off(text: str, share: float) -> None:
    found, record = read(text[: int(len(text) * share)])
    assert found["torn"] == "cut off before its end"
    assert "what stands before that is used" in record.notes[0]
    assert 0 < found["span"] < read(EVEN)[0]["span"] * 1.001
    assert found["kinds"]["all_reduce"]["n"] < 12 or share > 0.9


def test_a_stream_that_breaks() -> None:
    found, record = read(EVEN, drip=3000, broken=True)
    assert found["torn"] == "cut off before its end" and len(record.notes) == 1
    assert found["steps"] == read(EVEN)[0]["steps"]


def test_heads() -> None:
    yes = [
        b' {\n    "schemaVersion": 1,\n    "deviceProperties": [],\n    \n      "trace_id": "7A73"',
        b'{"schemaVersion": 1, "record_shapes": 1, "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 128, "pg_config": [',
        b'{"traceEvents":[{"ph":"X"',
        b'[{"name": "aten::add", "ph": "X", "ts": 12.1, "dur": 3, "tid": 1, "pid": "CPU functions", "args": {}}',
        b'\xef\xbb\xbf{"displayTimeUnit": "ms", "traceEvents": [',
    ]
    no = [
        b'{"schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json"}',
        b'{"version": "2.9", "pg_config": {"0": {"name": "0"}}, "entries": [',
        b'[{"loss": 1.2, "step": 3}]',
        b'[1] "ph": "X"',
        b'{"level": "info", "msg": "wrote schemaVersion and traceEvents"}',
        b"\x80\x02}q\x00",
        b"",
    ]
    assert [is_trace(h) for h in yes] == [True] * len(yes)
    assert [is_trace(h) for h in no] == [False] * len(no)


@pytest.mark.parametrize(
    "text",
    ["{", '{"traceEvents"', '{"traceEvents": [', '{"traceEvents": [{}', "[", '[{"ph": "X"', '{"traceEvents": []}'],
)
def test_next_to_nothing(text: str) -> None:
    found, _ = read(text)
    assert "span" not in found


def test_hostile_events_do_no_harm() -> None:
    events = (
        '{"ph": "X", "cat": "kernel", "name": "a \\" b", "pid": 0, "tid": 7, "ts": 1e400, "dur": -5, "args": {"grid": 3}}, '
        '{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": nan, "dur": 5, "args": {"grid": [1]}}, '
        '{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": "5", "dur": null}, '
        '{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#99999999999999999999999", "pid": 0, "tid": 7, "ts": 5, "dur": 6}'
    )
    found, _ = read('{"schemaVersion": 1, "deviceProperties": [{}], "traceEvents": [' + events + "]}")
    assert found["ncclinic_trace"] == 1
    read('{"traceEvents": [' + '{"ph": ' * 5000 + "]}")
    read('{"traceEvents": [{"name": "x", "args": ' + "[" * 100_000)


def test_a_packed_trace_among_other_files(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "rank0.pt.trace.json.gz", "wb") as file:
        file.write(EVEN.encode())
    whole = gzip.compress(EVEN.encode())
    (tmp_path / "rank1.pt.trace.json.gz").write_bytes(whole[: len(whole) * 2 // 3])
    (tmp_path / "job.log").write_text("step 1 loss 2.3\n")
    documents = {d.name.rsplit("/", 1)[-1]: d for s in read_inputs([str(tmp_path)]) for d in s.documents()}
    assert len(documents) == 3
    traces = [d for d in documents.values() if d.text.startswith('{"ncclinic_trace":1')]
    assert len(traces) == 2 and sum('"torn"' in d.text for d in traces) == 1
    assert all(len(d.text) < 8000 for d in traces)


def test_real_traces_of_gloo() -> None:
    for name in ("even", "sleeper", "loader"):
        (source,) = read_inputs([str(DATA / f"{name}.tar.xz")])
        found = [json.loads(d.text) for d in source.documents()]
        assert [f["rank"] for f in found] == [0, 1, 2, 3]
        assert all(f["steps"]["n"] == 4 and not f["gpu"] and f["backend"] == "gloo" for f in found)
        # one 1.18 MB and one 0.53 MB bucket in each of four steps
        assert all(f["kinds"]["all_reduce"]["n"] == 8 for f in found)
        assert all(f["kinds"]["all_reduce"]["bytes"] == 4 * 4 * (295_488 + 131_584) for f in found)


def test_union_arithmetic() -> None:
    assert merged([(3, 4), (0, 1), (0.5, 2)]) == [(0, 2), (3, 4)]
    assert merged([(0, 1), (1.4, 2)], 0.5) == [(0, 2)]
    assert gaps([(1, 2), (4, 6)], 0, 5) == [(0, 1), (2, 4)]
    assert common([(0, 3), (5, 9)], [(2, 6), (8, 20)]) == [(2, 3), (5, 6), (8, 9)]
    assert minus([(0, 10)], [(1, 2), (5, 12)]) == [(0, 1), (2, 5)]
    assert clip([(0, 2), (3, 6), (8, 9)], 1, 5) == [(1, 2), (3, 5)]
    assert (minus([], [(0, 1)]), clip([], 0, 1), merged([])) == ([], [], [])


def test_many_stretches_stay_in_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assistant.intake.intervals.HELD", 1000)
    monkeypatch.setattr("assistant.intake.intervals.LEFT", 600)
    spans = Spans()
    for number in range(20_000):
        spans.add(number * 10.0, number * 10.0 + 9.0)
    union = spans.union()
    assert len(union) <= 1000
    assert total(union) == pytest.approx(180_000, rel=0.12)
