"""A bus bandwidth over the network that the user tells, against what the network gives."""

from __future__ import annotations

import re
from collections.abc import Iterable

from assistant.derive.n60_launch import _fact
from assistant.facts import CaseFile, Fact, Origin

_NAMED = re.compile(
    r"\b(?:bus ?bw|bus bandwidth|algbw|nccl(?:[-_ ]tests?)?|all_?-?reduce(?:_perf)?|all_?-?gather(?:_perf)?)\b[^.?!\n]{0,80}?\b(?P<a>\d{1,3}(?:\.\d+)?) ?G(?:B|iB)/s"
    r"|\b(?P<b>\d{1,3}(?:\.\d+)?) ?G(?:B|iB)/s[^.?!\n]{0,30}\b(?:bus ?bw|bus bandwidth|from nccl)|bus_?bw\w*: ?(?P<c>\d{1,3}(?:\.\d+)?)\b"
)  # fmt: skip


def derive(case: CaseFile) -> Iterable[Fact]:
    expected = case.value("expected.nic_gbs")
    nodes = case.value("nodes")
    if not isinstance(expected, int | float) or not expected or not isinstance(nodes, int) or nodes < 2:
        return
    cards = case.value("nics_per_node")
    total = expected * (cards if isinstance(cards, int) and cards > 0 else 1)
    for sentence in case.says:
        found = _NAMED.search(sentence)
        if found:
            value = float(found["a"] or found["b"] or found["c"])
            yield _fact("said.busbw_share", round(value / total, 3), Origin("say", quote=sentence[:240]))
            return
