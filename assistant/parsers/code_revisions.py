"""Which code and which image each host runs: commits, checksums and image digests listed host by host.

$ pdsh -w n[1-2] 'git -C /opt/train rev-parse --short HEAD'
n1: 8fd12ac
n2: 3be90f1
train-0   n1   reg/llm:latest   reg/llm@sha256:77ab21d0c1
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from assistant.facts import Fact, Subject
from assistant.intake.document import Document
from assistant.parsers._sections import section_hosts

NAME = "code revisions"
TRIGGERS = ("rev-parse", "git log", "git describe", "git show", "md5sum", "sha256sum", "sha1sum", "@sha256:", "imageID")
VERSIONS = "git, md5sum, sha256sum, image digests of Docker and kubectl, listed host by host (pdsh, ansible, ssh)"


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "command": re.compile(r"\bgit\b.{0,80}\b(?:rev-parse|log|describe|show)\b"),
        "revision": re.compile(
            r"^\s*(?:(?P<host>[A-Za-z][\w.-]*):?\s+)?(?:commit )?(?P<value>(?=[0-9a-f]*\d)[0-9a-f]{7,40}|v?\d+\.\d[\w.]*-\d+-g[0-9a-f]{7,})\b(?!\s+/)"
        ),
        "sum": re.compile(r"^\s*(?:(?P<host>[A-Za-z][\w.-]*):?\s+)?(?P<value>[0-9a-f]{32,64})\s+\*?(?P<path>\S+)\s*$"),
        "digest": re.compile(
            r"^(?P<host>[a-z0-9][\w.-]*)\s.*?(?P<image>[\w./:-]*[\w-])@sha256:(?P<value>[0-9a-f]{6,64})"
        ),
    }


def parse(document: Document) -> Iterable[Fact]:
    patterns = _patterns()
    listing = False
    for index, raw in enumerate(document.lines):
        if len(raw) > 1000:
            continue
        if "git" in raw and patterns["command"].search(raw):
            listing = True
            continue
        for kind, key in (("digest", "image.digest"), ("sum", "file.checksum"), ("revision", "code.revision")):
            if kind == "revision" and not listing:
                continue
            found = patterns[kind].match(raw) if kind != "digest" or "@sha256:" in raw else None
            if not found:
                continue
            host = found["host"] or document.line(index).host or section_hosts(document)[index]
            name = found["image"] if kind == "digest" else found["path"] if kind == "sum" else "HEAD"
            if host is not None:
                yield Fact(
                    key,
                    f"{name.rsplit('/', 1)[-1]} {found['value']}",
                    document.origin(index, "tool"),
                    Subject("host", host),
                )
            break
        else:
            if listing and raw.lstrip()[:1] == "$":
                listing = False
