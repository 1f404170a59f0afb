"""Slurm's lists of nodes, `gpu[001-064,070]-ib,login1`, as names and back."""

from __future__ import annotations

import re

MOST = 20_000
"""Names that one list may stand for."""
LIST = re.compile(r"[A-Za-z][\w.-]{0,80}\[\d[\d,-]*\](?:[\w.-]*\w)?")
_PARTS = re.compile(r"([A-Za-z][\w.-]*)\[([\d,-]+)\]([\w.-]*)")
_NUMBERED = re.compile(r"(.*?)(\d+)(\D*)")


def expand(text: str) -> list[str]:
    """The names of one bracket expression; empty where it is none or is too long.

    >>> expand("gpu[08-10,12]-ib")
    ['gpu08-ib', 'gpu09-ib', 'gpu10-ib', 'gpu12-ib']
    """
    found = _PARTS.fullmatch(text)
    if found is None:
        return []
    out: list[str] = []
    for part in found[2].split(","):
        first, _, last = part.partition("-")
        if not first.isdigit() or (last and not last.isdigit()):
            return []
        width = len(first)
        numbers = range(int(first), int(last or first) + 1)
        if len(numbers) + len(out) > MOST:
            return []
        out += [f"{found[1]}{n:0{width}d}{found[3]}" for n in numbers]
    return out


def compress(names: list[str]) -> str:
    """A list that stands for these names.

    >>> compress(["host-001", "host-002", "host-003", "host-007", "login"])
    'host-[001-003,007],login'
    """
    groups: dict[tuple[str, str, int], list[int]] = {}
    out: list[str] = []
    order: list[tuple[str, str, int] | str] = []
    for name in names:
        found = _NUMBERED.fullmatch(name)
        if found is None:
            order.append(name)
            continue
        head = re.fullmatch(r"(.*?)(\d+)(\D*)", name[::-1])
        assert head is not None
        after, digits, before = head[1][::-1], head[2][::-1], name[: len(name) - len(head[1]) - len(head[2])]
        key = (before, after, len(digits))
        if key not in groups:
            groups[key] = []
            order.append(key)
        groups[key].append(int(digits))
    for item in order:
        if isinstance(item, str):
            out.append(item)
            continue
        before, after, width = item
        spans = _spans(groups[item])
        if len(groups[item]) == 1:
            out.append(f"{before}{groups[item][0]:0{width}d}{after}")
        else:
            ranges = ",".join(f"{a:0{width}d}" if a == b else f"{a:0{width}d}-{b:0{width}d}" for a, b in spans)
            out.append(f"{before}[{ranges}]{after}")
    return ",".join(out)


def _spans(numbers: list[int]) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], number)
        else:
            spans.append((number, number))
    return spans
