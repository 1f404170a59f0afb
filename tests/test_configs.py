"""Configurations before the job runs: what is wrong is named, with file and line, and what is right raises no alarm.

`tests/configs/truth.yaml` tells what is right for each folder beside it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from assistant.diagnosis.diagnose import Diagnosis, diagnose
from assistant.triage import triage_paths
from knowledge.load import Knowledge

CONFIGS = Path(__file__).parent / "configs"
TRUTH: dict[str, Any] = yaml.safe_load((CONFIGS / "truth.yaml").read_text(encoding="utf-8"))


def diagnosed(kb: Knowledge, name: str) -> Diagnosis:
    """The diagnosis of one folder of configurations, nothing said."""
    files = sorted(str(path) for path in (CONFIGS / name).iterdir())
    return diagnose(triage_paths(kb, files), kb)


def told(found: Diagnosis) -> str:
    causes = ", ".join(f"{f.id} {f.probability:.2f} ({f.evidence[0].rule})" for f in found.findings[:3])
    return f"{found.verdict}: {causes or 'no cause'}"


@pytest.mark.parametrize("name", TRUTH["healthy"])
def test_a_healthy_configuration_is_no_problem(kb: Knowledge, name: str) -> None:
    found = diagnosed(kb, name)
    assert found.verdict != "problem", told(found)


@pytest.mark.parametrize("name", TRUTH["faulty"])
def test_the_fault_is_named_first(kb: Knowledge, name: str) -> None:
    truth = TRUTH["faulty"][name]
    found = diagnosed(kb, name)
    assert found.findings, told(found)
    assert found.findings[0].id in truth["causes"], f"expected {' or '.join(truth['causes'])}, got {told(found)}"
    origins = [o for e in found.findings[0].evidence for o in e.support.origins]
    assert any(o.file and o.line and truth["quote"] in (o.quote or "") for o in origins), [o.quote for o in origins]


@pytest.mark.parametrize("name", TRUTH["faulty"])
def test_only_what_is_sure_is_a_problem(kb: Knowledge, name: str) -> None:
    found = diagnosed(kb, name)
    assert (found.verdict == "problem") is TRUTH["faulty"][name]["sure"], told(found)
