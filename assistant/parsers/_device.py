"""Names of hosts and GPUs in the output of tools: prompts and headings between the outputs of several hosts."""

from __future__ import annotations

import re
from functools import cache

from assistant.facts import JOB, Subject
from assistant.intake.document import Document


@cache
def _headings() -> tuple[re.Pattern[str], ...]:
    return (
        re.compile(r"^\[?(?:\([^)]*\) ?)?[\w.-]+@(?P<host>[A-Za-z][\w-]*)[^$#>]{0,80}[$#>]"),
        re.compile(
            r"^(?:={2,}|-{2,}|#+|\*+)\s*(?:(?:host|node)\s*)?(?::\s*)?(?P<host>[A-Za-z][\w-]*\d[\w-]*)\s*(?::\s*)?(?:[=\-#*]{2,})?$"
        ),
        re.compile(r"^(?:host|node|hostname)\s*[:=]\s*(?P<host>[A-Za-z][\w-]*\d[\w-]*)\s*$", re.IGNORECASE),
    )


def hosts_by_line(document: Document) -> list[str | None]:
    """The host to which each line belongs, as prompts and headings tell; the document's own host where none does."""
    known: list[str | None] | None = document.shared.get("device.hosts")
    if known is not None:
        return known
    current = document.host
    found: list[str | None] = []
    document.shared["device.hosts"] = found
    prompt, rule, named = _headings()
    for text in document.lines:
        if text.startswith(("=", "-", "#", "*")):
            match = rule.match(text)
        elif text.startswith(("host", "node", "Host", "Node", "HOST", "NODE")):
            match = named.match(text)
        else:
            match = None
        if match is None and "@" in text:
            match = prompt.match(text)
        if match:
            current = match["host"]
        found.append(current)
    return found


def gpu_subject(host: str | None, index: int | str) -> Subject:
    return Subject("gpu", f"{host}:{index}" if host else str(index))


def host_subject(host: str | None) -> Subject:
    return Subject("host", host) if host else JOB


def number(text: str) -> float | None:
    """The first number in a text: '412.3 W' -> 412.3; None for N/A and the like."""
    found = re.search(r"-?\d+(?:\.\d+)?", text)
    return float(found[0]) if found else None
