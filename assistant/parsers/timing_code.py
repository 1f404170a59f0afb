"""Programs that time GPU work with the host's clock and do not wait for the GPU.

t = time.time()
dist.all_reduce(x)
print(time.time() - t)          # only the launch was timed
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._lines import lines_with

NAME = "timing code"
TRIGGERS = ("time.time()", "perf_counter()", "time.monotonic()", "default_timer()")
VERSIONS = "Python programs for PyTorch, JAX and CuPy"

#: Of these one stands in every line that is read.
_HINTS = (
    "time.time()", "perf_counter()", "time.monotonic()", "default_timer()", "synchronize(", ".item()", ".cpu()", "block_until_ready", ".wait()",
    ".tolist()", ".numpy()", "reduce(", "gather", "scatter", "broadcast(", "to_all", "toall", "mm(", "matmul(", "model(", "net(",
)  # fmt: skip


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    clock = r"(?:time\.time|(?:time\.)?perf_counter|time\.monotonic|default_timer)\(\)"
    return {
        "start": re.compile(rf"^\s*(?P<name>\w+)\s*=\s*{clock}"),
        "stop": re.compile(rf"{clock}\s*-\s*(?P<name>\w+)\b"),
        "work": re.compile(
            r"\b(?:all_?reduce|all_?gather\w*|reduce_?scatter\w*|broadcast|all_?to_?all\w*|matmul|mm|model|net)\("
        ),
        "wait": re.compile(r"synchronize\(|\.item\(\)|\.cpu\(\)|block_until_ready|\.wait\(\)|\.tolist\(\)|\.numpy\(\)"),
    }


def parse(document: Document) -> Iterable[Fact]:
    patterns = _patterns()
    started: dict[str, bool] = {}
    for index in lines_with(document, _HINTS):
        line = document.messages[index]
        stop = patterns["stop"].search(line)
        waits = patterns["wait"].search(line[: stop.start()] if stop else line)
        if waits:
            started.clear()
        if stop and started.get(stop["name"]):
            yield Fact("measure.async_timing", True, document.origin(index, "config"))
            return
        start = patterns["start"].match(line)
        if start:
            started[start["name"]] = False
        elif patterns["work"].search(line) and not stop:
            started = dict.fromkeys(started, True)
