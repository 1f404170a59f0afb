"""Throughputs and times that a user states for several node or GPU counts, in words or as a fact.

"Llama-2B gives 23.9 samples/s on one node and 18.7 samples/s on two such nodes"
"One machine needs 4 seconds an iteration, two machines need 90"
samples_per_s: {'1 node': 23.9, '2 nodes': 18.7}
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

_NUMBERS = {
    "a single": 1,
    "single": 1,
    "one": 1,
    "1": 1,
    "both": 2,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "twelve": 12,
    "sixteen": 16,
    "thirty-two": 32,
    "sixty-four": 64,
}
_WORD = "|".join(sorted(_NUMBERS, key=len, reverse=True))
_NODE = r"nodes?|machines?|servers?|box(?:es)?|hosts?|instances?|vms?|pods?|computers?|pcs?"
_GPU = r"gpus?|cards?|devices?|workers?|ranks?|processes|[vah]\d{2,3}s?|gtx|rtx|teslas?|titans?|k80s?|l40s?|[345]0[6789]0s?|\d{4} ?tis?"
_COUNT = re.compile(
    rf"\b(?P<n>{_WORD}|\d{{1,4}}) ?(?:x ?)?(?:(?!(?:gpu|node|per|in|on|of|and|with|to|at|over|{_WORD}|g?bit|[gm]bit\w*|[gm]i?b|gbe|seconds?|percent|minutes?|times?|ms)\b)[a-z][\w-]* ){{0,2}}?(?P<what>{_NODE}|(?:{_GPU})(?! ?(?:{_NODE})\b))\b",
    re.IGNORECASE,
)
_BARE = re.compile(rf"\b(?:on|with|over|across|using) (?P<n>{_WORD})(?=[.,;!?)]| of them| such| it\b|$)", re.IGNORECASE)
_RATE_UNIT = (
    r"(?P<rate>(?:samples?|images?|imgs?|tokens?|tok|seq(?:uence)?s?|sentences?|examples?|words?|frames?|files?|it(?:eration)?s?|steps?|batch(?:es)?)(?: ?/ ?s(?:ec(?:ond)?)?\b| ?per ?sec(?:ond)?\b| an? second\b|_per_s\w*)"
    r"|t?flops?\b|fps\b|it/s\b|steps/s\b)"
)
_TIME_UNIT = r"(?P<time>ms|milliseconds?|s|secs?|seconds?|minutes?|mins?|min|hours?|hrs?|h|days?)\b"
_VALUE = re.compile(
    rf"(?<![\w.-])(?P<v>\d[\d,]*(?:\.\d+)?)(?P<k>k)? ?(?:{_RATE_UNIT}|{_TIME_UNIT}(?P<per>[^.;\d]{{0,16}}?\b(?:it(?:eration)?|step|batch|epoch)s?\b)?|(?=[.,;!?)\]}}]|$| (?:and|on|with|in|over|for|instead|only|when|if|but|total)\b))",
    re.IGNORECASE,
)
_IN_SECONDS = {
    "ms": 1e-3,
    "milli": 1e-3,
    "s": 1.0,
    "sec": 1.0,
    "m": 60.0,
    "min": 60.0,
    "h": 3600.0,
    "hr": 3600.0,
    "hour": 3600.0,
    "d": 86400.0,
    "day": 86400.0,
}
_FACT = re.compile(
    r"^(?P<key>\w*(?:per_s|_s|rate|throughput|speed|time|epoch|step|img|images|samples|tokens|it)\w*)\s*[:=]\s*(?P<rest>.*\d.*)$",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Rate:
    """A throughput at a count. `unit` is total, steps (of each device) or epoch (epochs a second)."""

    count: int
    what: str
    value: float
    unit: str


def number_of(text: str) -> int:
    return _NUMBERS.get(text.lower()) or int(text)


def stated_rates(sentences: list[str]) -> Iterator[list[Rate]]:
    """Groups of figures that belong together, each with at least two counts."""
    for message in sentences:
        fact = _FACT.match(message.strip())
        if fact is not None:
            group = list(_pairs(fact["rest"], _unit_of_key(fact["key"])))
            if len({r.count for r in group}) > 1:
                yield group
            continue
        parts = re.split(r"(?<=[^\d.][.!?;])\s+|\n", message)
        windows = [*parts, *(f"{a} {b}" for a, b in pairwise(parts))]
        for sentence in windows:
            group = list(_pairs(sentence, None))
            if len({r.count for r in group}) > 1:
                yield group
                break


def _unit_of_key(key: str) -> tuple[str, float] | None:
    key = key.lower()
    if re.search(r"(?:s|sec|seconds|time)_per_(?:it|step|batch)|(?:step|iter)\w*_(?:time|s)\b", key):
        return "steps", -1.0
    if re.search(r"it_per|its_|steps?_per|iterations_per", key):
        return "steps", 1.0
    if "per_s" in key or "throughput" in key or "rate" in key:
        return "total", 1.0
    if "epoch" in key:
        return "epoch", -1.0
    return None


def _pairs(sentence: str, default: tuple[str, float] | None) -> Iterator[Rate]:
    """Counts and values of one sentence in the order in which they stand, where there are equally many."""
    text = sentence.replace("'", " ").replace('"', " ")
    counts = [
        (m.start(), m.end(), number_of(m["n"]), "nodes" if re.fullmatch(_NODE, m["what"], re.IGNORECASE) else "gpus")
        for m in _COUNT.finditer(text)
    ]
    if counts:
        counts = sorted(
            [
                *counts,
                *(
                    (m.start(), m.end(), number_of(m["n"]), counts[0][3])
                    for m in _BARE.finditer(text)
                    if all(m.end() <= a or m.start() >= b for a, b, _, _ in counts)
                ),
            ]
        )
    values: list[tuple[int, float, str]] = []
    unit = default
    epoch = re.search(r"\bepochs?\b", text, re.IGNORECASE) is not None and not re.search(
        r"\bsteps?\b|iteration|\bit/s", text, re.IGNORECASE
    )
    per_step = (
        re.search(
            r"(?:per|an?|each|every|/) ?(?:step|it\b|iteration|batch)|(?:step|iteration|batch) (?:takes?|took|time|needs?)",
            text,
            re.IGNORECASE,
        )
        is not None
    )
    for m in _VALUE.finditer(text):
        if any(a <= m.start() < b for a, b, _, _ in counts):
            continue
        value = float(m["v"].replace(",", "")) * (1000 if m["k"] else 1)
        factor = 1.0
        if m["rate"]:
            each = re.match(r"it|step|batch", m["rate"], re.IGNORECASE) or re.match(
                r" ?(?:per|/|each|a) ?(?:gpu|device|card|worker|rank)", text[m.end() :], re.IGNORECASE
            )
            unit = ("steps" if each else "total"), 1.0
        elif m["time"]:
            if not (epoch or per_step or (m["per"] or "")):
                continue
            scale = next(
                (
                    s
                    for n, s in sorted(_IN_SECONDS.items(), key=lambda p: -len(p[0]))
                    if m["time"].lower().startswith(n)
                ),
                1.0,
            )
            unit, factor = (("epoch" if epoch and not per_step else "steps"), -1.0), scale
        elif unit is None:
            continue
        if unit is None or value <= 0:
            continue
        values.append((m.start(), value * factor if unit[1] > 0 else 1 / (value * factor), unit[0]))
    counts = _one_kind(counts)
    if len(counts) < 2 or len(values) < 2 or abs(len(counts) - len(values)) > 0:
        return
    if len({u for _, _, u in values}) > 1:
        return
    for (_, _, count, what), (_, value, name) in zip(counts, values, strict=True):
        yield Rate(count, what, value, name)


def _one_kind(counts: list[tuple[int, int, int, str]]) -> list[tuple[int, int, int, str]]:
    """Of `four GPUs in one box ... eight in two boxes` keep the kind that changes; hosts where both do."""
    for kind in ("nodes", "gpus"):
        chosen = [c for c in counts if c[3] == kind]
        if len({c[2] for c in chosen}) > 1:
            return chosen
    return []
