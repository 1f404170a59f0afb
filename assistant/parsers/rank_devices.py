r"""Which GPU each rank of a host says it uses.

Rank 1 using device cuda:0
Process rank: 1, device: cuda:0, n_gpu: 1, distributed training: True
| distributed init (rank 3): env://, gpu 3
Local process index: 3
Device: cuda:0
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from assistant.facts import Fact, Subject
from assistant.intake.document import Document
from assistant.parsers._lines import lines_with

NAME = "devices of the ranks"
TRIGGERS = ("cuda:", "rocess index: ", "(rank ", "using GPU ", "using device ")
VERSIONS = "what Transformers, accelerate, fairseq, timm, DETR and own programs print of rank and device"


#: Of these one stands in every line that is read.
_HINTS = ("rocess index: ", "cuda", "Cuda", "CUDA", "gpu", "Gpu", "GPU", "evice", "DEVICE")


@cache
def _one_line() -> re.Pattern[str]:
    return re.compile(
        r"(?i)\b(?P<local>local[ _]?)?(?:process )?rank[ :=\[(]*(?P<rank>\d+)\b[\])]?[^\n]{0,60}?"
        r"\b(?:device|gpu|cuda)(?: id| index)?[ :=]*(?:cuda:)?(?P<device>\d{1,2})\b(?!\.\d)"
    )


@cache
def _guess_or_choice() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What c10d guesses for a rank, and what the program says of the same rank."""
    return (
        re.compile(r"\bRank (?P<rank>\d+)\]?\s+using GPU (?P<device>\d+) (?:to perform|as device)"),
        re.compile(r"(?i)(?<!local )(?<!local_)\brank[ :=]*(?P<rank>\d+)\b[^\n]{0,60}\bcuda:(?P<device>\d+)\b"),
    )


@cache
def _block() -> tuple[re.Pattern[str], re.Pattern[str]]:
    return re.compile(r"Local process index: (\d+)\s*$"), re.compile(r"Device: cuda:(\d+)\s*$")


def parse(document: Document) -> Iterable[Fact]:
    named: dict[str, set[str]] = {}
    lines = [(n, document.messages[n]) for n in lines_with(document, _HINTS) if "NCCL INFO" not in document.lines[n]]
    for number, text in lines:
        if "ank" not in text and "RANK" not in text:
            continue
        for pattern in _guess_or_choice():
            found = pattern.search(text) if len(text) <= 600 else None
            if found:
                named.setdefault(found["rank"], set()).add(found["device"])
                if len(named[found["rank"]]) > 1:
                    devices = " and ".join(sorted(named.pop(found["rank"])))
                    yield Fact("rank.device_conflict", f"rank {found['rank']}: GPU {devices}", document.origin(number))
    index_line, device_line = _block()
    local: str | None = None
    for number, text in lines:
        if len(text) > 400 or "NCCL WARN" in text:
            continue
        found = index_line.search(text)
        if found:
            local = found[1]
            continue
        found = device_line.search(text)
        if found and local is not None:
            yield _fact("rank.device_local", int(found[1]), local, document, number)
            local = None
            continue
        found = _one_line().search(text) if "ank" in text or "RANK" in text else None
        if found and "out of memory" not in text and "Error" not in text:
            key = "rank.device_local" if found["local"] else "rank.device"
            yield _fact(key, int(found["device"]), found["rank"], document, number)


def _fact(key: str, device: int, rank: str, document: Document, number: int) -> Fact:
    return Fact(key, device, document.origin(number), Subject("rank", str(int(rank))))
