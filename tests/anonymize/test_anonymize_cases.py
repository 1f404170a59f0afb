"""The diagnosis of what was anonymized is that of the original."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from assistant.anonymize.run import Options, anonymize
from assistant.diagnosis.diagnose import Diagnosis, diagnose
from assistant.triage import triage_paths
from knowledge.load import Knowledge

ROOT = Path(__file__).parent.parent
CASES = ROOT / "cases"
SETS = ROOT / "flight_recorder" / "sets"


def told(found: Diagnosis) -> tuple[Any, ...]:
    """Verdict, first three causes, and how many hosts and which ranks are at fault."""
    first = [(len(f.where.hosts), sorted(f.where.ranks)) for f in found.findings[:1]]
    return found.verdict, [f.id for f in found.findings[:3]], first


def case_of(name: str) -> dict[str, Any]:
    case: dict[str, Any] = yaml.safe_load((CASES / name / "case.yaml").read_text(encoding="utf-8"))
    return case


NAMES = [p.parent.name for p in sorted(CASES.glob("*/case.yaml")) if case_of(p.parent.name).get("attachments")]


@pytest.mark.parametrize("name", NAMES)
def test_the_same_diagnosis(name: str, kb: Knowledge, tmp_path: Path) -> None:
    case = case_of(name)
    says = [case["say"].strip()] if case.get("say") else []
    stated = [(key, str(value)) for key, value in (case.get("facts") or {}).items()]
    paths = [str(CASES / name / attachment) for attachment in case["attachments"]]
    out, again = str(tmp_path / "out"), str(tmp_path / "again")
    anonymize(paths, Options(out))
    before = diagnose(triage_paths(kb, paths, says=says, stated=stated), kb)
    after = diagnose(triage_paths(kb, [out], says=says, stated=stated), kb)
    assert told(after) == told(before)
    anonymize([out], Options(again))
    assert texts(again) == texts(out)


@pytest.mark.parametrize("name", ["early-00", "dtype-01", "exception-00", "skip-00", "sigkill-00", "healthy-00"])
def test_flight_recorder_dumps(name: str, kb: Knowledge, tmp_path: Path) -> None:
    archive = str(SETS / f"{name}.tar.xz")
    out = str(tmp_path / "out")
    outcome = anonymize([archive], Options(out))
    assert outcome.texts and not outcome.left_out
    assert told(diagnose(triage_paths(kb, [out]), kb)) == told(diagnose(triage_paths(kb, [archive]), kb))


def texts(path: str) -> list[str]:
    """The texts of a file or folder, in the order of their names."""
    files = [path] if os.path.isfile(path) else sorted(map(str, (p for p in Path(path).rglob("*") if p.is_file())))
    return [Path(file).read_text(encoding="utf-8") for file in files]
