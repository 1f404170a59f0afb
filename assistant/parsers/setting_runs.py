r"""The same measurement with and without a setting, or with two versions of NCCL: runs of nccl-tests and tables of results.

$ ./all_reduce_perf -b 256M -e 256M -g 8
   268435456      67108864     float     sum      -1   148211    1.81    3.17      0   148020    1.81    3.17      0
$ NCCL_P2P_DISABLE=1 ./all_reduce_perf -b 256M -e 256M -g 8
   268435456      67108864     float     sum      -1    44120    6.08   10.65      0    44210    6.07   10.63      0

| default            | 38.1 tok/s |
| NCCL_P2P_DISABLE=1 | 71.4 tok/s |
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._lines import lines_with
from assistant.parsers._net import Reader
from assistant.parsers.nccl_tests import read_row

NAME = "runs with and without a setting"
TRIGGERS = ("NCCL_", " busbw", "_perf ", "     sum      -1")
VERSIONS = "nccl-tests and tables of results with and without a setting or with two versions"


#: Of these one stands in every row of nccl-tests.
_TYPES = (
    " float",
    " half",
    " double",
    " bfloat16",
    " char",
    " fp8",
    " f8",
    *(f" {u}int{n}" for u in ("", "u") for n in (8, 32, 64)),
)


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "command": re.compile(r"_perf\b|\bmpirun\b|\bsrun\b|\btorchrun\b|\bpython3?\b|^\s*[$#>] |^\s*export "),
        "setting": re.compile(r"\b(?P<name>NCCL_[A-Z0-9_]+)=(?P<value>[\w.:,^-]+)"),
        "version": re.compile(
            r"NCCL version:? ?(?P<v>2\.\d+\.\d+)|libnccl(?:\.so)?[ .](?P<v2>2\.\d+\.\d+)|\b(?i:nccl) (?P<v3>2\.\d+\.\d+)"
        ),
        "base": re.compile(
            r"\b(?:default|baseline|none|nothing|without|plain|no settings?|unset|as is|before)\b", re.IGNORECASE
        ),
        "entry": re.compile(
            r"^\W*(?P<label>[A-Za-z][^|:\d]*?(?:NCCL_[A-Z0-9_]+=[\w.:,-]+[^|:\d]*)?)\s*[|:]\s*(?P<n>\d+(?:[.,]\d+)?) ?(?P<u>[A-Za-z%/µ]*)"
        ),
    }


def parse(document: Document) -> Iterable[Fact]:
    reader = Reader(document)
    yield from _facts(reader, _measured(document) or _listed(document))


def _measured(document: Document) -> list[tuple[str, float, int, bool]]:
    """(label, peak bus bandwidth, line, larger is better) of every run of nccl-tests, labelled by its setting or version."""
    patterns = _patterns()
    runs: list[tuple[str, float, int, bool]] = []
    if not any(kind in document.text for kind in _TYPES):
        return runs
    label, peak, first = "", 0.0, 0
    named = False
    for index, text in enumerate(document.messages):
        row = read_row(text, index)
        if row is not None:
            if row.busbw > peak:
                peak, first = row.busbw, first or index
            continue
        setting = patterns["setting"].search(text) if "NCCL_" in text and "NCCL INFO" not in text else None
        version = patterns["version"].search(text) if "NCCL" in text or "nccl" in text else None
        if not (setting or version or peak):
            continue
        command = patterns["command"].search(text) is not None
        if not (setting or version or command):
            continue
        if peak:
            runs.append((label, peak, first, True))
            peak, first, named, label = 0.0, 0, False, ""
        if setting and command:
            label, named = f"{setting['name']}={setting['value']}", True
        elif version and not named:
            label = "version " + (version["v"] or version["v2"] or version["v3"])
    if peak:
        runs.append((label, peak, first, True))
    return runs


def _listed(document: Document) -> list[tuple[str, float, int, bool]]:
    """Lines `label | figure`, of which one names a setting and another none."""
    patterns = _patterns()
    rows: list[tuple[str, float, int, bool]] = []
    named = [document.messages[i] for i in lines_with(document, ("NCCL_",))]
    if not any(
        len(text) < 200 and (entry := patterns["entry"].match(text)) and patterns["setting"].search(entry["label"])
        for text in named
    ):
        return rows
    settings = False
    for index, text in enumerate(document.messages):
        found = patterns["entry"].match(text) if len(text) < 200 else None
        if not found:
            continue
        setting = patterns["setting"].search(found["label"])
        base = patterns["base"].search(found["label"])
        if not setting and not base:
            continue
        settings = settings or setting is not None
        better = not re.match(r"(?:m?s|sec\w*|min\w*|us|µs|h)\b|.*/(?:it|step|epoch)", found["u"])
        rows.append(
            (
                f"{setting['name']}={setting['value']}" if setting else "",
                float(found["n"].replace(",", ".")),
                index,
                better,
            )
        )
    return rows if settings else []


def _facts(reader: Reader, runs: list[tuple[str, float, int, bool]]) -> Iterable[Fact]:
    base = next((r for r in runs if not r[0]), None)
    for label, value, index, better in runs:
        if label.startswith("NCCL_") and base is not None and base[1] > 0 and value > 0:
            gain = value / base[1] if better else base[1] / value
            yield reader.job(index, "setting.gain", round(gain, 3))
            kind = "helps" if gain > 1.3 else "hurts" if gain < 0.77 else "same"
            yield reader.job(index, f"setting.{kind}", label)
    versions = sorted(
        (
            (tuple(int(n) for n in label[8:].split(".")), value, index)
            for label, value, index, _ in runs
            if label.startswith("version ")
        ),
    )
    if len(versions) > 1 and versions[0][0] != versions[-1][0]:
        rates = {v: max(r for w, r, _ in versions if w == v) for v, _, _ in versions}
        low = min(rates.values())
        if low > 0:
            yield reader.job(versions[-1][2], "nccl_tests.versions_ratio", round(max(rates.values()) / low, 2))
