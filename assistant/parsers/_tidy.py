"""Facts as they may be kept: numbers that can be reckoned with, text that can be shown."""

from __future__ import annotations

from dataclasses import replace

from assistant.facts import Fact, Subject
from assistant.safe_text import strip_controls

#: Above every count, size in bytes and time in nanoseconds that is real.
LARGEST = 1 << 63


def tidy(fact: Fact) -> Fact | None:
    """The fact; None where its number is infinite or so large that only damage makes it.

    The strings of JSON and YAML are unpacked by the parsers, and may hold what was taken out of the text before."""
    value = fact.value
    if isinstance(value, int | float):
        if not abs(value) < LARGEST:
            return None
    elif not value.isprintable():
        fact = replace(fact, value=strip_controls(value))
    if not fact.subject.name.isprintable():
        fact = replace(fact, subject=Subject(fact.subject.kind, strip_controls(fact.subject.name)))
    host = fact.origin.host
    if host is not None and not host.isprintable():
        fact = replace(fact, origin=replace(fact.origin, host=strip_controls(host)))
    return fact
