"""Lists of hosts as Slurm writes them: gpu[003,007-008],head1 are four hosts."""

from __future__ import annotations

import re

MOST = 4096


def expand(text: str) -> list[str]:
    """The hosts of a list, in its order; what is no list comes back as one host."""
    hosts: list[str] = []
    for item in re.findall(r"(?:[^,\[\]]+(?:\[[^\[\]]*\])?)+", text.strip()):
        parts = [""]
        for plain, ranges in re.findall(r"([^\[\]]+)|\[([^\[\]]*)\]", item):
            choices = [plain] if plain else list(_numbers(ranges))
            parts = [a + b for a in parts for b in choices][:MOST]
        hosts += [p for p in parts if p]
        if len(hosts) >= MOST:
            break
    return hosts[:MOST]


def _numbers(ranges: str) -> list[str]:
    found: list[str] = []
    for part in ranges.split(","):
        low, _, high = part.strip().partition("-")
        if low.isdecimal() and high.isdecimal() and int(low) <= int(high):
            width = len(low) if low.startswith("0") or len(low) == len(high) else 0
            found += [str(n).zfill(width) for n in range(int(low), min(int(high), int(low) + MOST) + 1)]
        elif low:
            found.append(part.strip())
    return found
