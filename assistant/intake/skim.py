"""Skims inputs that are too large to be read line by line: of a gigabyte, the lines that can matter.

Every slice of the text is searched for the needles (`assistant.intake.needles`). A line that holds one is kept, with what
stands around it where that tells more, until so many lines of the needle have been kept that further ones add nothing; then
they are only counted. The first and the last lines of each text are always kept. Nothing is decoded here: kept lines go on to
the reader of small inputs, with their places in the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from assistant.intake.batch import ENOUGH, FIRST, Batch, shape
from assistant.intake.endless import fewer_states
from assistant.intake.needles import Weight

#: Bytes of one scan.
SLICE = 64 << 10
#: Bytes at the beginning and end of each text that are kept whatever they say.
HEAD = 16 << 10
TAIL = 4 << 10
#: The same, after the first texts of one kind of name have been read.
LATER_HEAD = 1 << 10
LATER_TAIL = 1 << 10
#: Bytes before and after a line with a needle that has a context.
BEFORE = 1 << 10
AFTER = 6 << 10
#: Occurrences of needles in a slice from which they are looked for one needle at a time.
MANY = 1500
#: Ranks that may write into one text, each of which has a line of its own to say.
RANKS = 8192
#: Lines that are kept of each text for one needle, by its weight; and once enough of the batch have been kept.
TEXT = {Weight.LIGHT: 24, Weight.FULL: 64, Weight.SERIES: 800, Weight.LINES: RANKS}
REST = {Weight.LIGHT: 0, Weight.FULL: 2, Weight.SERIES: 400, Weight.LINES: RANKS}
#: Share of the bytes of a text that is kept for one needle beyond that.
SHARE = {Weight.LIGHT: 0.0, Weight.FULL: 0.002, Weight.SERIES: 0.01, Weight.LINES: 0.01}

#: A line that is longer than this ends the skimming.
LONGEST = 4 << 20

Part = tuple[int, bytes]
"""(number of the first line, whole lines); 0: it goes on where the last part ended."""


@dataclass(slots=True)
class _Quota:
    """How many lines of a text are still kept for one needle."""

    most: int
    share: float
    before: int
    after: int
    counted: bool
    kept: int = 0
    taken: int = 0
    """Bytes kept so far."""


@dataclass
class Skimmer:
    """State of one text. `line` is the number of the next line of the text."""

    batch: Batch
    name: str = ""
    line: int = 1
    dropped: Counter[int] = field(default_factory=Counter)
    """Occurrences of needles (by index) that were counted and not kept."""
    left_out: int = 0
    """Lines that were not kept."""
    _quotas: dict[int, _Quota] = field(default_factory=dict)
    _full: set[int] = field(default_factory=set)
    _seen: int = 0
    _carry: bytes = b""
    _passing: bool = False
    _until: int = 0
    """Bytes at the beginning of the next slice that are kept as the context of what stood before."""
    _last: tuple[int, bytes] | None = None
    """The last slice, of which the end may still have to be kept: (number of its first line that was not kept, bytes)."""

    def __post_init__(self) -> None:
        early = self.batch.texts[shape(self.name)] < FIRST
        self._until, self._tail = (HEAD, TAIL) if early else (LATER_HEAD, LATER_TAIL)
        self.batch.texts[shape(self.name)] += 1
        self._full = set(self.batch.common)

    def feed(self, block: bytes) -> Iterator[Part]:
        if self._passing:
            end = block.find(b"\n") + 1
            yield 0, fewer_states(block[:end] if end else block)
            if not end:
                return
            self._passing = False
            self.line += 1
            block = block[end:]
        start, size = 0, len(block)
        if self._carry:
            # What is left of the last block goes with the first lines of this one, so that the rest need not be copied.
            start = block.rfind(b"\n", 0, SLICE) + 1 or size
            carry, self._carry = self._carry + block[:start], b""
            if carry.endswith(b"\n"):
                yield from self._slice(carry)
            else:
                self._carry = carry
        while size - start >= SLICE:
            end = block.rfind(b"\n", start, start + SLICE) + 1
            if not end:
                end = block.find(b"\n", start + SLICE) + 1
                if not end:
                    break
            yield from self._slice(block[start:end])
            start = end
        self._carry += block[start:]
        if len(self._carry) > LONGEST:
            self._passing = True
            rest, self._carry = self._carry, b""
            yield self.line, fewer_states(rest)

    def finish(self) -> Iterator[Part]:
        if self._carry:
            yield from self._slice(self._carry)
            self._carry = b""
        if self._last is not None:
            number, rest = self._last
            start = rest.rfind(b"\n", 0, max(0, len(rest) - self._tail)) + 1
            yield number + rest.count(b"\n", 0, start), rest[start:]
        for index, quota in self._quotas.items():
            self.batch.kept[index] += quota.kept

    def _slice(self, text: bytes) -> Iterator[Part]:
        self._seen += len(text)
        number, lines = self.line, text.count(b"\n")
        self.line += lines
        at = kept = 0
        for start, end in self._spans(text):
            number += text.count(b"\n", at, start)
            part = text[start:end]
            yield number, part
            inside = part.count(b"\n")
            number += inside
            kept += inside
            at = end
        self.left_out += lines - kept
        self._last = (number, text[at:]) if at < len(text) else None

    def _spans(self, text: bytes) -> list[tuple[int, int]]:
        """What is kept of a slice: (start, end) at line ends, in order, not touching each other."""
        raw: list[tuple[int, int]] = []
        size = len(text)
        if self._until:
            raw.append((0, min(self._until, size)))
            self._until = max(0, self._until - size)
        hits = self._hits(text) if self.batch.exact is not None else None
        if hits is None:
            self._by_needle(text, raw)
        else:
            self._in_order(text, hits, raw)
        if not raw:
            return []
        raw.sort()
        spans: list[tuple[int, int]] = []
        last = 0
        for start, end in raw:
            if end <= last:
                continue
            start = last if start <= last else text.rfind(b"\n", 0, start) + 1
            if end < size and text[end - 1] != 10:
                end = text.find(b"\n", end) + 1 or size
            if spans and start <= last:
                spans[-1] = (spans[-1][0], end)
            else:
                spans.append((start, end))
            last = end
        return spans

    def _hits(self, text: bytes) -> list[tuple[int, int]] | None:
        """(end, needle) of all that stands in a slice, in order; None where it is too much of everything."""
        hits: list[tuple[int, int]] = []
        add = hits.append

        def seen(index: int, start: int, end: int, flags: int, context: Any) -> bool:
            add((end, index))
            return len(hits) > MANY

        try:
            self.batch.exact.scan(text, match_event_handler=seen)
        except Exception:  # Hyperscan's word for a scan that was ended by `seen`
            return None
        if len(hits) > MANY:
            return None
        hits.sort()
        return hits

    def _in_order(self, text: bytes, hits: list[tuple[int, int]], spans: list[tuple[int, int]]) -> None:
        full, quotas, size = self._full, self._quotas, len(text)
        first = last = 0
        here: set[int] = set()
        for end, index in hits:
            quota = quotas.get(index) or self._quota(index)
            if index in full or not self._wants(index, quota):
                if quota.counted:
                    self.dropped[index] += 1
                continue
            if end > last:
                first, last = text.rfind(b"\n", 0, end - 1) + 1, text.find(b"\n", end - 1) + 1 or size
                here.clear()
            if index not in here:
                here.add(index)
                self._keep(quota, first, last, size, spans)

    def _by_needle(self, text: bytes, spans: list[tuple[int, int]]) -> None:
        found: list[int] = []
        self.batch.database.scan(text, match_event_handler=lambda i, s, e, f, c: found.append(i))
        needles, size = self.batch.needles.needles, len(text)
        lower: bytes | None = None
        for index in found:
            quota = self._quotas.get(index) or self._quota(index)
            needle = needles[index]
            searched = text
            if needle.caseless:
                lower = searched = text.lower() if lower is None else lower
            at = 0
            while index not in self._full:
                start, end = needle.find(searched, at)
                if start < 0:
                    break
                if not self._wants(index, quota):
                    at = start
                    break
                at = text.find(b"\n", end - 1) + 1 or size
                self._keep(quota, text.rfind(b"\n", 0, end - 1) + 1, at, size, spans)
            else:
                start = 0
            if quota.counted and start >= 0:
                self.dropped[index] += needle.count(searched, at)

    def _quota(self, index: int) -> _Quota:
        needle = self.batch.needles.needles[index]
        weight = needle.weight
        most = (REST if self.batch.kept[index] >= ENOUGH[weight] else TEXT)[weight]
        before, after = (BEFORE, AFTER) if needle.context else (0, 0)
        quota = self._quotas[index] = _Quota(most, SHARE[weight], before, after, needle.counted)
        return quota

    def _wants(self, index: int, quota: _Quota) -> bool:
        """Whether a further line is kept for this needle."""
        if quota.kept < quota.most:
            return True
        if quota.share and quota.taken < quota.share * self._seen:
            return True
        if not quota.share:
            self._full.add(index)
        return False

    def _keep(self, quota: _Quota, first: int, last: int, size: int, spans: list[tuple[int, int]]) -> None:
        start, stop = max(0, first - quota.before), last + quota.after
        if stop > size:
            self._until = max(self._until, stop - size)
            stop = size
        spans.append((start, stop))
        quota.kept += 1
        quota.taken += stop - start
