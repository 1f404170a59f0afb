"""Imports point one way, the agent and the probe stand alone, and no case has leaked into the knowledge."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent

#: What a folder or module may not import, by prefix.
FORBIDDEN = {
    "knowledge": ("assistant", "collectors", "tui"),
    "assistant/facts.py": ("assistant", "knowledge"),
    "assistant/intake": (
        "assistant.diagnosis",
        "assistant.report",
        "assistant.commands",
        "assistant.conversation",
        "tui",
    ),
    "assistant/parsers": (
        "assistant.diagnosis",
        "assistant.report",
        "assistant.commands",
        "assistant.conversation",
        "tui",
    ),
    "assistant/derive": ("assistant.report", "assistant.commands", "assistant.conversation", "tui"),
    "assistant/diagnosis": (
        "assistant.parsers",
        "assistant.report",
        "assistant.commands",
        "assistant.conversation",
        "tui",
    ),
    "assistant/report": ("assistant.parsers", "assistant.commands", "assistant.conversation", "tui"),
    "collectors/agent": ("assistant", "knowledge", "tui"),
    "collectors/probe": ("assistant", "knowledge", "tui"),
}


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("place", sorted(FORBIDDEN))
def test_imports_point_one_way(place: str) -> None:
    target = ROOT / place
    files = [target] if target.is_file() else sorted(target.rglob("*.py"))
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in files
        for name in imports(path)
        for prefix in FORBIDDEN[place]
        if name == prefix or name.startswith(prefix + ".")
    ]
    assert wrong == []


def test_the_base_install_does_not_need_torch() -> None:
    users = [
        p for p in ROOT.rglob("*.py") if ".venv" not in p.parts and any(n.split(".")[0] == "torch" for n in imports(p))
    ]
    assert [str(p.relative_to(ROOT)) for p in users if "probe" not in p.parts and "tests" not in p.parts] == []


def test_no_case_has_leaked_into_knowledge_or_code() -> None:
    cases = ROOT / "tests" / "cases"
    names = {d.name for d in cases.iterdir() if (d / "case.yaml").exists()}
    hosts = set()
    for case in cases.glob("*/case.yaml"):
        for attachment in yaml.safe_load(case.read_text()).get("attachments") or []:
            text = (case.parent / attachment).read_text(errors="replace")
            hosts |= set(re.findall(r"^(?:\d+: ?)?([A-Za-z][\w.-]*\d[\w.-]*):\d+:\d+ \[\d+\]", text, re.MULTILINE))
    plain = {"node0", "node1", "node2", "node01", "node02", "n1", "n2", "host1", "host2", "worker-0", "worker-1"}
    leaks = []
    for folder in ("knowledge", "assistant"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".yaml", ".py"):
                words = set(re.findall(r"[\w.-]+", path.read_text(encoding="utf-8")))
                text_hits = (names & words) | ((hosts - plain) & words)
                leaks += [f"{path.relative_to(ROOT)}: {w}" for w in sorted(text_hits)]
    assert leaks == []
