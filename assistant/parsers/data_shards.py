"""Listings and patterns of data shards -> how many there are.

Samples:

    set/a:
    -rw-r--r-- 1 ann ml 1073741824 Mar 14 18:40 part-000000.tar
    train-00000-of-00004.parquet
    urls = "s3://bucket/imagenet-{000000..000146}.tar"
    Dataset has 3 shards, num_shards=3
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._lines import lines_with

NAME = "data shards"
TRIGGERS = (
    ".tar",
    ".tfrecord",
    ".parquet",
    ".arrow",
    ".mds",
    ".json\n",
    ".jsonl",
    ".wds",
    ".recordio",
    "-of-0",
    "-of-1",
    "_shards",
    "num shards",
    "number of shards",
    "Number of shards",
    "NUM_SHARDS",
)
VERSIONS = "listings of ls, brace patterns of WebDataset, names of Hugging Face, TFRecord, MDS, shards"

_SUFFIX = r"(?:tar|tfrecords?|parquet|arrow|mds|jsonl?(?:\.(?:gz|zst))?|wds|recordio)"
_RANGE = re.compile(rf"\{{(?P<a>\d+)\.\.(?P<b>\d+)\}}[\w.-]*\.{_SUFFIX}\b")
_OF = re.compile(r"[-_](?P<n>\d{4,6})-of-(?P<total>\d{4,6})\b")
_FILE = re.compile(rf"(?:^|[\s/])(?P<name>[\w.-]*?\d\d[\w.-]*\.{_SUFFIX})\s*$")
_SINGLE = re.compile(r"^[-l]r[-w]\S{7,9}.*\s(?P<name>\S+\.(?:tar|tfrecords?|parquet|arrow|mds|wds))\s*$")
_FOLDER = re.compile(r"^(?P<name>[\w./~-]+):$")
_STATED = re.compile(r"\b(?:n|num|number of)[_ ]?shards\W{1,4}(?P<n>\d{1,6})\b", re.IGNORECASE)
_LINES = 20_000


#: Of these one stands in every line that is read; a folder is named before its files.
_HINTS = (
    ".tar",
    ".tfrecord",
    ".parquet",
    ".arrow",
    ".mds",
    ".json",
    ".wds",
    ".recordio",
    "-of-",
    "hards",
    "HARDS",
    ":\n",
)


def parse(document: Document) -> Iterable[Fact]:
    listed: dict[str, tuple[set[str], int]] = {}
    folder = ""
    facts: list[Fact] = []
    for index in lines_with(document, _HINTS):
        if index >= _LINES:
            break
        line = document.messages[index]
        if len(line) > 1000:
            continue
        head = _FOLDER.match(line)
        if head is not None:
            folder = head["name"]
            continue
        spread = _RANGE.search(line)
        if spread is not None and int(spread["b"]) >= int(spread["a"]):
            facts.append(Fact("input.shards", int(spread["b"]) - int(spread["a"]) + 1, document.origin(index)))
            continue
        stated = _STATED.search(line)
        if stated is not None:
            facts.append(Fact("input.shards", int(stated["n"]), document.origin(index)))
            continue
        whole = _OF.search(line)
        if whole is not None:
            facts.append(Fact("input.shards", int(whole["total"]), document.origin(index)))
            continue
        name = _SINGLE.match(line) or _FILE.search(line)
        if name is not None and ("checkpoint" not in line and "model" not in line):
            path = line.rsplit("/", 1)[0] if "/" in name["name"] else folder
            listed.setdefault(path, (set(), index))[0].add(name["name"])
    for names, index in listed.values():
        facts.append(Fact("input.shards", len(names), document.origin(index, "tool")))
    return [min(facts, key=lambda f: int(f.value))] if facts else []
