r"""Log lines of libfabric (FI_LOG_LEVEL=warn, info, debug) and `fi_info --version`.

libfabric:12817:1712345678::core:core:fi_getinfo_():1161<info> Found provider with the highest priority efa, must_use_util_prov = 0
libfabric:12817:efa:av:efa_av_insert_one():345<warn> Failed to create AH: Invalid argument
libfabric: 1.18.1amzn1.0
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._gather import Gather
from assistant.parsers._lines import lines_with
from assistant.parsers._net import hosts

NAME = "libfabric log"
TRIGGERS = ("libfabric:", "libfabric api:")
VERSIONS = "libfabric 1.6 to 2.2: lines with and without time, fi_info --version"

_WARNINGS = 20


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "line": re.compile(
            r"libfabric:\d+:(?:(?P<time>\d+):(?P<label>[^:]*):)?(?P<provider>[\w;-]+):(?P<part>\w+):(?P<function>\w+)(?:\(\))?:\d+<(?P<level>\w+)> (?P<text>.*)$"
        ),
        "chosen": re.compile(r"Found provider with the highest priority (?P<p>[\w;-]+)|since (?P<q>[\w;-]+) can be used"),
        "version": re.compile(r"^\s*libfabric: (?P<v>\d+\.\d+\S*)"),
        "absent": re.compile(r"[Nn]o (?P<p>\w+) devices? (?:were |was )?found|(?P<q>\w+): no devices|provider (?P<r>[\w;-]+) (?:is )?not (?:available|found)"),
    }  # fmt: skip


def parse(document: Document) -> Iterable[Fact]:
    found = Gather(document)
    patterns = _patterns()
    names = hosts(document) if "libfabric api:" in document.text else []
    warnings = 0
    for index in lines_with(document, ("libfabric:",)):
        text = document.lines[index]
        version = patterns["version"].match(text)
        if version:
            found.add("ofi.libfabric_version", version["v"], index, host=names[index] if names else None)
            continue
        line = patterns["line"].search(text)
        if line is None:
            continue
        chosen = patterns["chosen"].search(line["text"])
        if chosen:
            found.add("ofi.provider_first", chosen["p"] or chosen["q"], index)
        absent = patterns["absent"].search(line["text"])
        if absent:
            found.add("ofi.provider_absent", (absent["p"] or absent["q"] or absent["r"]).lower(), index)
        if line["level"] == "warn" and warnings < _WARNINGS:
            warnings += 1
            found.add("ofi.warning", f"{line['provider']}: {line['text'].strip()[:160]}", index)
    return found.facts
