"""What this hardware should give beside what NCCL Inspector measured at best; the same expectation as for nccl-tests."""

from __future__ import annotations

import re
from collections.abc import Iterable

from assistant.derive import n30_expected
from assistant.facts import CaseFile, Fact, Origin, Value

_WHAT = re.compile(r"(?P<op>\w+) of (?P<size>\d+) (?P<unit>[GMK]i)?B on (?P<ranks>\d+) ranks, (?P<nodes>\d+) nodes")
_OPS = {
    "AllReduce": "all_reduce",
    "AllGather": "all_gather",
    "ReduceScatter": "reduce_scatter",
    "Broadcast": "broadcast",
}
_UNITS = {"Gi": 30, "Mi": 20, "Ki": 10}


def derive(case: CaseFile) -> Iterable[Fact]:
    what, best = case.best("inspector.large_op"), case.best("inspector.best_gbs")
    found = _WHAT.match(str(what.value)) if what is not None else None
    if found is None or best is None or found["op"] not in _OPS or int(found["nodes"]) < 1:
        return
    ranks, nodes = int(found["ranks"]), int(found["nodes"])
    size = int(found["size"]) << _UNITS.get(found["unit"] or "", 0)
    as_test: list[tuple[str, Value]] = [
        ("nccl_tests.op", _OPS[found["op"]]),
        ("nccl_tests.ranks", ranks),
        ("nccl_tests.nodes", nodes),
        ("nccl_tests.gpus_per_node", max(1, ranks // nodes)),
        ("nccl_tests.size_max", size),
        ("nccl_tests.busbw_peak_gbs", best.value),
    ]
    facts = [fact for fact in case.facts if not fact.key.startswith("nccl_tests.")]
    facts += [Fact(key, value, best.origin) for key, value in as_test]
    o = best.origin
    for fact in n30_expected.derive(CaseFile(facts, says=case.says)):
        name = {
            "nccl_tests.share_of_expected": "inspector.share_of_expected",
            "nccl_tests.expected_gbs": "inspector.expected_gbs",
            "nccl_tests.bound": "inspector.bound",
        }.get(fact.key)
        if name:
            yield Fact(name, fact.value, Origin("derived", o.file, o.line, o.host, o.rank, o.quote))
