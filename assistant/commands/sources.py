"""`ncclinic knowledge sources`: the page on which docs/sources.md rests."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from assistant.source_catalog import Source, areas, sources

HEAD = """\
# Sources

<!-- Made by `ncclinic knowledge sources -o docs/sources.md`; a test fails where it is not current. -->

Hand over whatever a job left behind, in any order and mixture: each text is read by every parser whose marks stand in it.
A parser yields facts and judges nothing; rules in `knowledge/causes` draw on the facts. "Versions" says in which versions and forms the output of
a tool is known; other versions are read as far as their lines look the same.

## What is taken in

- **Files, folders and standard input.** Text of any length, in parts of bounded size; copies of a line in large files are counted and not repeated. Inputs that are too
  large to be read line by line are searched for the marks of all parsers and signatures, and read where these stand.
- **Archives and compressed files**, one inside another too: tar, zip, gzip, bzip2, xz, zstd. Nothing is unpacked to disk under a name from an archive;
  sizes, counts, depth and ratios are bounded, and what was left out is said. 7z, pictures and other files that hold no text are named with what to hand over instead.
- **Encodings.** UTF-8, UTF-16 and UTF-32 with and without mark, Latin-1 and Windows-1252 where nothing else fits. Colours, progress bars and other terminal
  sequences are taken out first.
- **Marks before lines.** Ranks, hosts and times as torchrun, srun, mpirun, Ray, pdsh, kubectl, docker, syslog and loggers write them; names such as `rank3.log`.
- **JSON lines** of Docker, Kubernetes, fluentd, structlog, the journal and cloud loggers, as the plain lines they hold.
- **Flight recorder dumps** of PyTorch as pickle, read by a machine that builds plain data and runs nothing.
- **Traces** of PyTorch's profiler (`*.pt.trace.json`), summed up while they are read.
- **Secrets** (tokens, passwords, keys) are blanked before anything is kept or shown.
"""

TAIL = """\
## Never run on the real thing

What is written here about formats comes from the tools' sources and manuals and from output that people published. Not everything could be checked against a running
system: InfiniBand and RoCE fabrics (ibdiagnet, mlxlink, perfquery, switches), EFA and other providers of libfabric, NVSwitch and fabric managers, Slurm, Kubernetes and
Ray clusters, TPUs and AMD GPUs. Output that looks otherwise than expected yields no fact rather than a wrong one; please report it with the version of the tool.
"""


def page(found: list[Source]) -> str:
    return "\n".join([HEAD, *_tables(found), *_areas(), TAIL])


def _tables(found: list[Source]) -> Iterator[str]:
    for group, members in groupby(found, key=lambda s: s.group):
        yield f"## {group}\n"
        yield "| source | versions and forms | facts |"
        yield "|---|---|---|"
        for source in members:
            facts = ", ".join(f"`{key}`" for key in source.facts) or "-"
            yield f"| **{_cell(source.name)}**: {_cell(source.summary)} | {_cell(source.versions)} | {facts} |"
        yield ""


def _areas() -> Iterator[str]:
    yield "## Messages known one by one\n"
    yield "Signatures in `knowledge/signatures/<area>`: what a single line means, whether it is the root of trouble or its echo, and to which causes it points.\n"
    yield "| area | messages |"
    yield "|---|---|"
    yield from (f"| {name} | {count} |" for name, count in areas())
    yield ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").strip()


def current_page() -> str:
    """The page as the parsers and signatures of this installation make it."""
    return page(sources())


def show(output: str | None) -> int:
    text = current_page()
    if output is None:
        print(text, end="")
    else:
        from pathlib import Path

        Path(output).write_text(text, encoding="utf-8")
    return 0
