"""JSON of ncclras -f json, read line by line.

The output is one value a line. Reading it so serves what a JSON reader refuses: NCCL 2.28 leaves out the comma before the
status of a missing rank, a large report is cut into parts, and a capture may end in the middle.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from assistant.intake.document import Document
from assistant.parsers._ras_report import RESULTS, Counts, Place, Report

_COMPACT = re.compile(r"([{}\[\],])")
#: Longest line without breaks that is taken apart.
_LONGEST = 32 << 20


@dataclass(slots=True)
class _Rank:
    index: int
    values: dict[str, str] = field(default_factory=dict)
    ops: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class _State:
    comm: str = "communicator"
    missing: bool = False
    rank: _Rank | None = None
    ops: dict[str, Counts] = field(default_factory=dict)
    event: dict[str, str] = field(default_factory=dict)
    event_line: int = 0


def read_json(document: Document, out: Report) -> None:
    """Adds what the JSON in this document says."""
    state = _State()
    for index, raw in enumerate(document.lines):
        if '"' not in raw:
            continue
        if len(raw) < 400:
            _line(raw.strip(), index, state, out)
        elif len(raw) < _LONGEST and ('"missing_ranks_count"' in raw or '"PEER_' in raw):
            for piece in _COMPACT.sub("\n\\1\n", raw).split("\n"):
                _line(piece.strip(), index, state, out)
    _finish(state, out)
    _event(state, out)


def _line(text: str, index: int, state: _State, out: Report) -> None:
    if not text.startswith('"'):
        return
    key, separator, value = text[1:].partition('"')
    value = value.lstrip(": ").rstrip(", ").strip('"')
    if not separator:
        return
    if key == "nccl_version":
        out.add("nccl_version", re.split(r"[+-]", value)[0], index)
    elif key == "hash":
        _finish(state, out)
        state.comm, state.missing = value.removeprefix("0x"), False
    elif key == "missing_ranks_count":
        if value.isdecimal() and int(value):
            out.add("ras.missing_ranks", int(value), index)
    elif key == "missing_ranks":
        _rank(state, out)
        state.missing = True
    elif key == "rank":
        _rank(state, out)
        state.rank = _Rank(index, {"rank": value})
    elif key == "timeouts_count":
        if value.isdecimal() and int(value):
            out.add("ras.timeouts", int(value), index)
    elif key in ("group", "event"):
        if key == "group":
            _event(state, out)
        state.event[key] = value
        state.event_line = index
    elif state.event and key in ("host", "pid", "addr", "cuda_devs"):
        state.event[key] = value
    elif key == "details":
        _event(state, out)
    elif state.rank is not None:
        if key[:1].isupper() and value.isdecimal():
            state.rank.ops[key] = int(value)
        elif len(state.rank.values) < 16:
            state.rank.values[key] = value


def _rank(state: _State, out: Report) -> None:
    """What is known of the rank that ends here."""
    found, state.rank = state.rank, None
    if found is None or not found.values["rank"].isdecimal():
        return
    get = found.values.get
    place = Place(int(found.values["rank"]), get("host"), get("pid"), get("cuda_dev"))
    if state.missing:
        dead, silent = get("considered_dead") == "true", get("unresponsive") == "true"
        out.rank("ras.missing_rank", "dead" if dead else "unresponsive" if silent else "no data", found.index, place)
        if dead:
            out.process("ras.dead_process", f"process {place.pid}, GPU {place.gpu}", found.index, place.node)
        return
    for key in ("init_state", "async_error"):
        code = get(key, "0")
        if code.isdecimal() and int(code) not in (0, 7):
            out.rank("ras.error", RESULTS.get(int(code), f"result {code}"), found.index, place)
    if get("init_state") == "7":
        out.rank("ras.odd_status", "INIT", found.index, place)
    if get("abort_flag") == "true":
        out.rank("ras.odd_status", "ABORT", found.index, place)
    for op, number in found.ops.items():
        counts = state.ops.get(op)
        if counts is None:
            counts = state.ops[op] = Counts(state.comm, op, found.index)
        counts.add(number, place)


def _finish(state: _State, out: Report) -> None:
    _rank(state, out)
    out.counts += [counts for counts in state.ops.values() if len(counts.ranks) > 1]
    state.ops = {}


def _event(state: _State, out: Report) -> None:
    found, state.event = state.event, {}
    event = found.get("event", "")
    if not event.startswith("PEER_"):
        return
    node = found.get("host") or found.get("addr", "").split("<")[0] or None
    out.process("ras.event", event, state.event_line, node)
    if event in ("PEER_DEAD", "PEER_TIMEOUT_DEAD") and "pid" in found:
        gpus = found.get("cuda_devs", "").strip("[]")
        out.process("ras.dead_process", f"process {found['pid']}, GPU {gpus}", state.event_line, node)
