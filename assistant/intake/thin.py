"""Leaves out copies of lines that a large input repeats without end, and counts them.

A warning that is printed a hundred thousand times is one fact with a count. Only lines that are equal apart from their
digits, and that are warnings, errors or states of a progress bar, are left out, and only after many of them. All lines
of small inputs stay. Of the states of a progress bar every so many is kept all along, and the last one, so that a change of
pace is seen however late it comes.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

#: Text of a source, in characters, that is always kept whole.
SMALL = 1 << 20
#: Lines of one shape that are kept.
KEPT = 2000
#: Of a text, lines that are looked at, and how far apart they are at least; and how many of them have to be alike.
_SAMPLES = 512
_APART = 2048
_SHARE = 8
_FEWEST = 3
_DIGITS = b"0123456789"
_REPEATABLE = re.compile(rb"(?i)warn|error|fail|exception|%\||it/s|s/it|retry|timed? ?out|\bETA\b")
_PROGRESS = re.compile(rb"%\||it/s|s/it")
#: Of the states of a progress bar that are left out, one of so many is kept; twice as many after each `_ERA` of them.
_EVERY = 8
_ERA = 4000


@dataclass
class Thinner:
    """State of one source."""

    seen: int = 0
    shapes: Counter[bytes] = field(default_factory=Counter)
    passed: Counter[bytes] = field(default_factory=Counter)
    """States of progress bars beyond the first ones, by shape."""
    left_out: int = 0

    def thin(self, text: str) -> tuple[str, list[tuple[int, int]], dict[int, int]]:
        """(text, shifts, repeats) of a block of whole lines; shifts are (index, lines of the block before it)."""
        self.seen += len(text)
        if self.seen <= SMALL or not _repetitive(text):
            return text, [], {}
        raw = text.encode("utf-8", "surrogatepass")
        lines = raw.split(b"\n")
        shapes = raw.translate(None, _DIGITS).split(b"\n")
        often = Counter(shapes)
        heavy = {
            s
            for s, n in often.items()
            if n + self.shapes[s] > KEPT and s and (_REPEATABLE.search(s) or (n > 64 and self._same(s, shapes, lines)))
        }
        for shape, count in often.items():
            if count > 2 or shape in self.shapes:
                self.shapes[shape] += count
        if len(self.shapes) > 50_000:
            self.shapes = Counter(dict(self.shapes.most_common(10_000)))
        if not heavy:
            return text, [], {}
        return self._without(lines, shapes, heavy, often)

    def _same(self, shape: bytes, shapes: list[bytes], lines: list[bytes]) -> bool:
        """Whether the lines of this shape are equal, digits and all."""
        values = {line for line, s in zip(lines, shapes, strict=True) if s == shape}
        return len(values) <= 4

    def _telling(self, shape: bytes) -> bool:
        """Whether the next state of a progress bar is one of those that are kept all along."""
        count = self.passed[shape]
        self.passed[shape] += 1
        return count % (_EVERY << (count // _ERA).bit_length()) == 0

    def _without(
        self, lines: list[bytes], shapes: list[bytes], heavy: set[bytes], often: Counter[bytes]
    ) -> tuple[str, list[tuple[int, int]], dict[int, int]]:
        kept: list[bytes] = []
        shifts: list[tuple[int, int]] = []
        repeats: dict[int, int] = {}
        last: dict[bytes, int] = {}
        left = {s: max(1, KEPT - (self.shapes[s] - often[s])) for s in heavy}
        bars = {s for s in heavy if _PROGRESS.search(s)}
        final = {s: n for n, s in enumerate(shapes) if s in bars} if bars else {}
        gap = False
        for number, (line, shape) in enumerate(zip(lines, shapes, strict=True)):
            if shape in heavy:
                if left[shape] <= 0 and not (shape in bars and (self._telling(shape) or final[shape] == number)):
                    at = last[shape]
                    repeats[at] = repeats.get(at, 0) + 1
                    self.left_out += 1
                    gap = True
                    continue
                left[shape] -= 1
                last[shape] = len(kept)
            if gap:
                shifts.append((len(kept), number))
                gap = False
            kept.append(line)
        return b"\n".join(kept).decode("utf-8", "surrogatepass"), shifts, repeats


def _repetitive(text: str) -> bool:
    """Whether lines that may be left out make up a good part, by a sample."""
    step = max(_APART, len(text) // _SAMPLES)
    lines: Counter[bytes] = Counter()
    for start in range(0, len(text), step):
        begin = text.find("\n", start, start + 4096) + 1
        end = text.find("\n", begin, begin + 4096)
        if begin and end > begin:
            lines[text[begin:end].encode("utf-8", "surrogatepass")] += 1
    share = max(_FEWEST, _SHARE * (len(text) // step) // _SAMPLES)
    if max(lines.values(), default=0) >= share:
        return True
    shapes: Counter[bytes] = Counter()
    for line, count in lines.items():
        shapes[line.translate(None, _DIGITS)] += count
    return any(count >= share and _REPEATABLE.search(shape) for shape, count in shapes.items())
