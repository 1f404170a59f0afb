"""Progress bars of tqdm and of rich -> timed steps. Bars of tokenising, downloading or evaluating are left out."""

from __future__ import annotations

import re

from assistant.intake.document import Document
from assistant.parsers._series import matched_lines
from assistant.parsers._steps import Step

_TQDM = re.compile(
    r"%\|[^|\n]{0,400}\| *(\d+)/\d+ \[([\d:]+)<[\d:?]+, +(\d+(?:\.\d+)?)(s/(?:it|step|batch|ba)|(?:it|step|batch|ba)(?:ches)?/s)"
)
_RICH = re.compile(r"[━╸╺╌─] ?(\d+)/\d+ +(\d+:\d\d:\d\d|\d+:\d\d) • [\d:-]+ +(\d+(?:\.\d+)?)(it/s)")
_SIDE_TASK = re.compile(
    r"tokeniz|\bmap\b|filter|download|loading (?:dataset|checkpoint|pipeline|weights)|fetching|generating \w+ split|\beval|valid|\btest|predict|sanity",
    re.IGNORECASE,
)
#: From this many seconds between two states on, the clock of the bar is finer than its smoothed rate.
_CLOCK = 20


def bar_steps(document: Document, *, epochs: bool) -> list[Step]:
    """Steps of bars, in order; `epochs` takes the bars that are headed `Epoch 3:` and those of rich, else the others."""
    text = document.text
    heads: dict[str, bool] = {}
    found: list[Step] = []
    before: tuple[int, int] | None = None
    patterns = [_TQDM] if "%|" in text else []
    if epochs and "━" in text:
        patterns.append(_RICH)
    for pattern in patterns:
        for index, match in matched_lines(document, ((m.start(), m) for m in pattern.finditer(text))):
            start = match.start()
            head = text[max(text.rfind("\n", 0, start) + 1, start - 64) : start].rstrip("0123456789 ")
            wanted = heads.get(head)
            if wanted is None:
                wanted = heads[head] = not _SIDE_TASK.search(head) and epochs == (
                    "Epoch" in head or "Training" in head or pattern is _RICH
                )
            if not wanted:
                continue
            number, rate = int(match[1]), float(match[3])
            elapsed = _seconds(match[2])
            if number > 0 and rate > 0:
                seconds = rate if match[4].startswith("s/") else 1 / rate
                if before is not None and number > before[0] and elapsed - before[1] >= _CLOCK:
                    seconds = (elapsed - before[1]) / (number - before[0])
                found.append(Step(number, seconds, index))
            before = (number, elapsed)
    return found


def _seconds(clock: str) -> int:
    value = 0
    for part in clock.split(":"):
        value = value * 60 + int(part or 0)
    return value
