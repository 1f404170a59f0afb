r"""Small tables that people make of a measurement on each rank or GPU: the one that differs from all others.

rank  compute_time_ms  allreduce_kernel_ms  step_ms
   0           402.11               251.90   660.03
   5           616.82                38.07   660.04

rank 8 711   rank 9 712   rank 10 838  rank 11 710
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from statistics import median

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._lines import indices_of

NAME = "table of ranks"
#: A heading of a column with what ends it, and what stands between pairs of a rank and its figure.
_HEADS = tuple(
    name + end
    for name in ("rank", "Rank", "RANK", "gpu", "GPU", "gpu id", "host", "Host", "node", "Node", "device")
    for end in ("  ", "\t", ",", " |", "|", ";")
)
_BETWEEN = (
    ", rank",
    "; rank",
    "| rank",
    "/ rank",
    "  rank",
    "\trank",
    " rank1",
    ", Rank",
    "  Rank",
    " Rank1",
    "| Rank",
)
TRIGGERS = (*_HEADS, *_BETWEEN)
VERSIONS = "tables of a measurement by rank, GPU or host, as people and scripts print them"

_RATE = re.compile(r"(?i)flops?\b|tokens|samples|images|img|it/s|throughput|gemm|matmul|\bperf")
_TIME = re.compile(r"(?i)comput|forward|fwd|backward|bwd|gemm|matmul|kernel_time|busy|step")
_WAIT = re.compile(r"(?i)all_?reduce|nccl|comm|wait|sync")
_OTHER = re.compile(r"(?i)h2d|d2h|pcie|gb/?s|mhz|clock|temp|idle|mem|power|data|load|io\b")
#: Headings of columns that say whom a row is about.
_NAMES = {"rank", "gpu", "host", "node", "gpu id", "local_rank", "device"}
_NAMED = re.compile(
    r"(?:^|\s\s|[\t|,;#])\s*(?:rank|gpu id|gpu|host|node|local_rank|device)\s*(?:\s\s|[\t|,;]|$)", re.IGNORECASE
)
#: Characters in which a table is looked for: such tables come in small files or at the start of larger ones.
_REACH = 1 << 20
_TABLES = 64
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
#: One blank is left where the next column begins with a bar or a comma; more of them are the bound by themselves.
_CELLS = re.compile(r"\s{2,}|\t|[^\S\t]?[|,;]\s*")
_PAIR = re.compile(r"(?i)\brank[ _=]?(\d+)\W{1,3}(\d+(?:\.\d+)?)(?= ?(?:ms|s|tflops?)?\b)(?!\s*[:/=.]\d)")


def parse(document: Document) -> Iterable[Fact]:
    facts = list(_tables(document))
    return (facts or list(_pairs(document)))[:4]


def _tables(document: Document) -> Iterator[Fact]:
    lines = document.lines
    tried = 0
    for index in indices_of(document.text[:_REACH], _HEADS):
        if tried >= _TABLES:
            return
        line = lines[index]
        if not 12 <= len(line) <= 600 or not _NAMED.search(line):
            continue
        heads = _cells(line)
        names = [h.lower().strip("# ") for h in heads]
        if not 3 <= len(heads) <= 14 or not _NAMES & set(names) or _NUMBER.fullmatch(heads[-1]):
            continue
        tried += 1
        rows: list[tuple[int, list[str]]] = []
        for at in range(index + 1, min(index + 130, len(lines))):
            cells = _cells(lines[at][:600])
            if len(cells) == len(heads):
                rows.append((at, cells))
            elif rows and not re.fullmatch(r"[\s|+=-]*", lines[at]):
                break
        if len(rows) >= 4:
            yield from _columns(document, heads, rows)


def _cells(line: str) -> list[str]:
    return _CELLS.split(line.strip().strip("|").strip())


def _columns(document: Document, heads: list[str], rows: list[tuple[int, list[str]]]) -> Iterator[Fact]:
    for column, head in enumerate(heads):
        wait, rate = _WAIT.search(head), _RATE.search(head) and not re.search(r"(?i)time|_ms|\bms\b|(?<!/)\bs\b$", head)
        if _OTHER.search(head) or not (wait or rate or _TIME.search(head)):
            continue
        found = [_NUMBER.match(cells[column]) for _, cells in rows]
        values = [float(f[0]) for f in found if f]
        if len(values) != len(rows):
            continue
        odd = _odd(values, low=bool(rate or wait), factor=0.5 if wait else None)
        if odd is not None:
            at, cells = rows[odd]
            who = " ".join(
                f"{h.strip('# ')} {c}" for h, c in zip(heads, cells, strict=True) if h.lower().strip("# ") in _NAMES
            )
            yield Fact(
                "rank.odd_compute",
                f"{who}: {head} {values[odd]:g} (peers {median(values):g})",
                document.origin(at, "tool"),
            )


def _pairs(document: Document) -> Iterator[Fact]:
    seen: dict[str, tuple[float, int]] = {}
    for index in indices_of(document.text[:_REACH], _BETWEEN):
        line = document.lines[index]
        pairs = _PAIR.findall(line) if len(line) < 2000 and line.lower().count("rank") >= 4 else []
        if len(pairs) >= 4:
            seen.update({rank: (float(value), index) for rank, value in pairs})
    if len(seen) >= 4:
        names, values = list(seen), [v for v, _ in seen.values()]
        odd = _odd(values, low=False, factor=None)
        if odd is not None:
            yield Fact(
                "rank.odd_compute",
                f"rank {names[odd]}: {values[odd]:g} (peers {median(values):g})",
                document.origin(seen[names[odd]][1], "tool"),
            )


def _odd(values: list[float], *, low: bool, factor: float | None) -> int | None:
    """The one value that is worse than all others, which lie close together."""
    middle = median(values)
    if middle <= 0:
        return None
    worst = min(range(len(values)), key=lambda i: values[i] if low else -values[i])
    rest = [v for i, v in enumerate(values) if i != worst]
    if max(rest) - min(rest) > 0.08 * middle:
        return None
    bad = values[worst] < (factor or 0.92) * middle if low else values[worst] > 1.08 * middle
    return worst if bad else None
