"""The scanner: all signatures and all `log` patterns of evidence rules in one pass over a text.

Hyperscan finds the lines; the signature's own regular expression is applied only to those. Where Hyperscan can't be
imported, the same patterns are searched with `re` behind a literal, with the same results.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any

from assistant.facts import Hit
from assistant.intake.document import Document
from assistant.intake.literals import literals_of
from knowledge.load import Knowledge, read_cache, write_cache

SAMPLES = 24
"""Lines kept for each signature; further ones are only counted."""

_hs: Any
try:
    import hyperscan as _hs
except ImportError:
    _hs = None


@lru_cache(maxsize=4096)
def _regex(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


class Scanner:
    """Compiled patterns of one knowledge base."""

    def __init__(self, kb: Knowledge, engine: str | None = None) -> None:
        self.ids: list[str] = []
        self.match: list[str] = []
        self.extract: list[str] = []
        for sig_id, signature in kb.signatures.items():
            self._add(sig_id, signature["match"], signature.get("extract") or signature["match"])
        signatures = len(self.ids)
        for pattern_id, pattern in kb.patterns.items():
            self._add(pattern_id, pattern, pattern)
        self.engine = engine or ("hyperscan" if _hs is not None else "re")
        self.databases: list[Any] = []
        self.slow: list[int] = []
        if self.engine == "hyperscan":
            self._load("signatures", range(signatures))
            self._load("rules", range(signatures, len(self.ids)))

    def _add(self, name: str, match: str, extract: str) -> None:
        self.ids.append(name)
        self.match.append(match)
        self.extract.append(extract)

    def _load(self, part: str, numbers: range) -> None:
        """Loads the database of these patterns from the cache or compiles it."""
        if not numbers:
            return
        digest = hashlib.sha256("\0".join([_hs.__version__, *(self.match[n] for n in numbers)]).encode()).hexdigest()[
            :24
        ]
        name = f"{part}-{digest}-{numbers.start}.db"
        raw = read_cache(name)
        if raw is not None:
            try:
                header, _, body = raw.partition(b"\n")
                database = _hs.loadb(body, _hs.HS_MODE_BLOCK)
                database.scratch = _hs.Scratch(database)
                self.databases.append(database)
                self.slow += [int(n) for n in header.split()]
                return
            except Exception:  # a damaged cache is made anew
                pass
        slow = [n for n in numbers if "^" in self.match[n].replace("[^", "") or not _compiles(self.match[n])]
        good = [n for n in numbers if n not in set(slow)]
        self.slow += slow
        if not good:
            return
        database = _hs.Database(mode=_hs.HS_MODE_BLOCK)
        flags = [_hs.HS_FLAG_MULTILINE | _hs.HS_FLAG_ALLOWEMPTY] * len(good)
        database.compile(expressions=[self.match[n].encode() for n in good], ids=good, elements=len(good), flags=flags)
        write_cache(name, " ".join(map(str, slow)).encode() + b"\n" + _hs.dumpb(database))
        self.databases.append(database)

    def scan(self, document: Document, hits: dict[str, Hit]) -> None:
        """Adds what is found in `document` to `hits`."""
        for number, index in self._pairs(document):
            line = document.line(index)
            found = _regex(self.match[number]).search(line.raw) or _regex(self.match[number]).search(line.text)
            if found is None:
                continue
            hit = hits.get(self.ids[number])
            if hit is None:
                hit = hits[self.ids[number]] = Hit(self.ids[number])
            hit.count += document.count(index)
            if len(hit.samples) < SAMPLES:
                if self.extract[number] != self.match[number]:
                    found = _regex(self.extract[number]).search(line.raw) or found
                hit.samples.append(document.origin(index, at=found.start()))
                hit.fields.append({k: v for k, v in found.groupdict().items() if v is not None})

    def _pairs(self, document: Document) -> Iterable[tuple[int, int]]:
        """(pattern, line index), each once, in the order of lines."""
        pairs: set[tuple[int, int]] = set()
        if self.databases:
            raw = document.text.encode("utf-8", "surrogatepass")
            ends: list[tuple[int, int]] = []
            for database in self.databases:
                database.scan(raw, match_event_handler=lambda i, s, e, f, c: ends.append((e, i)))
            if ends:
                starts = _line_starts(raw)
                for end, number in ends:
                    pairs.add((number, bisect_right(starts, max(end - 1, 0)) - 1))
            pairs.update(self._by_literal(document, self.slow))
        else:
            pairs.update(self._by_literal(document, range(len(self.match))))
        return sorted(pairs, key=lambda p: (p[1], p[0]))

    def _by_literal(self, document: Document, numbers: Iterable[int]) -> Iterable[tuple[int, int]]:
        text = document.text
        folded = text.casefold()
        for number in numbers:
            pattern = self.match[number]
            options = literals_of(pattern)
            if options and not any(o.casefold() in folded for o in options):
                continue
            regex = _regex(pattern)
            for index, line in enumerate(document.lines):
                if regex.search(line) or regex.search(document.messages[index]):
                    yield number, index


def _compiles(pattern: str) -> bool:
    """Whether Hyperscan takes the pattern; others are searched with `re` behind a literal."""
    try:
        _hs.Database(mode=_hs.HS_MODE_BLOCK).compile(
            expressions=[pattern.encode()], ids=[0], elements=1, flags=[_hs.HS_FLAG_MULTILINE | _hs.HS_FLAG_ALLOWEMPTY]
        )
    except _hs.HyperscanError:
        return False
    return True


def _line_starts(raw: bytes) -> list[int]:
    starts = [0]
    position = raw.find(b"\n")
    while position != -1:
        starts.append(position + 1)
        position = raw.find(b"\n", position + 1)
    return starts


@cache
def scanner_for(mark: str) -> Scanner:
    from knowledge.load import knowledge

    return Scanner(knowledge())
