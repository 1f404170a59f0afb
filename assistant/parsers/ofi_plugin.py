r"""The libfabric plugin of NCCL (aws-ofi-nccl, aws-ofi-rccl): its version, provider, protocol, NICs and what it switched off.

gpu-01:33337:33337 [0] NCCL INFO NET/OFI Initializing aws-ofi-nccl 1.13.2-aws
gpu-01:33337:33337 [0] NCCL INFO NET/OFI Using Libfabric version 1.22
gpu-01:33337:33337 [0] NCCL INFO NET/OFI Selected provider is efa, fabric is efa-direct (found 32 nics)
gpu-01:33337:33337 [0] NCCL INFO NET/OFI Using transport protocol RDMA (platform set)
gpu-01:33337:33337 [0] NCCL INFO NET/OFI Created device with 4 rails (originally found 4 rails)
gpu-01:33337:33337 [0] NCCL INFO NET/OFI Support for DMA-BUF registrations: true
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from assistant.facts import Fact, Subject
from assistant.intake.document import Document
from assistant.parsers._gather import Gather, host_named
from assistant.parsers._lines import lines_with

NAME = "aws-ofi-nccl"
TRIGGERS = ("NET/OFI ",)
VERSIONS = "aws-ofi-nccl 1.1 to 1.17, aws-ofi-rccl 1.4"

_HEAD = re.compile(r"(?:^|[\s>:])(?P<host>[A-Za-z0-9][\w.-]*):\d+:\d+ \[\d+\]")


@cache
def _rules() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return (
        ("ofi.libfabric_version", re.compile(r"Using Libfabric version (?P<v>[\d.]+)")),
        ("ofi.fabric", re.compile(r"Selected [Pp]rovider is [\w;-]+, fabric is (?P<v>[\w:./-]+)")),
        ("ofi.nics", re.compile(r"\(found (?P<v>\d+) nics\)")),
        ("ofi.protocol", re.compile(r"Using transport protocol (?P<v>\w+)")),
        ("ofi.rails", re.compile(r"Created device with (?P<v>\d+) rails")),
        ("ofi.rails_found", re.compile(r"originally found (?P<v>\d+) rails")),
        ("ofi.dmabuf", re.compile(r"Support for DMA-BUF registrations: (?P<v>true|false)")),
        ("ofi.platform", re.compile(r"Running on (?P<v>[\w.-]+) platform")),
        ("ofi.topology_file", re.compile(r"(?:topology file|NCCL_TOPO_FILE environment variable to) (?P<v>/\S+)")),
        ("ofi.needs_libfabric", re.compile(r"requires at least libfabric version (?P<v>[\d.]+)")),
        (
            "ofi.gdr_off",
            re.compile(r"GDR (?:is )?(?:disabled|not supported)(?: on GDR-supported instance type (?P<v>[\w.]+))?"),
        ),
    )


def parse(document: Document) -> Iterable[Fact]:
    found = Gather(document)
    for index in lines_with(document, TRIGGERS):
        text = document.lines[index]
        at = text.find("NET/OFI ")
        head = _HEAD.search(text, 0, at)
        host = head["host"] if head else None
        subject: Subject = host_named(host) if host else Subject()
        rest = text[at + 8 :]
        for key, pattern in _rules():
            match = pattern.search(rest)
            if not match:
                continue
            value = match["v"]
            if key == "ofi.gdr_off":
                found.add(key, True, index, subject, host)
            elif key == "ofi.dmabuf":
                found.add(key, value == "true", index, subject, host)
            elif key in ("ofi.nics", "ofi.rails", "ofi.rails_found"):
                found.add(key, int(value), index, subject, host)
            else:
                found.add(key, value, index, subject, host)
    return found.facts
