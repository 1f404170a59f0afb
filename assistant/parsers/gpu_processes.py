r"""Programs on each GPU, from `nvidia-smi pmon`, the table of `nvidia-smi` and `--query-compute-apps`: one that does not belong.

# gpu         pid  type    sm    mem    enc    dec    command
    3      51203     C     52     22      -      -    python
    3      88410     C     47     14      -      -    ollama_llama_se
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from assistant.facts import Fact, Origin
from assistant.intake.document import Document
from assistant.parsers._device import gpu_subject, hosts_by_line

NAME = "programs on the GPUs"
TRIGGERS = ("# gpu  ", "MiB |")
VERSIONS = "nvidia-smi pmon, --query-compute-apps and the process table of drivers 410 to 580"

#: Programs that are no rival for the GPU.
_HARMLESS = re.compile(
    r"(?i)xorg|gnome|kwin|plasma|firefox|chrome|dcgm|nv-host|nvidia-|mps|compiz|xwayland|code|\bsnap\b"
)


@cache
def _rows() -> tuple[re.Pattern[str], ...]:
    return (
        re.compile(r"^\s*(?P<gpu>\d{1,2})\s+(?P<pid>\d{2,8})\s+C\s+(?:(?:\d+|-)\s+)+(?P<name>[A-Za-z./_][\w./-]*)\s*$"),
        re.compile(
            r"^\|\s+(?P<gpu>\d{1,2})\s+(?:(?:N/A|\d+)\s+(?:N/A|\d+)\s+)?(?P<pid>\d{2,8})\s+C\s+(?P<name>\S.*?)\s+(?P<mem>\d+)MiB\s*\|"
        ),
    )


def parse(document: Document) -> Iterable[Fact]:
    hosts = hosts_by_line(document)
    found: dict[tuple[str | None, str], dict[str, Origin]] = {}
    for index, text in enumerate(document.lines):
        for row in _rows():
            match = row.match(text)
            if match:
                name = re.split(r"[/\\ ]", match["name"].removeprefix("..."))[-1] or match["name"]
                found.setdefault((hosts[index], match["gpu"]), {}).setdefault(name, document.origin(index, "tool"))
                break
    for host in {host for host, _ in found}:
        gpus = {gpu: names for (where, gpu), names in found.items() if where == host}
        counts: dict[str, int] = {}
        for names in gpus.values():
            for name in names:
                counts[name] = counts.get(name, 0) + 1
        if len(gpus) < 2:
            continue
        for gpu, names in gpus.items():
            shared = [n for n in names if counts[n] == len(gpus)]
            for name in names:
                if shared and counts[name] == 1 and not _HARMLESS.search(name):
                    yield Fact("gpu.foreign_process", name, names[name], gpu_subject(host, gpu))
