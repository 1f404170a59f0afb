"""The forms in which training programs of many kinds print a step and its time on one line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

_N = r"(?P<n>\d+)"
_STEP = r"\b(?:step|iter(?:ation)?|batch)\b[ #:=\[]*"


@dataclass(frozen=True, slots=True)
class Form:
    """`kind` is meter, detection, text, rate or plain. `factor` turns the time into seconds; of a rate it is not used."""

    kind: str
    pattern: re.Pattern[str]
    factor: float = 1.0


_METERS = (
    r"\[ *(?P<n>\d+)/ *\d+[^\]\n]*\][^\n]{0,80}?\bTime:? +(?P<t>\d+\.\d+)s? \( *(?P<avg>\d+\.\d+)s?\)",
    r"\[ *(?P<n>\d+)/\d+ [^\n]*?\bTime: (?P<t>\d+(?:\.\d+)?)s, +\d+(?:\.\d+)?/s +\( *(?P<avg>\d+(?:\.\d+)?)s",
)
_DETECTION = r"(?:\b[Ii]ter(?:ation)?:? ?\[?|\]?\[ *)(?P<n>\d+)[^\n]*?\btime: (?P<t>\d+\.\d+)\b[^\n]*?\bdata_time: (?P<d>\d+\.\d+)"
_TEXTS: tuple[tuple[str, float], ...] = (
    (rf"\bsteps?:? {_N} [^\n]*?iter time \(s\): (?P<t>\d+(?:\.\d+)?)", 1.0),
    (rf"\bcompleted step: {_N}, seconds: (?P<t>\d+\.\d+)", 1.0),
    (
        rf"{_STEP}{_N}\b[^\n]*?\b(?:(?:step|iter|batch|elapsed|total|avg)[ _-]?)?(?:time|dt|took|elapsed)\b(?: per \w+)? *[:=]? *(?P<t>\d+(?:\.\d+)?(?:e-?\d+)?) ?ms\b",
        1e-3,
    ),
    (
        rf"{_STEP}{_N}\b[^\n]*?\b(?:(?:step|iter|batch)[ _-]?)?(?:time|dt|took)(?: ?\(s(?:ec)?\)|/step)? *[:=]? *(?P<t>\d+\.\d+) ?(?:s|sec|secs|seconds)?\b(?![:%])",
        1.0,
    ),
    (rf"\bstep {_N}\b[^\n]*?\((?P<t>\d+(?:\.\d+)?) sec(?:onds)?/(?:step|batch)\)", 1.0),
    (rf"\bsteps?\b[ #:=\[]*{_N}\b[^\n]*?\b(?P<t>\d+\.\d+) ?s(?:ec)?/(?:step|it|iter)", 1.0),
)
_RATE = (
    rf"\bsteps?:? {_N}\b[^\n]*?\b(?:samples|tokens|tok|toks|images|imgs|examples)"
    r"(?:/s(?:ec)?(?:ond)?\b|_per_s\w*| per second)[^\s\d]*\s*[:=]?\s*(?P<t>\d[\d,]*\.?\d*)"
)
_PLAIN = rf"{_STEP}{_N}\b"


@cache
def forms() -> tuple[Form, ...]:
    """In the order in which a line is tried against them."""
    return (
        *(Form("meter", re.compile(p)) for p in _METERS),
        Form("detection", re.compile(_DETECTION)),
        *(Form("text", re.compile(p, re.IGNORECASE), factor) for p, factor in _TEXTS),
        Form("rate", re.compile(_RATE, re.IGNORECASE)),
        Form("plain", re.compile(_PLAIN, re.IGNORECASE)),
    )
