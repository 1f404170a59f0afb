"""What DDP tells of itself: settings at its start, times of its phases, parameters that got no gradient.

[rank2]:[I...] logger.cpp:223] [Rank 2]: DDP Initialized with:
broadcast_buffers: 1
bucket_cap_bytes: 26214400
find_unused_parameters: 0
[Rank 1 / 2] [before iteration 1] Training TwoLinLayerNet unused_parameter_size=0
 Avg forward compute time: 40838608
 Avg backward compute time: 5983335
Avg backward comm. time: 4326421
 Avg backward comm/comp overlap time: 4207652
Parameters which did not receive grad for rank 2: m.b.bias, m.b.weight
Parameter indices which did not receive grad for rank 2: 2 3
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from assistant.facts import Fact, Subject
from assistant.intake.document import Document
from assistant.parsers._find import lines_with
from assistant.parsers._series import matched_lines

NAME = "DDP's own log"
TRIGGERS = ("DDP Initialized with:", "Avg forward compute time:", "did not receive grad for rank")
VERSIONS = "PyTorch 1.9 to 2.9: TORCH_DISTRIBUTED_DEBUG=INFO and DETAIL, logger.cpp, reducer.cpp"

_SETTING = re.compile(r"^(\w+): ?(\S.*)?$")
_STATS = re.compile(
    r"\[Rank (\d+) / \d+\] \[before iteration (\d+)\] Training (\S+) unused_parameter_size=(\d+)\s+Avg forward compute time: (\d+)\s+Avg backward compute time: (\d+)"
    r"\s+Avg backward comm\. time: (\d+)\s+Avg backward comm/comp overlap time: (\d+)"
)
_UNUSED = re.compile(r"Param(?:eters|eter indices) which did not receive grad for rank (\d+): ([^\n]*)")
_RANKS = 256


def parse(document: Document) -> Iterable[Fact]:
    text = document.text
    if "DDP Initialized with:" in text:
        yield from _settings(document)
    if "Avg forward compute time:" in text:
        yield from _stats(document)
    if "did not receive grad for rank" in text:
        yield from _unused(document)


def _settings(document: Document) -> Iterator[Fact]:
    """Of the first rank that prints them; they are equal on all."""
    index = next(iter(lines_with(document, ("DDP Initialized with:",), 1)))
    for at in range(index + 1, min(index + 40, len(document.lines))):
        found = _SETTING.match(document.messages[at].strip())
        if found is None:
            return
        name, value = found[1], (found[2] or "").strip()
        if name == "find_unused_parameters" and value in ("0", "1"):
            yield Fact("config.find_unused", value == "1", document.origin(at))
        elif name == "bucket_cap_bytes" and value.isdecimal():
            yield Fact("config.bucket_mb", round(int(value) / 2**20, 2), document.origin(at))
        elif name == "backend_name" and value:
            yield Fact("ddp.backend", value, document.origin(at))
        elif name == "total_parameter_size_bytes" and value.isdecimal():
            yield Fact("ddp.parameter_mb", round(int(value) / 2**20, 3), document.origin(at))
        elif name == "has_sync_bn" and value == "1":
            yield Fact("ddp.sync_batchnorm", True, document.origin(at))


def _stats(document: Document) -> Iterator[Fact]:
    """Times are in nanoseconds; the last line of each rank counts, as the means run on."""
    last: dict[int, tuple[re.Match[str], int]] = {}
    for index, found in matched_lines(document, ((m.start(), m) for m in _STATS.finditer(document.text))):
        if int(found[1]) in last or len(last) < _RANKS:
            last[int(found[1])] = (found, index)
    for rank, (found, index) in last.items():
        forward, backward, comm, overlap = (int(v) / 1e6 for v in found.groups()[4:])
        origin, subject = document.origin(index), Subject("rank", str(rank))
        if forward > 0:
            yield Fact("rank.compute_ms", round(forward, 3), origin, subject)
        whole = forward + backward + max(comm - overlap, 0.0)
        if whole > 0 and comm > 0:
            yield Fact("ddp.exposed_share", round(max(comm - overlap, 0.0) / whole, 3), origin, subject)


def _unused(document: Document) -> Iterator[Fact]:
    told: set[int] = set()
    for index, found in matched_lines(document, ((m.start(), m) for m in _UNUSED.finditer(document.text))):
        rank = int(found[1])
        if rank in told or len(told) >= _RANKS:
            continue
        told.add(rank)
        names = found[2].strip()
        yield Fact("ddp.unused", names[:200], document.origin(index), Subject("rank", str(rank)))
