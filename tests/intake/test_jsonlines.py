"""JSON-lines logs become the lines that the program wrote, with time, host and rank."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.facts import Input
from assistant.intake.chunks import Chunker
from assistant.intake.document import Document
from assistant.intake.jsonlines import JsonLines, looks_like, stamp
from assistant.intake.times import scale


def read(text: str) -> Document:
    chunker = Chunker(Input("x.log", 0, 0, "text"))
    documents = [*chunker.feed(text.encode()), *chunker.finish()]
    assert len(documents) == 1
    return documents[0]


def test_docker() -> None:
    records = [
        {"log": "gpu1:1:2 [0] NCCL INFO x\n", "stream": "stdout", "time": "2024-03-04T00:00:01.5Z"},
        {"log": "ab c" * 4096, "stream": "stderr", "time": "2024-03-04T00:00:02Z"},
        {"log": "end\n", "stream": "stderr", "time": "2024-03-04T00:00:02Z"},
        {"log": "ValueError: x\n", "stream": "stderr", "time": "2024-03-04T00:00:03Z"},
    ]
    document = read("\n".join(map(json.dumps, records)) + "\n")
    assert list(document.messages) == ["gpu1:1:2 [0] NCCL INFO x", "ab c" * 4096 + "end", "ValueError: x"]
    assert document.line(0).time == pytest.approx((scale(3, 4, 0, 0, 1) or 0) + 0.5)
    assert document.line(0).host == "gpu1"
    assert document.line(2).number == 4


def test_kubernetes_fluentd() -> None:
    record = {
        "log": "[rank3]: RuntimeError: x",
        "stream": "stderr",
        "kubernetes": {"pod_name": "train-worker-0", "container_name": "pytorch"},
        "time": "2024-03-04T00:00:01Z",
    }
    line = read("\n".join([json.dumps(record)] * 3)).line(0)
    assert (line.text, line.host, line.rank) == ("RuntimeError: x", "train-worker-0", 3)


def test_structlog_with_traceback() -> None:
    record = {
        "event": "step failed",
        "level": "error",
        "timestamp": "2024-03-04 00:00:01,250",
        "rank": 5,
        "hostname": "gpu-07",
        "exception": 'Traceback (most recent call last):\n  File "a.py", line 1\nValueError: x',
    }
    document = read(json.dumps(record) + "\n" + json.dumps({**record, "event": "second"}))
    assert document.messages[:4] == [
        "[ERROR] step failed",
        "Traceback (most recent call last):",
        '  File "a.py", line 1',
        "ValueError: x",
    ]
    assert [document.line(i).number for i in range(5)] == [1, 1, 1, 1, 2]
    assert (document.line(3).rank, document.line(3).host) == (5, "gpu-07")


@pytest.mark.parametrize(
    ("record", "message", "host"),
    [
        ({"MESSAGE": "Xid 79", "_HOSTNAME": "gpu-7", "__REALTIME_TIMESTAMP": "1700000000000000"}, "Xid 79", "gpu-7"),
        ({"level": 30, "time": 1531171074631, "msg": "hi", "hostname": "gpu-1"}, "hi", "gpu-1"),
        (
            {"textPayload": "x", "timestamp": "2024-01-01T00:00:00Z", "resource": {"labels": {"pod_name": "p-1"}}},
            "x",
            "p-1",
        ),
        ({"jsonPayload": {"message": "x"}, "timestamp": "2024-01-01T00:00:00Z"}, "x", None),
        (
            {"log": '{"msg": "inner", "level": "info"}\n', "stream": "stdout", "time": "2024-01-01T00:00:00Z"},
            "inner",
            None,
        ),
        ({"log": {"message": "x"}, "level": "info", "host": {"name": "gpu-2"}}, "x", "gpu-2"),
    ],
)
def test_loggers(record: dict[str, object], message: str, host: str | None) -> None:
    line = read("\n".join([json.dumps(record)] * 2)).line(0)
    assert (line.text, line.host) == (message, host)


def test_marks_before_records_stay() -> None:
    line = read('[pod/a-0/main] {"message":"m","severity":"WARNING","timestamp":"2024-01-01T00:00:00Z"}\n' * 2).line(0)
    assert (line.text, line.host) == ("[WARNING] m", "a-0")


def test_other_json_is_left_alone() -> None:
    config = '{\n  "train_batch_size": 32,\n  "zero_optimization": {"stage": 3}\n}'
    assert read(config).text == config
    rows = '{"id": "0x1", "coll": "AllReduce", "size": 4}\n' * 3
    assert read(rows).text == rows.rstrip("\n")
    assert not looks_like(["plain text", '{"log":"x\\n","stream":"stdout"}', "more text"])


def test_large_json_value_is_not_cut() -> None:
    dump = json.dumps(
        {
            "version": "2.5",
            "entries": [{"collective_seq_id": i, "profiling_name": "nccl:all_reduce"} for i in range(5000)],
        }
    )
    assert len(dump) > 100_000
    assert json.loads(read(dump).text) == json.loads(dump)


def test_stamps() -> None:
    assert stamp("2024-01-01 00:00:00,5") == "2024-01-01T00:00:00.5"
    assert stamp(1700000000) == stamp(1700000000000) == stamp("1700000000000000") == "2023-11-14T22:13:20.000000Z"
    assert stamp("soon") == stamp(True) == stamp(None) == stamp(-5) == ""


_JSON = st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=20) | st.integers(), lambda x: st.lists(x, max_size=3) | st.dictionaries(st.sampled_from(["log", "message", "time", "labels", "host", "rank", "level", "kubernetes", "exception", "pod_name", "stream", "resource"]), x, max_size=6), max_leaves=20)  # fmt: skip


@given(_JSON)
def test_any_record(value: object) -> None:
    unpacker = JsonLines()
    found = unpacker.unpack(json.dumps(value))
    assert found is None or all(isinstance(x, str) for x in found)
