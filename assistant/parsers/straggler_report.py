r"""Reports of stragglers: Megatron's straggler log and the straggler detection of NeMo and the resiliency extension.

timestamp: ... | MnRtt/Rnk: 8213.11ms/93 | MxRtt/Rnk: 11604.70ms/44 | ... | MnEtpt/Rnk: 371.10TF/44 | MxEtpt/Rnk: 524.02TF/93 |
  Rank=37 Node=pool-7 Score=0.71
STRAGGLER DETECTION WARNING: Some GPUs have worse relative performance. Affected ranks: {37}
GPU relative perf: {0: 0.99, 1: 1.0, 2: 0.64}
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from statistics import median

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._find import lines_with

NAME = "straggler report"
TRIGGERS = ("Etpt/Rnk", "STRAGGLER DETECTION", "straggler_det", "relative perf")
VERSIONS = "Megatron Core 0.5 to 0.14, NVIDIA's resiliency extension 0.1 to 0.4, NeMo 1 and 2"

#: Below this share of the peers a rank is slow.
SHARE = 0.88


def parse(document: Document) -> Iterable[Fact]:
    scores: dict[str, tuple[float, int]] = {}
    done: set[str] = set()
    for index in lines_with(document, ("Etpt/Rnk", "worse ", "Score=", "relative perf")):
        line = document.messages[index]
        if len(line) > 4000:
            continue
        for fact in _line(document, index, line, scores):
            if str(fact.value) not in done:
                done.add(str(fact.value))
                yield fact
    if len(scores) >= 3:
        middle = median(s for s, _ in scores.values())
        for rank, (score, index) in scores.items():
            if score < SHARE * middle:
                yield Fact(
                    "rank.odd_compute", f"rank {rank}: score {score:g} (peers {middle:g})", document.origin(index)
                )


def _line(document: Document, index: int, line: str, scores: dict[str, tuple[float, int]]) -> Iterator[Fact]:
    low = re.search(r"MnEtpt/Rnk: (?P<value>\d+(?:\.\d+)?)TF/(?P<rank>\d+)", line)
    high = re.search(r"MxEtpt/Rnk: (?P<value>\d+(?:\.\d+)?)TF", line)
    if low and high and float(low["value"]) < SHARE * float(high["value"]):
        yield Fact(
            "rank.odd_compute",
            f"rank {low['rank']}: {low['value']} TFLOP/s (best {high['value']})",
            document.origin(index),
        )
    found = re.search(
        r"Some GPUs have worse (?P<how>relative|individual) performance.{0,300}?[Aa]ffected ranks:? ?[{\[(]?(?P<ranks>[\d, ]+)",
        line,
    )
    if found:
        yield Fact(
            "rank.odd_compute",
            f"rank {found['ranks'].strip()}: worse {found['how']} performance",
            document.origin(index),
        )
    found = re.search(r"Rank=(?P<rank>\d+) Node=\S+ Score=(?P<score>\d+(?:\.\d+)?)", line)
    if found:
        scores[found["rank"]] = (float(found["score"]), index)
    elif "relative perf" in line:
        for rank, score in re.findall(r"(\d+): ([01]\.\d+)", line):
            scores[rank] = (float(score), index)
