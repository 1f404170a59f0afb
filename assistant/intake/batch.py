"""What is learned of the texts of one triage while they are read: which are small enough to be read whole, which words are
common and tell nothing new, which parsers are asked in vain.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from assistant.intake.needles import Needles, Searched, Weight

#: Texts of one kind of name that are read with care, before the rest of them is taken to be alike.
FIRST = 8
#: Texts of one kind of name in which a parser found nothing although a trigger of its own stands there, after which it is not
#: asked any more.
PARTICULAR = 9
#: Lines of one needle that are kept of a batch, by its weight, after which each text gives only a few.
ENOUGH = {Weight.LIGHT: 200, Weight.FULL: 2000, Weight.SERIES: 1 << 40, Weight.LINES: 1 << 40}
#: Bytes of a batch that are read whole, and of one text once a batch is known to be larger.
WHOLE = 8 << 20
SMALL = 256 << 10

_DIGITS = re.compile(r"\d+")


def shape(name: str) -> str:
    """A name without its numbers: files of one kind differ only in those."""
    return _DIGITS.sub("0", name)


@dataclass
class Batch:
    """What has been kept of the texts of one batch so far; texts are read one after the other."""

    needles: Needles
    database: Any
    """Reports each needle once a scan."""
    exact: Any = None
    """Reports every occurrence, of needles that are not common in these inputs."""
    common: frozenset[int] = frozenset()
    """Needles that are known to be common in these inputs and tell nothing new."""
    everywhere: Searched | None = None
    """Finds the needles in a text that is kept; None: the scanner's own."""
    texts: Counter[str] = field(default_factory=Counter)
    """Texts by the shape of their names: `rank_17.log` is another of `rank_3.log`."""
    kept: Counter[int] = field(default_factory=Counter)
    whole: int = WHOLE
    """Bytes that may still be read whole."""
    plain: Counter[str] = field(default_factory=Counter)
    """Texts that were of plain lines, by the shape of their names."""
    vain: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often a parser found nothing in texts with names of one shape."""
    fruitful: set[str] = field(default_factory=set)
    """Parsers that found something."""
    large: bool = False
    """Whether all texts together are known to be too much to be read whole."""

    def after(self, tired: Collection[int]) -> Batch:
        """A batch for more texts of the same inputs, for which holds what this one has learned of them.

        `tired` are patterns of which further lines tell nothing new (`Scanner.tired`)."""
        idle = self._idle()
        common = {
            index
            for index, needle in enumerate(self.needles.needles)
            if (needle.weight == Weight.LIGHT and self.kept[index] >= ENOUGH[Weight.LIGHT])
            or (
                (needle.patterns or needle.parsers)
                and all(p in tired for p in needle.patterns)
                and all(p in idle for p in needle.parsers)
            )
        }
        return Batch(
            self.needles,
            self.database,
            self.needles.exact(common),
            frozenset(common),
            self.needles.everywhere(tired),
            Counter(self.texts),
            whole=0 if self.large else WHOLE,
            plain=Counter(self.plain),
            vain=Counter(self.vain),
            fruitful=set(self.fruitful),
            large=self.large,
        )

    def _idle(self) -> set[str]:
        """Parsers that were asked often and found nothing at all."""
        often: Counter[str] = Counter()
        for (_, parser), count in self.vain.items():
            often[parser] += count
        return {parser for parser, count in often.items() if count >= PARTICULAR and parser not in self.fruitful}

    def again(self) -> Batch:
        """The same at its beginning: what is read with one of them changes nothing for another."""
        return replace(
            self, texts=Counter(self.texts), kept=Counter(self.kept), vain=Counter(self.vain), plain=Counter(self.plain)
        )

    def is_plain(self, name: str) -> bool:
        """Whether texts of this kind of name have been of plain lines so far."""
        kind = shape(name)
        return self.plain[kind] >= FIRST

    def worth_asking(self, name: str, asked: dict[str, bool]) -> list[str]:
        """The parsers of these that may find something in another text of this kind of name."""
        if not self.large:
            return list(asked)
        kind = shape(name)
        return [p for p, particular in asked.items() if self.vain[kind, p] < (PARTICULAR if particular else FIRST)]

    def asked(self, name: str, asked: Iterable[str], found: Collection[str]) -> None:
        """Notes which of the parsers asked found something."""
        self.vain.update((shape(name), parser) for parser in asked if parser not in found)
        self.fruitful.update(found)

    @property
    def most_whole(self) -> int:
        """Bytes of the largest text that may still be read whole."""
        return min(self.whole, SMALL) if self.large else self.whole

    def reads_whole(self, name: str, size: int) -> bool:
        """Whether a text of so many bytes is read line by line, as a small input is."""
        if size > self.most_whole or (self.texts[shape(name)] >= FIRST and self.large):
            return False
        self.whole -= size
        return True
