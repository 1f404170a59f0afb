r"""Images of the pods or containers of a job: tables of kubectl, docker and crictl.

NAME          IMAGE                              NODE
ft-master-0   nvcr.io/nvidia/pytorch:24.05-py3   gpu-1
ft-worker-0   nvcr.io/nvidia/pytorch:23.10-py3   gpu-2
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._net import Reader

NAME = "images of a job"
TRIGGERS = ("IMAGE", "Image:", "image=")
VERSIONS = "kubectl get pods with images, docker ps, crictl"


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "head": re.compile(r"\bIMAGES?\b"),
        "row": re.compile(r"^(?P<pod>[\w.-]+)\s.*?(?P<repo>(?:[\w.-]+(?::\d+)?/)+[\w.-]+):(?P<tag>[\w.-]+)(?:\s|$)"),
    }


def parse(document: Document) -> Iterable[Fact]:
    reader = Reader(document)
    patterns = _patterns()
    tags: dict[tuple[str, str], dict[str, int]] = {}
    inside = False
    for index, text in enumerate(document.messages):
        if "IMAGE" in text and patterns["head"].search(text):
            inside = True
            continue
        row = patterns["row"].match(text) if inside and "/" in text else None
        if row:
            job = re.sub(r"-(?:master|worker|launcher|leader|server|head)\b.*$|-?\d+$", "", row["pod"])
            tags.setdefault((job, row["repo"]), {}).setdefault(row["tag"], index)
    for (_, repo), seen in tags.items():
        if len(seen) > 1:
            yield reader.job(
                max(seen.values()), "pod.images_differ", f"{repo.rpartition('/')[2]}: {', '.join(sorted(seen))}"
            )
