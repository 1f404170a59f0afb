"""Needles: short literals that stand in every line that matters, and who asks for each.

A signature or a `log` pattern has literals of which one stands in every text that it matches (`literals_of`); a parser has its
TRIGGERS, or LINES where it reads single lines of a source that is full of its trigger. All of them together are one Hyperscan
database of mostly plain strings, which is searched at the speed of reading. What it finds is then confirmed by the regular
expression itself. Patterns whose literals are too common to tell anything are in the database as they are.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from assistant.intake.literals import literals_of
from knowledge.load import Knowledge, read_cache, write_cache

#: Bytes of a piece of a text in which patterns are looked for at once.
LARGE = 256 << 10
#: Raised whenever the stored form or the choice of literals changes.
FORMAT = 11

_hs: Any
try:
    import hyperscan as _hs
except ImportError:
    _hs = None

#: Characters of a literal from which it is worth searching for, without and with Hyperscan to search for the pattern itself.
SHORTEST = 3
TELLING = 7
#: Literals that stand in nearly every line of a source.
COMMON = frozenset(("NCCL INFO", "NCCL INFO "))
#: Characters from which a parser's trigger is taken to be particular to its source.
PARTICULAR = 8


_HS_PATTERN = 0 if _hs is None else _hs.HS_FLAG_MULTILINE | _hs.HS_FLAG_ALLOWEMPTY


class Weight(IntEnum):
    """How much of what a needle finds is kept of an input that is too large to be read line by line."""

    LIGHT = 0
    """A few lines tell all: patterns that are true of a whole text, messages without a meaning for a cause."""
    FULL = 1
    """Messages that are evidence, and places where a parser's source begins."""
    SERIES = 2
    """Figures of one course, of which some thousands tell it."""
    LINES = 3
    """Lines of which a parser reads every one."""


@dataclass(slots=True)
class Needle:
    """One literal: `caseless` where a pattern that needs it ignores case."""

    text: str
    caseless: bool = False
    weight: Weight = Weight.LIGHT
    patterns: list[int] = field(default_factory=list)
    """Numbers of the scanner's patterns that need it."""
    parsers: list[str] = field(default_factory=list)
    """Parsers that are asked where it occurs."""
    context: bool = False
    """Whether what stands around it is read too."""
    counted: bool = False
    """Whether occurrences that are not kept are counted: the evidence says how often."""
    pattern: str = ""
    """A regular expression to search for in place of the text, which is then only a name."""
    raw: bytes = b""
    _compiled: re.Pattern[bytes] | None = None

    def __post_init__(self) -> None:
        self.raw = self.text.encode("utf-8", "surrogatepass")

    def find(self, text: bytes, at: int) -> tuple[int, int]:
        """(start, end) of the next occurrence from `at` on, (-1, -1) where there is none; `text` in lower case for `caseless`."""
        if self.pattern:
            if self._compiled is None:
                self._compiled = re.compile(self.pattern.encode(), re.MULTILINE)
            found = self._compiled.search(text, at)
            return found.span() if found else (-1, -1)
        start = text.find(self.raw, at)
        return (start, start + len(self.raw)) if start >= 0 else (-1, -1)

    def count(self, text: bytes, at: int = 0) -> int:
        """How often the literal occurs from `at` on; a pattern isn't counted."""
        return 0 if self.pattern else text.count(self.raw, at)


@dataclass
class Needles:
    """All needles of a knowledge base, with the patterns that have none."""

    needles: list[Needle]
    bare: list[int]
    """Patterns without a literal: searched for as they are."""

    def once(self, tired: Collection[int] = ()) -> Any:
        """A Hyperscan database that reports each needle once a scan, ids are indices of `needles`; None without Hyperscan.

        Needles that are patterns are searched for by their literals, those whose index is in `tired` not at all."""
        chosen = [(i, True) for i, n in enumerate(self.needles) if i not in tired and not n.pattern]
        return self._database(chosen, "" if tired else "once")

    def exact(self, tired: Collection[int]) -> Any:
        """A database that reports every occurrence of every literal but those of `tired`."""
        chosen = [(i, False) for i, n in enumerate(self.needles) if i not in tired and not n.pattern]
        return self._database(chosen, "exact")

    def everywhere(self, tired: Collection[int] = ()) -> Searched:
        """What finds the needles in a text of which every line counts; `tired` are numbers of patterns that nobody asks for."""
        literals: list[tuple[int, bool]] = []
        patterns: list[tuple[int, bool]] = []
        for index, needle in enumerate(self.needles):
            if needle.pattern:
                patterns.append((index, True))
                continue
            asked = any(p not in tired for p in needle.patterns)
            if asked or needle.parsers:
                literals.append((index, not asked))
        return Searched(
            self.needles,
            frozenset(tired),
            self._database(literals, "wanted" if tired else "everywhere"),
            self._database(patterns, "patterns"),
        )

    def _database(self, chosen: list[tuple[int, bool]], kind: str = "") -> Any:
        """Of (needle, whether it is reported once a scan); kept in the cache under the name of its kind."""
        if _hs is None or not chosen:
            return None
        needles = [self.needles[i] for i, _ in chosen]
        expressions = [(n.pattern or re.escape(n.text)).encode("utf-8", "surrogatepass") for n in needles]
        flags = [
            (_hs.HS_FLAG_SINGLEMATCH if single else 0)
            | (_hs.HS_FLAG_CASELESS if n.caseless else 0)
            | (_HS_PATTERN if n.pattern else 0)
            for n, (_, single) in zip(needles, chosen, strict=True)
        ]
        name = ""
        if kind:
            # The numbers too: the same literals have others as soon as a needle comes before them.
            parts = [
                _hs.__version__,
                *(f"{i} {f} {e!r}" for (i, _), f, e in zip(chosen, flags, expressions, strict=True)),
            ]
            name = f"{kind}-{hashlib.sha256(chr(10).join(parts).encode()).hexdigest()[:24]}.db"
            database = _stored(name)
            if database is not None:
                return database
        database = _hs.Database(mode=_hs.HS_MODE_BLOCK)
        database.compile(expressions=expressions, ids=[i for i, _ in chosen], elements=len(expressions), flags=flags)
        if name:
            write_cache(name, _hs.dumpb(database))
        return database


def _stored(name: str) -> Any:
    raw = read_cache(name)
    if raw is None:
        return None
    try:
        database = _hs.loadb(raw, _hs.HS_MODE_BLOCK)
        database.scratch = _hs.Scratch(database)
        return database
    except Exception:  # a damaged cache is made anew
        return None


@dataclass(frozen=True)
class Searched:
    """Databases that find needles in a text: literals (patterns' everywhere, parsers' once), and the patterns that are needles."""

    needles: list[Needle]
    tired: frozenset[int]
    literals: Any
    patterns: Any
    """Reports each pattern once a scan: it can match at every character of a line."""

    def ends(self, raw: bytes) -> set[tuple[int, int]]:
        """(end, needle) of what stands in the text; of a pattern one end a line."""
        found: set[tuple[int, int]] = set()
        add = found.add
        if self.literals is not None:
            self.literals.scan(raw, match_event_handler=lambda i, s, e, f, c: add((e, i)))
        if self.patterns is None:
            return found
        start, size = 0, len(raw)
        while start < size:
            stop = size if size - start <= LARGE else raw.rfind(b"\n", start, start + LARGE) + 1
            stop = stop or raw.find(b"\n", start + LARGE) + 1 or size
            self._patterns(raw[start:stop] if stop - start < size else raw, start, found)
            start = stop
        return found

    def _patterns(self, raw: bytes, offset: int, found: set[tuple[int, int]]) -> None:
        here: list[int] = []
        self.patterns.scan(raw, match_event_handler=lambda i, s, e, f, c: here.append(i))
        for index in here:
            needle = self.needles[index]
            if all(p in self.tired for p in needle.patterns):
                continue
            at = 0
            while at < len(raw):
                start, end = needle.find(raw, at)
                if start < 0:
                    break
                found.add((offset + end, index))
                at = raw.find(b"\n", end) + 1 or len(raw)


def needles_of(
    kb: Knowledge,
    patterns: list[str],
    signatures: list[str],
    parsers: dict[str, tuple[tuple[str, ...], tuple[str, ...]]],
    series: Collection[str] = (),
) -> Needles:
    """The needles of a knowledge base, from the cache where nothing has changed.

    `patterns` are the scanner's; the first of them belong to `signatures`, by id. `parsers` are (TRIGGERS, LINES) by module;
    those of `series` read lines that form one."""
    marks = [
        kb.fingerprint,
        json.dumps([parsers, sorted(series)], sort_keys=True),
        f"{len(patterns)} {_hs is not None} {FORMAT}",
    ]
    name = f"needles-{hashlib.sha256(chr(10).join(marks).encode()).hexdigest()[:24]}.json"
    raw = read_cache(name)
    if raw is not None:
        try:
            stored = json.loads(raw)
            return Needles([Needle(n[0], n[1], Weight(n[2]), *n[3:8]) for n in stored[0]], stored[1])
        except (ValueError, TypeError, LookupError):  # a damaged cache is made anew
            pass
    found = _Collector(_Literals().of(patterns))
    for number, pattern in enumerate(patterns):
        signature = kb.signatures[signatures[number]] if number < len(signatures) else None
        found.pattern(number, pattern, signature)
    for module, (triggers, lines) in parsers.items():
        for text in lines or triggers:
            found.parser(module, text, (Weight.SERIES if module in series else Weight.LINES) if lines else None)
        if lines:
            for text in triggers:
                found.starts(module, text)
    needles = Needles(list(found.needles.values()), found.bare)
    rows = [
        [n.text, n.caseless, int(n.weight), n.patterns, n.parsers, n.context, n.counted, n.pattern]
        for n in needles.needles
    ]
    write_cache(name, json.dumps([rows, needles.bare]).encode())
    return needles


class _Collector:
    def __init__(self, literals: dict[str, tuple[list[str], bool]]) -> None:
        self.literals = literals
        self.needles: dict[tuple[str, bool], Needle] = {}
        self.bare: list[int] = []

    def _needle(self, text: str, caseless: bool) -> Needle:
        key = (text.lower() if caseless else text, caseless)
        found = self.needles.get(key)
        if found is None:
            found = self.needles[key] = Needle(*key)
        return found

    def pattern(self, number: int, pattern: str, signature: dict[str, Any] | None) -> None:
        options, compiles = self.literals[pattern]
        caseless = "(?i" in pattern
        if compiles:
            needle = self.needles[pattern, False] = Needle(pattern, pattern=pattern)
            self._asks(needle, number, signature)
            # Lines that hold nothing but a common literal are not looked for in large inputs.
            for text in () if not COMMON.isdisjoint(options) else _shortest(options):
                skimmed = self._needle(text, caseless)
                if signature is not None and signature.get("causes"):
                    skimmed.weight = max(skimmed.weight, Weight.FULL)
            return
        if not options or (caseless and any(not o.isascii() for o in options)):
            self.bare.append(number)
            return
        for text in _shortest(options):
            self._asks(self._needle(text, caseless), number, signature)

    def _asks(self, needle: Needle, number: int, signature: dict[str, Any] | None) -> None:
        needle.patterns.append(number)
        if signature is not None and (signature.get("causes") or signature.get("facts")):
            needle.weight = max(needle.weight, Weight.FULL)
        if signature is not None and signature.get("causes"):
            needle.context = needle.counted = True

    def parser(self, module: str, text: str, lines: Weight | None) -> None:
        needle = self._needle(text, False)
        needle.parsers.append(module)
        if lines is not None:
            needle.weight = max(needle.weight, lines)
        else:
            needle.context = True
            if len(text.strip()) >= PARTICULAR:
                needle.weight = max(needle.weight, Weight.FULL)

    def starts(self, module: str, text: str) -> None:
        """A trigger of a parser that names its lines: the parser is asked, and of warnings some are kept."""
        needle = self._needle(text, False)
        if module not in needle.parsers:
            needle.parsers.append(module)
        if len(text.strip()) >= PARTICULAR and text not in COMMON:
            needle.weight = max(needle.weight, Weight.FULL)


def _common(options: Collection[str]) -> bool:
    """Whether the literals of a pattern are too short or too common to tell anything, or there are none."""
    return min(map(len, options), default=0) < TELLING or not COMMON.isdisjoint(options)


def _shortest(options: Iterable[str]) -> Iterator[str]:
    """Without the options that contain another one: that one is found wherever they are."""
    kept: list[str] = []
    for option in sorted(set(options), key=lambda o: (len(o), o)):
        if not any(k in option for k in kept):
            kept.append(option)
            yield option


class _Literals:
    """The literals of each pattern, and whether Hyperscan can search for the pattern itself: kept from run to run."""

    def __init__(self) -> None:
        self.name = f"literals-{FORMAT}-{'' if _hs is None else _hs.__version__}.json"
        raw = read_cache(self.name)
        try:
            self.known: dict[str, list[Any]] = json.loads(raw) if raw is not None else {}
        except ValueError:
            self.known = {}

    def of(self, patterns: list[str]) -> dict[str, tuple[list[str], bool]]:
        new = [p for p in dict.fromkeys(patterns) if p not in self.known]
        for pattern in new:
            options = list(literals_of(pattern, SHORTEST))
            self.known[pattern] = [options, _common(options) and _compile(pattern)]
        if new:
            self.known = {p: self.known[p] for p in patterns}
            write_cache(self.name, json.dumps(self.known).encode())
        return {p: (self.known[p][0], self.known[p][1]) for p in patterns}


def _compile(pattern: str) -> bool:
    """Whether Hyperscan can search for the pattern; the end of a match tells its line."""
    if _hs is None or "^" in pattern.replace("[^", ""):
        return False
    try:
        _hs.Database(mode=_hs.HS_MODE_BLOCK).compile(
            expressions=[pattern.encode()], ids=[0], elements=1, flags=[_HS_PATTERN]
        )
    except _hs.HyperscanError:
        return False
    return True
