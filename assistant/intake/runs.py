"""Which run of a job a file is of, by its folder: the same rank in another folder is of another run."""

from __future__ import annotations

import re
from zlib import crc32

from assistant.intake.names import host_of_name, rank_of_name

_ATTEMPT = re.compile(r"attempt_\d+")


def run_of_name(name: str) -> str:
    """A short mark of the folder of a file, without the parts that tell a host or a rank; empty without a folder.

    >>> run_of_name("a/node1/rank_0.log") == run_of_name("a/node2/rank_9.log") != run_of_name("b/node1/rank_0.log")
    True
    >>> run_of_name("a/attempt_0/0/stderr.log") == run_of_name("a/attempt_0/1/stderr.log")
    True
    """
    parts = name.replace("\\", "/").split("/")[:-1]
    kept = [
        part
        for before, part in zip(["", *parts], parts, strict=False)
        if part
        and host_of_name(part) != part
        and rank_of_name(part) is None
        and not (part.isdecimal() and _ATTEMPT.fullmatch(before))
    ]
    return f"{crc32('/'.join(kept).encode('utf-8', 'replace')):08x}" if kept else ""
