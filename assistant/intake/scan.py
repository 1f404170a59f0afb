"""The scanner: all signatures and all `log` patterns of evidence rules in one pass over a text.

A literal of each pattern is searched for (`assistant.intake.needles`); the regular expression itself is applied only to lines
that hold it. Where Hyperscan can't be imported the literals are searched for one after the other, with the same results.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping
from functools import cache, cached_property, lru_cache
from typing import Any

from assistant.facts import SAMPLES, Hit
from assistant.intake.document import Document
from assistant.intake.needles import Needles, Searched, Weight, needles_of
from knowledge.load import Knowledge

CONFIRMED = 2000
"""Lines of one signature that are confirmed; after so many its literal is taken for the whole."""
FEW = 9
"""Lines of a pattern that is no evidence by itself after which further ones tell nothing new."""
ENOUGH = 200
"""The same for the pattern of a rule, which asks only whether it occurs, and for a message that speaks for no cause."""

_hs: Any
try:
    import hyperscan as _hs
except ImportError:
    _hs = None


@lru_cache(maxsize=4096)
def _regex(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


class Scanner:
    """Compiled patterns of one knowledge base; `parsers` are (TRIGGERS, LINES) by module."""

    def __init__(
        self,
        kb: Knowledge,
        engine: str | None = None,
        parsers: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] | None = None,
        series: Collection[str] = (),
    ) -> None:
        self.ids: list[str] = []
        self.match: list[str] = []
        self.extract: list[str] = []
        for sig_id, signature in kb.signatures.items():
            self._add(sig_id, signature["match"], signature.get("extract") or signature["match"])
        for pattern_id, pattern in kb.patterns.items():
            self._add(pattern_id, pattern, pattern)
        self._confirmed = [CONFIRMED if s.get("causes") else ENOUGH for s in kb.signatures.values()]
        self._confirmed += [ENOUGH] * len(kb.patterns)
        self.engine = engine or ("hyperscan" if _hs is not None else "re")
        self.needles: Needles = needles_of(kb, self.match, list(kb.signatures), dict(parsers or {}), series)
        self._everywhere = self.needles.everywhere() if self.engine == "hyperscan" else None

    def _add(self, name: str, match: str, extract: str) -> None:
        self.ids.append(name)
        self.match.append(match)
        self.extract.append(extract)

    @cached_property
    def once(self) -> Any:
        """The database that reports each literal once a scan; None without Hyperscan."""
        return self.needles.once() if self.engine == "hyperscan" else None

    def scan(self, document: Document, hits: dict[str, Hit], searched: Searched | None = None) -> dict[str, bool]:
        """Adds what is found in `document` to `hits`. Returns the parsers whose triggers occur, and whether one of those
        triggers is particular to the parser's source.

        `searched` takes the place of the full databases, where some needles need not be looked for any more."""
        pairs, parsers = self._candidates(document, searched or self._everywhere)
        for index, number in sorted(pairs):
            name = self.ids[number]
            hit = hits.get(name)
            if hit is not None and hit.count >= self._confirmed[number]:
                hit.count += document.count(index)
                continue
            line = document.line(index)
            regex = _regex(self.match[number])
            found = regex.search(line.raw) or (regex.search(line.text) if line.text is not line.raw else None)
            if found is None:
                continue
            if hit is None:
                hit = hits[name] = Hit(name)
            hit.count += document.count(index)
            hit.seen(line.rank, line.host)
            if len(hit.samples) < SAMPLES:
                if self.extract[number] != self.match[number]:
                    found = _regex(self.extract[number]).search(line.raw) or found
                hit.samples.append(document.origin(index, at=found.start()))
                hit.fields.append({k: v for k, v in found.groupdict().items() if v is not None})
        return parsers

    def tired(self, hits: Mapping[str, Hit]) -> set[int]:
        """Patterns that have been found often enough and are no evidence by themselves."""
        return {
            number
            for number, name in enumerate(self.ids)
            if self._confirmed[number] == ENOUGH and (hit := hits.get(name)) is not None and len(hit.samples) >= FEW
        }

    def add_counts(self, more: Mapping[int, int], hits: dict[str, Hit]) -> None:
        """Adds occurrences of needles, by index, that were counted and not kept."""
        for index, count in more.items():
            found = [h for n in self.needles.needles[index].patterns if (h := hits.get(self.ids[n])) is not None]
            if found:
                max(found, key=lambda h: h.count).count += count

    def _candidates(
        self, document: Document, searched: Searched | None
    ) -> tuple[set[tuple[int, int]], dict[str, bool]]:
        """(line index, pattern) pairs that are worth a look, and the parsers that are asked."""
        pairs: set[tuple[int, int]] = set()
        parsers: dict[str, bool] = {}
        needles = self.needles.needles
        raw = document.text.encode("utf-8", "surrogatepass")
        ends = searched.ends(raw) if searched is not None else set(self._by_hand(raw))
        starts = _line_starts(raw) if ends else []
        for end, number in ends:
            needle = needles[number]
            for name in needle.parsers:
                parsers[name] = needle.weight > Weight.LIGHT or parsers.get(name, False)
            if needle.patterns:
                index = bisect_right(starts, end - 1) - 1
                for pattern in needle.patterns:
                    pairs.add((index, pattern))
        for pattern in self.needles.bare:
            regex = _regex(self.match[pattern])
            if regex.search(document.text) is None:
                continue
            for index, line in enumerate(document.lines):
                if regex.search(line):
                    pairs.add((index, pattern))
        return pairs, parsers

    def _by_hand(self, raw: bytes) -> Iterator[tuple[int, int]]:
        lower = raw.lower()
        for number, needle in enumerate(self.needles.needles):
            text = lower if needle.caseless else raw
            at, end = needle.find(text, 0)
            while at != -1:
                yield end, number
                if not needle.patterns:
                    break
                at, end = needle.find(text, max(end, at + 1))


def _line_starts(raw: bytes) -> list[int]:
    starts = [0]
    position = raw.find(b"\n")
    while position != -1:
        starts.append(position + 1)
        position = raw.find(b"\n", position + 1)
    return starts


@cache
def scanner_for(mark: str) -> Scanner:
    """The scanner of the project's own knowledge and parsers; `mark` is the knowledge base's fingerprint."""
    from assistant.parsers import marks, series
    from knowledge.load import knowledge

    return Scanner(knowledge(), parsers=marks(), series=series())
