r"""Measurements of many pairs of hosts in one text: a line a pair.

n0 <-> n4   65536      218900           0.00               22.94              0.043755
n05-r0 -> n29-r0          63.5
gpu01 gpu07 391.2 Gb/s
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import median
from string import ascii_letters

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._lines import lines_with
from assistant.parsers._net import Reader

NAME = "table of pairs"
#: A name with a number, what stands between two of them, and a name again. Without blanks a letter must follow: NCCL's trees
#: are numbers with arrows between them.
TRIGGERS = (
    *(f"{digit} {mark} " for digit in range(10) for mark in ("->", "<->", "-->", "--", "to", "vs", "vs.", "→", "—")),
    *(f"->{letter}" for letter in ascii_letters),
)
VERSIONS = "tables of bandwidth or latency for pairs of hosts, as people and scripts print them"

_PAIR = re.compile(
    r"^\s*(?P<a>[A-Za-z][\w.-]*\d[\w.]*) ?(?:<?-{1,2}>|to|vs\.?|—|→) ?(?P<b>[A-Za-z][\w.-]*\d[\w.]*)[\s:,=|]+(?P<rest>[\d.].*)$"
)
_NUMBERS = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.]*\w)")
#: A pair this far below the usual one is not noise.
_LOW = 0.7


@dataclass(frozen=True, slots=True)
class Pair:
    index: int
    one: str
    other: str
    rate: float


def parse(document: Document) -> Iterable[Fact]:
    reader = Reader(document)
    run: list[Pair] = []
    for index in lines_with(document, ("->", "--", " to ", " vs", "→", "—")):
        text = document.messages[index]
        found = _PAIR.match(text)
        rate = _rate(found["rest"]) if found else None
        if found and rate is not None:
            run.append(Pair(index, found["a"], found["b"], rate))
    if len(run) >= 4 and len({(p.one, p.other) for p in run}) == len(run):
        yield from _judge(reader, run)


def _rate(rest: str) -> float | None:
    """The figure of a row: the average of perftest's five columns, else the only number or the last one."""
    numbers = [float(m[0]) for m in _NUMBERS.finditer(rest)]
    if not numbers:
        return None
    return numbers[3] if len(numbers) == 5 and numbers[0] >= 1024 else numbers[-1] if len(numbers) == 1 else numbers[0]


def _judge(reader: Reader, run: list[Pair]) -> Iterator[Fact]:
    best = max(p.rate for p in run)
    usual = median(p.rate for p in run)
    low = [p for p in run if p.rate < _LOW * best]
    if not low or usual <= 0:
        return
    ends = Counter(end for p in low for end in {p.one, p.other})
    everywhere = Counter(end for p in run for end in {p.one, p.other})
    culprit = [e for e, n in ends.items() if n == len(low) and everywhere[e] == n]
    first = min(low, key=lambda p: p.rate)
    if usual >= _LOW * best and (culprit or len(low) == 1):
        shown = culprit[0] if culprit else f"{first.one} to {first.other}"
        yield reader.job(first.index, "net.odd_pair", f"{shown}: {first.rate:g} where the others reach {best:g}")
    elif len(low) >= 3 and not culprit:
        yield reader.job(
            first.index,
            "net.pairs_uneven",
            f"{len(low)} of {len(run)} pairs below {_LOW * best:.3g}, the best at {best:g}",
        )
