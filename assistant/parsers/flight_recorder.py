"""Flight recorder dumps of PyTorch (`TORCH_FR_BUFFER_SIZE`, `TORCH_NCCL_TRACE_BUFFER_SIZE`) as JSON, one a rank.

    {"version":"2.9","pg_config":{"0":{"name":"0","desc":"default_pg","ranks":"[0, 1]"}},"nccl_version":"2.27.3",
     "pg_status":{"0":{"last_enqueued_collective":8,"last_started_collective":-1,"last_completed_collective":7}},
     "entries":[{"record_id":7,"pg_id":0,"process_group":["0","default_pg"],"collective_seq_id":8,"p2p_seq_id":0,"op_id":8,
       "profiling_name":"nccl:all_reduce","time_created_ns":1758610505592849034,"input_sizes":[[1024]],"input_dtypes":["Float"],
       "output_sizes":[[1024]],"output_dtypes":["Float"],"state":"scheduled","time_discovered_started_ns":null,
       "time_discovered_completed_ns":null,"retired":false,"timeout_ms":600000,"is_p2p":false}]}

Versions: a bare list of entries (torch 2.2), 1.4, 2.1, 2.4, 2.9, 2.10. Pickles come here as JSON (`assistant.intake.flight_dump`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from assistant.facts import JOB, Fact, Origin, Subject
from assistant.intake.document import Document
from assistant.intake.flight_dump import read_text
from assistant.parsers._flight_summary import summarise

NAME = "PyTorch flight recorder"
TRIGGERS = ('"profiling_name"', '"pg_config"')
VERSIONS = "PyTorch 2.3 to 2.9: dump versions 1.0 to 2.10, as JSON (pickles are read by intake)"
SIZE = 80 << 20


def parse(document: Document) -> Iterable[Fact]:
    text = document.text.strip()
    if not text.startswith(("{", "[")) or len(text) > SIZE:
        return []
    dump = read_text(text)
    if dump is None:
        return []
    return list(_facts(document, summarise(dump, document.name, document.rank)))


def _facts(document: Document, summary: dict[str, Any]) -> Iterator[Fact]:
    rank = summary["rank"]
    origin = Origin("tool", document.name, 1, document.host, rank, None)
    subject = JOB if rank is None else Subject("rank", str(rank))
    yield Fact("fr.summary", json.dumps(summary, ensure_ascii=False, separators=(",", ":")), origin, subject)
    yield Fact("fr.version", summary["version"], origin)
    if "torn" in summary:
        yield Fact("fr.torn", summary["torn"], origin, subject)
        if not summary["entries"]:
            return
    yield Fact("fr.entries", summary["entries"], origin, subject)
    yield Fact("fr.pending", summary["pending"], origin, subject)
    if summary["wait"]:
        yield Fact("fr.pending_op", describe(summary["wait"][0], summary["groups"]), origin, subject)
    if summary["tail"]:
        last = summary["tail"][-1]
        yield Fact("fr.last_op", describe(last, summary["groups"]), origin, subject)
        frame = (summary["wait"] or [last])[0][9]
        if frame:
            yield Fact("fr.call_site", frame, origin, subject)


def describe(short: list[Any], groups: dict[str, Any]) -> str:
    """An operation in words.

    >>> describe(["73", 20947, "all_to_all", None, "p", "scheduled", "4096x5120", "BFloat16", None, ""], {"73": {"desc": "EXPERT"}})
    'all_to_all #20947 of group 73 (EXPERT), 4096x5120 BFloat16, scheduled'
    """
    group, seq, op, peer, mark, state, sizes, dtype = short[:8]
    desc = groups.get(group, {}).get("desc", "")
    named = f"group {group} ({desc})" if desc and desc not in ("undefined", group) else f"group {group}"
    other = f" {'to' if op == 'send' else 'from'} member {peer}" if peer is not None else ""
    ended = "retired" if mark == "e" else state
    what = " ".join(part for part in (sizes, dtype) if part)
    return ", ".join(part for part in (f"{op}{other} #{seq} of {named}", what, ended) if part)[:300]
