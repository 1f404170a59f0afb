"""The restricted pickle loader builds plain data and nothing else."""

from __future__ import annotations

import contextlib
import os
import pickle
import struct
import time
from pathlib import Path
from typing import Any

import pytest
from dump_sets import all_sets
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.intake.safe_pickle import PickleError, PickleRefused, PickleTooLarge, load

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**100), 2**100)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(max_size=300),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers(-1000, 1000), inner, max_size=5)
    ),
    max_leaves=25,
)


def plain(value: Any, depth: int = 0) -> bool:
    if depth > 60:
        return True
    if isinstance(value, dict):
        return all(isinstance(k, str | bytes | int) and plain(v, depth + 1) for k, v in value.items())
    if isinstance(value, list | tuple):
        return all(plain(v, depth + 1) for v in value)
    return value is None or type(value) in (str, bytes, int, float, bool)


@given(value=PLAIN, protocol=st.integers(3, 5))
@settings(max_examples=200, deadline=None)
def test_reads_what_pickle_writes(value: Any, protocol: int) -> None:
    loaded = load(pickle.dumps(value, protocol))
    assert loaded.value == value
    assert not loaded.truncated


@pytest.mark.parametrize("protocol", [0, 1, 2])
def test_old_protocols(protocol: int) -> None:
    value = {
        "a": [1, -5, 2.5, None, True, False, "é\n'\"\\"],
        "t": ((), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)),
        "n": 10**20,
        "e": [],
        "d": {},
    }
    assert load(pickle.dumps(value, protocol)).value == value


class _Runs:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("protocol", range(6))
def test_a_pickle_that_runs_code_does_not(protocol: int, tmp_path: Path) -> None:
    target = tmp_path / "made"
    data = pickle.dumps({"version": "2.9", "entries": [_Runs(target)]}, protocol)
    with pytest.raises(PickleRefused, match="could run code"):
        load(data)
    assert not target.exists()
    pickle.loads(data)
    assert target.exists()


@pytest.mark.parametrize(
    "data",
    [
        b"cos\nsystem\n(S'true'\ntR.",
        b"(S'true'\nios\nsystem\n.",
        b"(cos\nsystem\nS'true'\no.",
        b"\x80\x02cbuiltins\nobject\n)\x81.",
        b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x04true\x85R.",
        b"\x80\x02}}b.",
        b"\x80\x02K\x01)R.",
        b"\x80\x02\x82\x01.",
        b"\x80\x02\x83\x01\x00.",
        b"\x80\x02\x84\x01\x00\x00\x00.",
        b"Pid\n.",
        b"\x80\x02K\x01Q.",
        b"\x80\x04\x8f.",
        b"\x80\x05\x96\x01\x00\x00\x00\x00\x00\x00\x00a.",
        b"\x80\x05\x97.",
        b"\x80\x04}}}\x92.",
    ],
)
def test_every_opcode_that_could_do_more_is_refused(data: bytes) -> None:
    with pytest.raises(PickleRefused):
        load(data)


def test_bounds() -> None:
    with pytest.raises(PickleTooLarge):
        load(b"\x80\x02" + b"(" * 5000 + b".")
    with pytest.raises(PickleTooLarge):
        load(b"\x80\x02\x8b" + struct.pack("<I", 1 << 20) + b"\x01" * (1 << 20) + b".")
    with pytest.raises(PickleTooLarge):
        load(bytes(65 << 20))
    start = time.monotonic()
    assert load(b"\x80\x02K\x01r\xff\xff\xff\xff.").value == 1
    with pytest.raises(PickleError):
        load(b"\x80\x02X\xff\xff\xff\x7fabc")
    assert time.monotonic() - start < 1


def test_a_deep_tuple_can_not_be_a_key() -> None:
    with pytest.raises(PickleError, match="key"):
        load(b"\x80\x02}" + b")" + b"\x85" * 300_000 + b"K\x01s.")


def test_truncated_pickle_gives_what_came_before() -> None:
    data = pickle.dumps({"version": "2.9", "entries": [{"record_id": i, "state": "scheduled"} for i in range(50)]}, 2)
    loaded = load(data[: len(data) // 2])
    assert loaded.truncated
    assert loaded.value["version"] == "2.9"
    ids = [e["record_id"] for e in loaded.value["entries"] if "record_id" in e]
    assert 15 < len(ids) < 40
    assert ids == list(range(len(ids)))


@given(data=st.binary(max_size=400), protocol=st.sampled_from([b"", b"\x80\x02", b"\x80\x04"]))
@settings(max_examples=400, deadline=None)
def test_any_bytes_give_plain_data_or_one_error(data: bytes, protocol: bytes) -> None:
    with contextlib.suppress(PickleError):
        assert plain(load(protocol + data).value)


@given(seed=st.data())
@settings(max_examples=150, deadline=None)
def test_changed_dumps_give_plain_data_or_one_error(seed: st.DataObject) -> None:
    dumps = all_sets()["lock-gil"][0]
    data = bytearray(dumps[seed.draw(st.sampled_from(sorted(dumps)))])
    for _ in range(seed.draw(st.integers(1, 8))):
        at = seed.draw(st.integers(0, len(data) - 1))
        if seed.draw(st.booleans()):
            data[at] = seed.draw(st.integers(0, 255))
        else:
            del data[at : at + seed.draw(st.integers(1, 40))]
    with contextlib.suppress(PickleError):
        assert plain(load(bytes(data)).value)
