"""Configuration files of accelerate: how many machines, which one this is, where the first one listens.

machine_rank: 1
main_process_ip: 192.168.20.31
main_process_port: 29501
num_machines: 2
num_processes: 16
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from assistant.facts import Fact, Value
from assistant.intake.document import Document
from assistant.parsers._shell import integer

NAME = "accelerate configuration"
TRIGGERS = ("machine_rank", "main_process_ip", "num_machines")
VERSIONS = "accelerate 0.10 to 1.10: default_config.yaml"

_NUMBERS = {"num_machines": "launch.nnodes", "num_processes": "launch.num_processes"}
_TEXTS = {
    "machine_rank": "launch.node_rank",
    "main_process_ip": "launch.master_addr",
    "main_process_port": "launch.master_port",
}


def parse(document: Document) -> Iterable[Fact]:
    found: dict[str, tuple[int, str]] = {}
    for index, message in enumerate(document.messages):
        matched = re.match(
            r"\s*['\"]?(machine_rank|main_process_ip|main_process_port|num_machines|num_processes)['\"]?\s*:\s*['\"]?([\w.:-]+)['\"]?\s*(?:,\s*)?$",
            message,
        )
        if matched and matched[2] not in ("null", "None"):
            found.setdefault(matched[1], (index, matched[2]))
    if "num_machines" not in found or not {"machine_rank", "main_process_ip"} & set(found):
        return
    for name, (index, text) in found.items():
        value: Value | None = integer(text) if name in _NUMBERS else text
        if value is not None:
            yield Fact(_NUMBERS.get(name) or _TEXTS[name], value, document.origin(index, "config"))
