"""Every entry of the knowledge base holds to its schema, and every example of every rule and signature does what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from assistant.intake.literals import literals_of
from assistant.selfcheck import check_rule, check_signature
from knowledge.check import full_base, references
from knowledge.compile import conditions, load_full
from knowledge.load import Knowledge

FULL, PROBLEMS = full_base()
CAUSES = FULL["causes"]
SIGNATURES = FULL["signatures"]
PUBLIC_IDS = Path(__file__).parent / "data" / "causes.yaml"


def test_every_file_holds_to_the_schema() -> None:
    assert PROBLEMS == []


def test_references_lead_somewhere() -> None:
    assert list(references(FULL)) == []


def test_every_public_cause_is_there() -> None:
    groups = yaml.safe_load(PUBLIC_IDS.read_text())
    public = {cause for group in groups.values() for cause in group}
    assert set(CAUSES) == public


@pytest.mark.parametrize("cause", sorted(CAUSES))
def test_examples_of_evidence_rules(cause: str, kb: Knowledge) -> None:
    assert [p for rule in CAUSES[cause]["evidence"] for p in check_rule(rule, kb, asked=cause == "healthy")] == []


@pytest.mark.parametrize("area", sorted({s["area"] for s in SIGNATURES.values()}))
def test_examples_of_signatures(area: str) -> None:
    assert [f"{s['id']}: {p}" for s in SIGNATURES.values() if s["area"] == area for p in check_signature(s)] == []


@pytest.mark.parametrize("cause", sorted(c for c in CAUSES if c != "healthy"))
def test_no_cause_is_thin(cause: str) -> None:
    entry: dict[str, Any] = CAUSES[cause]
    assert len(entry["explanation"].split()) >= 40
    assert len(entry["evidence"]) >= 5
    assert len(entry["confirm"]) >= 2
    assert any(fix["kind"] == "cures" for fix in entry["fixes"])
    assert entry["mistaken_for"]


def test_every_cause_has_its_place_in_the_tree(kb: Knowledge) -> None:
    placed: list[str] = []

    def walk(node: dict[str, Any]) -> None:
        placed.extend(node.get("causes", ()))
        for child in node.get("children", ()):
            walk(child)

    walk(kb.tree)
    assert set(CAUSES) - set(placed) == set()


def test_patterns_have_a_literal_to_search_for() -> None:
    patterns = {s["id"]: s["match"] for s in SIGNATURES.values()}
    for cause in CAUSES.values():
        for rule in cause["evidence"]:
            for leaf in (*conditions(rule["when"]), *conditions(rule.get("unless"))):
                if leaf.get("log"):
                    patterns[f"{cause['id']}: {rule['id']}"] = leaf["log"]
    assert sorted(name for name, pattern in patterns.items() if not literals_of(pattern)) == []


def test_a_mistake_names_file_line_and_what_is_wrong(tmp_path: Path) -> None:
    folder = tmp_path / "questions"
    folder.mkdir()
    (folder / "nodes.yaml").write_text(
        "id: nodes\nfact: nodes\nask: How many nodes?\nwhy: because\ncots: 3\nhow: look\n"
    )
    problems: list[str] = []
    load_full(tmp_path, problems)
    assert len(problems) == 1
    assert "nodes.yaml:5: cots:" in problems[0]


def test_a_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "questions"
    folder.mkdir()
    (folder / "nodes.yaml").write_text("id: nodes\nid: other\n")
    problems: list[str] = []
    load_full(tmp_path, problems)
    assert "nodes.yaml:2" in problems[0] and "stands twice" in problems[0]
