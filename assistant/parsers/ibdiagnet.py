r"""What `ibdiagnet` (ibutils2) reports: links that are slower than they should be, counters that grew, cables, its summary.

-E- Link: S0002c90300688830/N0002c90300688830/P20<-->gpu07/U1/P1 - Unexpected actual link speed 2.5 (enable_speed1="2.5 or 5 or 10", ...)
-E- lid=0x0012 dev=54000 leaf-r1/U1/P5 - "symbol_error_counter" increased during the run (difference value=27,difference allowed threshold=1)
-W- leaf-r1/U1/P27 - Cable High Temperature Alarm reported, current temperature: 64C, threshold: 80C
Port Counters                                3          0
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from assistant.facts import Fact, Subject
from assistant.intake.document import Document
from assistant.parsers._gather import Gather

NAME = "ibdiagnet"
TRIGGERS = ("-E- Link", "-W- Link", "increased during the run", "ibdiagnet", "Unexpected actual link", "-I- Discovery")
VERSIONS = "ibdiagnet 2.0 to 2.20 of MLNX_OFED, DOCA and UFM"

_HINTS = ("nexpected actual link", "increased during the run", "Cable", "cable", "BER", "Summary", "redit loop", "-E- ")


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "link": re.compile(
            r"-(?P<level>[EW])- Link: (?P<a>\S+?)(?:<-->|\\<\\--\\>)(?P<b>\S+) - Unexpected actual link (?P<what>speed|width) (?P<value>[\d.]+x?)"
        ),
        "counter": re.compile(
            r"(?<!\S)(?P<where>\S{1,300}/P\S{1,60})\s*-\s*\"(?P<name>\w+)\" increased during the run \(difference value=(?P<n>\d+)"
        ),
        "cable": re.compile(r"-[EW]- (?P<where>\S+/P\S+) - (?P<text>[^\n]*[Cc]able[^\n]*)"),
        "ber": re.compile(r"-[EW]- (?P<where>\S+/P\S+)(?:<-->\S+)? - (?P<text>[^\n]*\bBER\b[^\n]*)"),
        "loop": re.compile(r"[Cc]redit loops? (?:was |were )?(?:found|detected)"),
    }  # fmt: skip


def parse(document: Document) -> Iterable[Fact]:
    found = Gather(document, "tool")
    patterns = _patterns()
    for index, text in enumerate(document.messages):
        if not any(hint in text for hint in _HINTS):
            continue
        link = patterns["link"].search(text)
        if link:
            subject = Subject("link", f"{_port(link['a'])} - {_port(link['b'])}")
            found.add("ib.link_below", f"{link['what']} {link['value']}", index, subject)
            continue
        counter = patterns["counter"].search(text)
        if counter:
            found.add("ib.counter_grows", counter["name"], index, Subject("link", _port(counter["where"])))
            continue
        for name in ("ber", "cable"):
            match = patterns[name].search(text)
            if match:
                found.add("ib.cable_fault", match["text"].strip()[:120], index, Subject("link", _port(match["where"])))
                break
        if patterns["loop"].search(text):
            found.add("ib.credit_loop", True, index)
    return found.facts


def _port(text: str) -> str:
    """S7cfe90/N7cfe90/P28 is a switch without a name; gpu07/U1/P1 is port 1 of gpu07."""
    parts = text.strip().split("/")
    return f"{parts[0]} {parts[-1]}" if len(parts) > 1 else text
