"""The time on a log line, as seconds on one scale for all formats that occur together.

The scale leaves the year out (glog and syslog do not print it) and counts 366 days, so that lines of different loggers
in one file can be put in order. Zones are left out too: what one job prints is nearly always in one zone.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

DAY = 86400.0
_DAYS_BEFORE = (0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335)
_MONTHS = {
    m: i for i, m in enumerate(["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"], 1)
}
_CLOCK = r"(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?"
_MONTH = "(?P<{}>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
#: How far into a line a full date may stand and still be the line's own time.
REACH = 72

_ISO = re.compile(r"20\d\d([-/])(\d\d)\1(\d\d)[T _]" + _CLOCK)
_GLOG = re.compile(r"\[?[VIWEFDC](\d{1,2})(\d\d) " + _CLOCK)
_NAMED = re.compile(
    r"\[?(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?"
    + _MONTH.format("month")
    + r" +(\d{1,2}) "
    + _CLOCK
    + r"(?: (?:[A-Z]{3,4} )?\d{4})?"
)
_US = re.compile(r"[\[(]?(0[1-9]|1[0-2])/(\d\d)/(?:20)?\d\d[ -]" + _CLOCK + r"(?: ([AP])M)?")
_SPARK = re.compile(r"\d\d/(0[1-9]|1[0-2])/(\d\d) " + _CLOCK + " [A-Z]")
_CLF = re.compile(r"\[?(\d\d)/" + _MONTH.format("month") + r"/20\d\d:" + _CLOCK)
_LEVELLED = re.compile(r"\[?(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL)[ :|]+(\d\d)-(\d\d) " + _CLOCK)
_CLOCK_ONLY = re.compile(r"\[?" + _CLOCK + r"(?=\]|[ ,]+\[?(?:[A-Z]{4,}|[EWID])\b|:? - )")
_UPTIME = re.compile(r"(?:<\d+>)?\[ *(\d{1,9}\.\d{3,9})\]")
_EPOCH = re.compile(r"(?:\[|libfabric:\d+:)(1[4-9]\d{8}(?:\.\d+)?)[\]:]")
_CLOCK_PART = re.compile(r":\d\d:\d\d(?!\d)")
#: The formats that carry a date, for `dated`.
_DATED = re.compile(
    r"(?<!\d)20\d\d([-/])\d\d\1\d\d[T _]\d\d:\d\d:\d\d|(?<![A-Za-z])[VIWEFDC]\d{3,4} \d\d:\d\d:\d\d\.\d"
    r"|\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2} \d\d:\d\d:\d\d|(?<!\d)\d\d/\d\d/(?:20)?\d\d[ -]\d\d:\d\d:\d\d"
    r"|(?:INFO|WARNING|WARN|ERROR)[ :|]+\d\d-\d\d \d\d:\d\d:\d\d",
)


def dated(text: str) -> bool:
    """Whether lines of this text carry dates (then a bare clock or an uptime is on another scale and is not used)."""
    start = 0
    while (clock := _CLOCK_PART.search(text, start)) is not None:
        begin = text.rfind("\n", 0, clock.start()) + 1
        end = text.find("\n", clock.end())
        if _DATED.search(text[begin : end if end != -1 else len(text)][:400]):
            return True
        if end == -1:
            break
        start = end
    return False


def scale(month: int, day: int, hour: int, minute: int, second: int, fraction: str | None = None) -> float | None:
    """Seconds since the first of January, in a year of 366 days; None where it is no date or time."""
    if not (1 <= month <= 12 and 1 <= day <= 31 and hour < 24 and minute < 60 and second <= 60):
        return None
    seconds = (_DAYS_BEFORE[month - 1] + day - 1) * DAY + hour * 3600 + minute * 60 + second
    return seconds + (float("0." + fraction) if fraction else 0.0)


def from_epoch(seconds: float) -> float | None:
    """The same scale for Unix time."""
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None
    return scale(moment.month, moment.day, moment.hour, moment.minute, moment.second, f"{moment.microsecond:06d}")


def time_at(line: str, start: int = 0, *, dates: bool = True) -> float | None:
    """The time that the line carries at `start` or shortly after it.

    With `dates`, formats without a date are left out, as they are on another scale than their neighbours."""
    end = start + REACH + 30
    first = line[start : start + 1]
    if ":" in line:
        found = _ISO.search(line, start, end)
        if found and found.start() - start <= REACH:
            _, month, day, *clock = found.groups()
            return _scaled(month, day, *clock)
        if first == "[":
            first = line[start + 1 : start + 2]
        if first.isdigit():
            return _numeric(line[start:end], dates)
        if first.isupper():
            found = _GLOG.match(line, start) or _LEVELLED.match(line, start)
            if found:
                return _scaled(*found.groups())
            found = _NAMED.match(line, start)
            if found:
                month, day, *clock = found.groups()
                return _scaled(str(_MONTHS[month]), day, *clock)
    if dates or first not in "[<l ":
        return None
    return _other_scale(line[start:end])


def _numeric(head: str, dates: bool) -> float | None:
    found = _US.match(head)
    if found:
        month, day, hour, minute, second, fraction, half = found.groups()
        if half:
            hour = str(int(hour) % 12 + (12 if half == "P" else 0))
        return _scaled(month, day, hour, minute, second, fraction)
    found = _SPARK.match(head)
    if found:
        return _scaled(*found.groups())
    found = _CLF.match(head)
    if found:
        day, name, *clock = found.groups()
        return _scaled(str(_MONTHS[name]), day, *clock)
    return None if dates else _other_scale(head)


def _other_scale(head: str) -> float | None:
    """Uptime, Unix time and bare clocks: only where no line of the text has a date."""
    found = _EPOCH.match(head)
    if found:
        return from_epoch(float(found[1]))
    found = _UPTIME.match(head)
    if found:
        return float(found[1])
    found = _CLOCK_ONLY.match(head)
    return _scaled("1", "1", *found.groups()) if found else None


def _scaled(month: str, day: str, hour: str, minute: str, second: str, fraction: str | None = None) -> float | None:
    return scale(int(month), int(day), int(hour), int(minute), int(second), fraction)
