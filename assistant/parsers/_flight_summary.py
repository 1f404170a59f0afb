"""What one rank's flight recorder dump says, in the few kilobytes that a comparison of all ranks needs."""

from __future__ import annotations

import re
from typing import Any

from assistant.parsers._flight_entry import Entry, integer, read_entry

#: Entries of each group, entries that wait, and last entries that are kept.
HISTORY = 400
WAITING = 48
TAIL = 48
_NUMBERS = re.compile(r"(?<!\d)\d{1,7}(?!\d)")
_NAME_RANK = (
    re.compile(r"(?:^|[^a-z])(?:global_?)?rank[-_.=]?(\d{1,6})(?!\d)", re.IGNORECASE),
    re.compile(r"(\d{1,6})(?!.*\d)"),
)
_SUFFIX = re.compile(r"(?:\.(?:json|pickle|pkl|pt|bin|txt|log|gz|xz|bz2|zst))+$", re.IGNORECASE)


def summarise(dump: dict[str, Any], name: str, rank: int | None) -> dict[str, Any]:
    """The summary. Keys are short, since there is one for each rank of a job of thousands."""
    raw = dump.get("entries")
    entries = (
        [e for e in (read_entry(r) for r in raw if isinstance(r, dict)) if e is not None]
        if isinstance(raw, list)
        else []
    )
    config = _config(dump.get("pg_config"))
    status = _status(dump.get("pg_status"))
    groups: dict[str, dict[str, Any]] = {}
    for key, (desc, ranks) in config.items():
        if ranks:
            groups[key] = {"desc": desc, "ranks": packed(ranks)}
    names = _names(entries, config, status)
    for pg_id, counts in status.items():
        if pg_id in names:
            groups.setdefault(names[pg_id], {"desc": ""})["status"] = counts
    _fill(groups, entries)
    intake = dump.get("_intake")
    found: dict[str, Any] = {
        "rank": _rank(dump, name, rank, config),
        "version": str(dump.get("version", ""))[:20],
        "library": str(dump.get("nccl_version") or dump.get("comm_lib_version") or "")[:40],
        "entries": len(entries),
        "pending": sum(e.pending for e in entries),
        "ended": sum(e.ended for e in entries),
        "groups": groups,
        "wait": [_short(e) for e in entries if e.pending][:WAITING],
        "tail": [_short(e) for e in entries[-TAIL:]],
    }
    if isinstance(intake, dict) and intake.get("torn"):
        found["torn"] = str(intake["torn"])[:160]
    return found


def _short(e: Entry) -> list[Any]:
    mark = "p" if e.pending else "e" if e.ended else "c"
    return [e.group, e.seq, e.op, e.peer, mark, e.state, e.sizes, e.dtype, e.created, e.frame]


def _fill(groups: dict[str, dict[str, Any]], entries: list[Entry]) -> None:
    for entry in entries:
        group = groups.setdefault(entry.group, {"desc": entry.desc})
        if entry.desc and not group["desc"]:
            group["desc"] = entry.desc
        if entry.p2p:
            group["p2p"] = True
            continue
        group["last"] = max(group.get("last", -1), entry.seq)
        if not entry.pending and not entry.ended:
            group["done"] = max(group.get("done", -1), entry.seq)
        if entry.group_size is not None:
            group["size"] = entry.group_size if group.get("size", entry.group_size) == entry.group_size else 0
        history = group.setdefault("history", {})
        text = f"{entry.op}|{entry.same}|{entry.dtype}|{entry.sizes}"
        known = history.get(entry.seq)
        history[entry.seq] = (text if known is None else "coalesced|||", entry.created)
    for group in groups.values():
        history = group.pop("history", None)
        if history:
            group.update(_packed(history))


def _packed(history: dict[int, tuple[str, int | None]]) -> dict[str, Any]:
    """The last operations of a group by sequence number: distinct texts once, then an index and a time for each."""
    seqs = sorted(history)[-HISTORY:]
    texts: dict[str, int] = {}
    return {
        "ops": {str(s): texts.setdefault(history[s][0], len(texts)) for s in seqs},
        "texts": list(texts),
        "times": [history[s][1] or 0 for s in seqs],
    }


def packed(ranks: list[int]) -> list[int] | dict[str, list[int]]:
    """The ranks of a group; long regular ones as first, end and step."""
    if len(ranks) > 4 and ranks[1] > ranks[0]:
        step = range(ranks[0], ranks[-1] + 1, ranks[1] - ranks[0])
        if len(step) == len(ranks) and list(step) == ranks:
            return {"range": [step.start, step.stop, step.step]}
    return ranks


def unpacked(value: object) -> tuple[int, ...]:
    """The ranks again."""
    if isinstance(value, dict):
        return tuple(range(*value["range"]))
    return tuple(value) if isinstance(value, list) else ()


def _config(value: Any) -> dict[str, tuple[str, list[int]]]:
    if not isinstance(value, dict):
        return {}
    found = {}
    for key, item in list(value.items())[:20_000]:
        if isinstance(item, dict):
            ranks = item.get("ranks")
            numbers = (
                [int(n) for n in _NUMBERS.findall(ranks)]
                if isinstance(ranks, str)
                else [r for r in ranks if isinstance(r, int) and 0 <= r < 1 << 24]
                if isinstance(ranks, list)
                else []
            )
            found[str(item.get("name") or key)] = (str(item.get("desc", "")), numbers)
    return found


def _status(value: Any) -> dict[int, list[int]]:
    """Last enqueued, started and completed of each group, by the number that this rank gave the group."""
    if not isinstance(value, dict):
        return {}
    found = {}
    for key, item in list(value.items())[:20_000]:
        pg_id = integer(key)
        if pg_id is not None and isinstance(item, dict):
            counts = [integer(item.get(f"last_{what}_collective")) for what in ("enqueued", "started", "completed")]
            found[pg_id] = [-1 if c is None else c for c in counts]
    return found


def _names(
    entries: list[Entry], config: dict[str, tuple[str, list[int]]], status: dict[int, list[int]]
) -> dict[int, str]:
    """Names of groups by the number that this rank gave them: from entries, and by order where both count the same groups."""
    names = {e.pg_id: e.group for e in entries if e.pg_id is not None}
    if len(config) == len(status) and config and all(key.isdecimal() for key in config):
        ordered = dict(zip(sorted(status), sorted(config, key=int), strict=True))
        if all(ordered.get(pg_id) == name for pg_id, name in names.items()):
            return ordered
    return names


def _rank(dump: dict[str, Any], name: str, rank: int | None, config: dict[str, tuple[str, list[int]]]) -> int | None:
    own = integer(dump.get("rank", dump.get("global_rank")))
    if own is not None:
        return own
    common: set[int] | None = None
    for _, ranks in config.values():
        if ranks:
            common = set(ranks) if common is None else common & set(ranks)
    if common is not None and len(common) == 1:
        return next(iter(common))
    stem = _SUFFIX.sub("", name.replace("\\", "/").rsplit("/", 1)[-1])
    for pattern in _NAME_RANK:
        found = pattern.search(stem)
        if found:
            return int(found[1])
    return rank
