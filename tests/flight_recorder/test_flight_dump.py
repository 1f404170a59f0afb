"""Dumps of all versions and in all states become JSON; other data does not."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from dump_sets import all_sets, facts, guilty, value
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.facts import CaseFile
from assistant.intake.document import Document
from assistant.intake.flight_dump import dump_to_json
from assistant.parsers.flight_recorder import parse


def entry(seq: int, state: str = "completed", **more: Any) -> dict[str, Any]:
    found = {
        "record_id": seq,
        "pg_id": 0,
        "process_group": ("0", "default_pg"),
        "collective_seq_id": seq,
        "p2p_seq_id": 0,
        "op_id": seq,
        "profiling_name": "nccl:all_reduce",
        "time_created_ns": 1_758_610_505_592_849_034 + seq * 10**9,
        "input_sizes": [[1024]],
        "input_dtypes": ["Float"],
        "output_sizes": [[1024]],
        "output_dtypes": ["Float"],
        "state": state,
        "retired": state == "completed",
        "is_p2p": False,
    }
    return {**found, **more}


def dump(entries: list[dict[str, Any]], ranks: int = 4) -> dict[str, Any]:
    last = max((e["collective_seq_id"] for e in entries), default=0)
    done = max((e["collective_seq_id"] for e in entries if e["state"] == "completed"), default=0)
    return {
        "version": "2.9",
        "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(ranks)))}},
        "pg_status": {
            "0": {"last_enqueued_collective": last, "last_started_collective": -1, "last_completed_collective": done}
        },
        "entries": entries,
    }


def test_pickle_and_json_say_the_same() -> None:
    content = dump([entry(1), entry(2, "scheduled")])
    ours = [dump_to_json(data, "x") for data in (pickle.dumps(content, 2), json.dumps(content).encode())]
    assert [json.loads(t or "") for t in ours] == [json.loads(json.dumps(content))] * 2


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[]",
        b"hello pg_config profiling_name",
        pickle.dumps({"model": {"weight": [1.0, 2.0]}, "entries": 3}),
        json.dumps({"entries": [{"name": "pg_config"}]}).encode(),
        b'{"log": "pg_config entries profiling_name"}',
        b"\x80\x02",
        b"[1, 2, 3]",
    ],
)
def test_other_data_is_left_alone(data: bytes) -> None:
    assert dump_to_json(data, "x") is None


def test_a_dump_that_would_run_code_says_so(tmp_path: Any) -> None:
    content = (
        pickle.dumps(dump([entry(1)]), 2)[:-1] + b"cos\nsystem\n(S'touch " + str(tmp_path / "x").encode() + b"'\ntR."
    )
    text = dump_to_json(content, "_dump_0")
    found = list(parse(Document("_dump_0", text or "")))
    assert "GLOBAL" in str(value(found, "fr.torn"))
    assert not list(tmp_path.iterdir())


def test_frames_are_cut_to_those_of_the_program() -> None:
    frames = [
        {"name": "f", "filename": "/venv/lib/python3.11/site-packages/torch/distributed/x.py", "line": i}
        for i in range(30)
    ]
    frames.insert(25, {"name": "step", "filename": "/code/train.py", "line": 120})
    text = dump_to_json(pickle.dumps(dump([entry(1, frames=frames)]), 2), "x") or ""
    assert json.loads(text)["entries"][0]["frames"] == [{"name": "step", "filename": "/code/train.py", "line": 120}]
    assert value(list(parse(Document("_dump_0", text))), "fr.call_site") == "train.py:120 step"


def test_a_pickle_that_unfolds_without_end_is_bounded() -> None:
    bomb: Any = ["x" * 1000]
    for _ in range(30):
        bomb = [bomb, bomb, bomb, bomb]
    text = dump_to_json(pickle.dumps({**dump([]), "bomb": bomb}, 2), "x") or ""
    assert "unfolds" in json.loads(text)["_intake"]["torn"]


def test_a_dump_that_holds_itself_is_bounded() -> None:
    loop: list[Any] = []
    loop.append(loop)
    text = dump_to_json(pickle.dumps({**dump([]), "loop": loop}, 2), "x") or ""
    assert "nested" in json.loads(text)["_intake"]["torn"]


def test_torn_json_is_marked_however_it_comes() -> None:
    whole = json.dumps(dump([entry(n) for n in range(1, 40)]))
    torn = whole[: len(whole) // 2]
    for text in (torn, dump_to_json(torn.encode(), "_dump_2") or ""):
        found = list(parse(Document("_dump_2", text)))
        assert "cut off" in str(value(found, "fr.torn", 2))
        assert 15 <= int(str(value(found, "fr.entries", 2))) <= 20


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("_dump_3", 3),
        ("trace_rank_3", 3),
        ("nccl_trace_rank_3.json", 3),
        ("comm_lib_trace_rank_12", 12),
        ("job7/rank3/fr_3.pkl", 3),
        ("rank_11_host2.json.gz", 11),
        ("3.json", 3),
    ],
)
def test_rank_of_the_file_name(name: str, rank: int) -> None:
    text = dump_to_json(pickle.dumps(dump([entry(1)], 16)), name) or ""
    assert {f.subject.name for f in parse(Document(name, text)) if f.key == "fr.summary"} == {str(rank)}


def test_rank_of_the_dump_wins_over_the_name() -> None:
    content = dump([entry(1)], 4)
    content["pg_config"]["7"] = {"name": "7", "desc": "EXPERT_DATA_PARALLEL_GROUP", "ranks": "[2]"}
    text = dump_to_json(pickle.dumps(content), "dump-2026-01-05") or ""
    assert value(list(parse(Document("dump-2026-01-05", text))), "fr.entries", 2) == 1


def test_torch_2_2_wrote_a_bare_list() -> None:
    old = [
        {
            "id": 0,
            "pg_id": 0,
            "seq_id": n,
            "profiling_name": "nccl:all_reduce",
            "state": "scheduled" if n == 3 else "completed",
            "input_sizes": [[10]],
            "output_sizes": [[10]],
        }
        for n in (1, 2, 3)
    ]
    dumps = {f"nccl_trace_rank_{r}": pickle.dumps(old[:2] if r == 2 else old, 2) for r in range(4)}
    assert guilty(dumps) == {2: "nothing-pending-while-others-wait"}


def test_ring_buffers_with_different_windows() -> None:
    full = [entry(n) for n in range(1, 60)] + [entry(60, "started")]
    dumps = {f"_dump_{r}": pickle.dumps(dump(full[:-1][-5:] if r == 1 else full[-(10 + r) :]), 2) for r in range(4)}
    assert guilty(dumps) == {1: "nothing-pending-while-others-wait"}


def test_all_stand_in_one_collective() -> None:
    dumps = {f"_dump_{r}": pickle.dumps(dump([entry(1), entry(2, "started")]), 2) for r in range(4)}
    found = facts(dumps)
    assert not [f for f in found if f.key == "fr.guilty_rank"]
    assert value(found, "fr.waiting_ranks") == "0,1,2,3"


def test_send_without_a_receive() -> None:
    def p2p(way: str, seq: int) -> dict[str, Any]:
        return entry(0, "scheduled", profiling_name=f"nccl:{way}", p2p_seq_id=seq, is_p2p=True)

    dumps = {
        "_dump_0": pickle.dumps(dump([p2p("recv 0<-1", 4)]), 2),
        "_dump_1": pickle.dumps(dump([p2p("recv 1<-2", 9)]), 2),
        "_dump_2": pickle.dumps(dump([]), 2),
        "_dump_3": pickle.dumps(dump([p2p("recv 3<-2", 2)]), 2),
    }
    assert guilty(dumps) == {2: "nothing-pending-while-others-wait"}


def test_two_ranks_that_wait_for_each_other_are_not_told_apart() -> None:
    def stuck(group: str, seq: int) -> bytes:
        content = dump([entry(seq, "scheduled", process_group=(group, group), pg_id=int(group) - 1)], 2)
        content["pg_config"] = {g: {"name": g, "desc": g, "ranks": "[0, 1]"} for g in ("1", "2")}
        content["pg_status"] = {
            str(i): {
                "last_enqueued_collective": 5 + (g == group),
                "last_started_collective": -1,
                "last_completed_collective": 5,
            }
            for i, g in enumerate(("1", "2"))
        }
        return pickle.dumps(content, 2)

    found = facts({"_dump_0": stuck("1", 6), "_dump_1": stuck("2", 6)})
    assert value(found, "fr.wait_cycle") == "0,1"
    assert not [f for f in found if f.key == "fr.guilty_rank"]


@given(seed=st.data())
@settings(max_examples=80, deadline=None)
def test_changed_dumps_never_break_the_comparison(seed: st.DataObject) -> None:
    sets = all_sets()
    dumps = dict(
        sets[seed.draw(st.sampled_from(["gpu-error", "exception-00", "shape-03", "sigkill-04", "skip-00"]))][0]
    )
    for name in seed.draw(st.lists(st.sampled_from(sorted(dumps)), max_size=4)):
        data = bytearray(dumps[name])
        for _ in range(seed.draw(st.integers(1, 5))):
            at = seed.draw(st.integers(0, len(data) - 1))
            data[at : at + seed.draw(st.integers(0, 3))] = seed.draw(st.binary(max_size=6))
        dumps[name] = bytes(data)
    for fact in facts(dumps):
        assert fact.key.startswith("fr.")


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda i: st.lists(i, max_size=4) | st.dictionaries(st.text(max_size=4), i, max_size=4),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    [
        "profiling_name",
        "collective_seq_id",
        "p2p_seq_id",
        "process_group",
        "input_sizes",
        "output_sizes",
        "input_dtypes",
        "state",
        "retired",
        "frames",
        "time_created_ns",
        "is_p2p",
        "pg_id",
    ]
)


@given(
    changes=st.lists(
        st.tuples(
            st.integers(0, 3), FIELDS, JUNK | st.sampled_from(["nccl:send 0->1", "nccl:recv 0<-99", "gloo:barrier"])
        ),
        max_size=6,
    ),
    config=JUNK,
    status=JUNK,
)
@settings(max_examples=200, deadline=None)
def test_fields_of_any_kind_never_break_the_comparison(
    changes: list[tuple[int, str, Any]], config: Any, status: Any
) -> None:
    case = CaseFile()
    for rank in range(4):
        content = dump([entry(1), entry(2, "scheduled")])
        for which, key, junk in changes:
            if which == rank:
                content["entries"][1][key] = junk
        if rank == 3:
            content["pg_config"], content["pg_status"] = config, status
        case.add(parse(Document(f"_dump_{rank}", json.dumps(content))))
    from assistant.derive.n55_flight_recorder import derive

    list(derive(case))


@given(text=st.text(max_size=200))
@settings(max_examples=100, deadline=None)
def test_parser_reads_any_text(text: str) -> None:
    list(parse(Document("x", text)))
    list(parse(Document("x", '{"pg_config":' + text)))
