"""Work per rank, stage, expert or graph part -> how unequal it is.

Samples:

    step 210 rank 2 tokens 16021 fwd+bwd 3.33s
    layer 11 | tokens per expert: [310, 122, 14882, 201]
    RANK=3 STAGE=3 LAYERS=9 [27, 36) STAGE_PARAMS=2810102784 (2810.103M)
    Part 0, Epoch Time(s): 412.1, sample+data_copy: 110.2, #seeds: 811022
      rank  idle_time(us)  compute_time(us)  non_compute_time(us)
         3        371002           7470155                199711
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from statistics import median

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._lines import lines_with

NAME = "work per rank"
#: Words for work, without their first letter.
_WORK = ("okens", "eq_len", "eqlen", "rames", "oxes", "dges", "oints", "eeds", "toms", "equests")
TRIGGERS = (
    "compute_time(us",
    "xpert",
    "STAGE_PARAMS",
    "#seeds: ",
    *_WORK,
    *(f"{digit} samples" for digit in range(10)),
    *(f"{mark} samples" for mark in ":,|]"),
    "_samples",
    *(f"{digit} nodes" for digit in range(10)),
    *(f"{mark} nodes" for mark in ":,|]"),
)
VERSIONS = "tokens per rank and expert of MoE programs, DeepSpeed pipeline partitions, DGL and PyG partitions, HTA 0.2"

_LINES = 50_000
#: Largest over smallest share from which ranks, stages or parts count as unequal; for experts, largest over the mean.
_SPREAD = 1.5
_EXPERT_LOAD = 3.0


@cache
def _forms() -> tuple[tuple[str, re.Pattern[str]], ...]:
    number = r"(?P<v>\d[\d,]*(?:\.\d+)?)"
    return tuple(
        (name, re.compile(pattern, re.IGNORECASE))
        for name, pattern in (
            ("stage", rf"\bSTAGE=(?P<who>\d+)\b.*?\bSTAGE_PARAMS={number}"),
            ("part", rf"^\s*Part (?P<who>\d+), .*?#seeds: {number}"),
            ("tokens", rf"\b(?:dp_?|global_?)?rank[ :=\]]*(?P<who>\d+)\b.{{0,60}}?\b(?:num_|n_)?(?:tokens|samples|seq_?len(?:gth)?|frames|boxes|edges|points|seeds|nodes|atoms|requests)\b[ :=]+{number}"),
        )
    )  # fmt: skip


_EXPERTS = re.compile(
    r"\b(?:tokens?|load|count)\w*[ _](?:per|for each|by|each)[ _](?:local[ _])?experts?\b\W{0,4}[\[(](?P<list>[\d.,\s]+)[\])]|\bexperts?[ _](?:load|counts?|tokens|histogram)\b\W{0,4}[\[(](?P<list2>[\d.,\s]+)[\])]",
    re.IGNORECASE,
)
_TRACE_HEAD = re.compile(r"\brank\b.{0,300}?\bcompute_time")


def parse(document: Document) -> Iterable[Fact]:
    seen: dict[str, dict[str, list[float]]] = {}
    last: dict[str, int] = {}
    experts: list[tuple[float, int]] = []
    column: int | None = None
    for index in _lines(document):
        line = document.messages[index][:1000]
        if "compute_time" in line and _TRACE_HEAD.search(line):
            column = next((i for i, w in enumerate(line.split()) if w.startswith("compute_time(us")), None)
            continue
        words = line.split() if column is not None else []
        if column is not None and len(words) > column and words[0].isdecimal():
            seen.setdefault("trace", {}).setdefault(words[0], []).append(_number(words[column]))
            last["trace"] = index
            continue
        if "xpert" in line:
            found = _EXPERTS.search(line)
            loads = (
                [_number(n) for n in re.split(r"[,\s]+", (found["list"] or found["list2"]).strip(" ,")) if n]
                if found
                else []
            )
            if len(loads) >= 4 and sum(loads) > 0:
                experts.append((max(loads) * len(loads) / sum(loads), index))
                continue
        if not ("ank" in line or "RANK" in line or "STAGE" in line or "#seeds" in line):
            continue
        for name, form in _forms():
            hit = form.search(line)
            if hit is not None:
                seen.setdefault(name, {}).setdefault(hit["who"], []).append(_number(hit["v"]))
                last[name] = index
                break
    facts = []
    for name, by in seen.items():
        ratio = _spread(list(by.values()))
        if len(by) >= 2 and ratio >= _SPREAD:
            facts.append(Fact("work.spread", round(ratio, 2), document.origin(last[name])))
            facts.append(Fact("work.spread_of", name, document.origin(last[name])))
    if experts:
        ratio = median(r for r, _ in experts)
        if ratio >= _EXPERT_LOAD:
            facts.append(Fact("work.spread", round(ratio, 2), document.origin(experts[-1][1])))
            facts.append(Fact("work.spread_of", "expert", document.origin(experts[-1][1])))
    return facts


def _lines(document: Document) -> Iterable[int]:
    """Indices of the lines that may tell something; all of them where a table of times is among them."""
    if "compute_time(us" in document.text:
        return range(min(len(document.lines), _LINES))
    return lines_with(document, ("xpert", "STAGE_PARAMS", "#seeds", *_WORK, "amples", "odes"))


def _spread(ranks: list[list[float]]) -> float:
    """Largest over smallest work at the same step; what belongs to one step stands at the same place of each list."""
    ratios = []
    for values in zip(*ranks, strict=False):
        low, high = min(values), max(values)
        if low > 0:
            ratios.append(high / low)
    return median(ratios) if ratios else 1.0


def _number(text: str) -> float:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return 0.0
