"""The marks that launchers, schedulers and loggers put before a line: who wrote it, and when."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Prefix:
    message: str
    host: str | None = None
    rank: int | None = None
    time: float | None = None


_NCCL = re.compile(r"^(?:\[[^\]]*\] )?(?P<host>[A-Za-z0-9][\w.-]*):(?P<pid>\d+):(?P<tid>\d+) \[(?P<dev>\d+)\] ")
_MARKS = (
    re.compile(r"^\[(?:rank|default)(?P<rank>\d+)\]:? ?"),
    re.compile(r"^(?P<rank>\d+): "),
    re.compile(r"^\[\d+,(?P<rank>\d+)\](?:<\w+>)?:? ?"),
)
_NAME_RANK = re.compile(r"(?:^|[^a-z])rank[-_.]?(\d+)(?:\D|$)", re.IGNORECASE)


@lru_cache(maxsize=65536)
def split_prefix(line: str) -> Prefix:
    """Splits the marks off a line. Host and rank are None where no mark names them."""
    rank: int | None = None
    host: str | None = None
    message = line
    for mark in _MARKS:
        found = mark.match(message)
        if found:
            rank = int(found["rank"])
            message = message[found.end() :]
            break
    found = _NCCL.match(message)
    if found:
        host = found["host"]
    return Prefix(message, host, rank, None)


def rank_of_name(name: str) -> int | None:
    found = _NAME_RANK.search(name.rsplit("/", 1)[-1])
    return int(found[1]) if found else None


def host_of_name(name: str) -> str | None:
    return None
