"""Real problems from public threads: the right cause, at the right place, shown by a line that tells.

`tests/cases/<id>/expect.yaml` holds what is right. A case that is known to come out wrong is listed in
`tests/cases/known_misses.txt` (the id and the test, cause, place or line; # starts a comment),
so that a regression in any other case fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from assistant.diagnosis.diagnose import SURE, Diagnosis, Finding, diagnose
from assistant.triage import triage_paths
from knowledge.load import Knowledge

CASES = Path(__file__).parent / "cases"
MISSES = CASES / "known_misses.txt"
TOP_1 = 0.85
TOP_3 = 0.95

Diagnosed = Callable[[str], Diagnosis]


@cache
def case_of(name: str) -> dict[str, Any]:
    case: dict[str, Any] = yaml.safe_load((CASES / name / "case.yaml").read_text(encoding="utf-8"))
    return case


@cache
def expected(name: str) -> dict[str, Any]:
    right: dict[str, Any] = yaml.safe_load((CASES / name / "expect.yaml").read_text(encoding="utf-8"))
    return right


def truth_of(name: str) -> list[str]:
    """The causes that count as right, the best answer first."""
    causes: list[str] = case_of(name)["truth"]["causes"]
    return causes


def known_misses() -> frozenset[tuple[str, str]]:
    """(case, test): the tests are cause, place and line."""
    lines = (line.split("#")[0].split() for line in MISSES.read_text(encoding="utf-8").splitlines())
    return frozenset((words[0], words[1]) for words in lines if words)


NAMES = sorted(path.parent.name for path in CASES.glob("*/expect.yaml"))


def each(test: str, names: Iterable[str]) -> pytest.MarkDecorator:
    """One test for each of these cases; those that are known to come out wrong are skipped."""
    misses = known_misses()
    skip = pytest.mark.skip(reason="known miss, listed in tests/cases/known_misses.txt")
    return pytest.mark.parametrize(
        "name", [pytest.param(n, id=n, marks=[skip] if (n, test) in misses else []) for n in names]
    )


@pytest.fixture(scope="module")
def diagnosed(kb: Knowledge) -> Diagnosed:
    """The diagnosis of a case by its id, made once."""

    @cache
    def of(name: str) -> Diagnosis:
        case = case_of(name)
        says = [case["say"].strip()] if case.get("say") else []
        stated = [(key, str(value)) for key, value in (case.get("facts") or {}).items()]
        attached = [str(CASES / name / attachment) for attachment in case.get("attachments") or []]
        return diagnose(triage_paths(kb, attached, says=says, stated=stated), kb)

    return of


def first_is_right(found: Diagnosis, truth: list[str]) -> bool:
    if found.findings and found.findings[0].id in truth:
        return True
    if "healthy" not in truth:
        return False
    return found.verdict == "healthy" or all(f.probability < SURE for f in found.findings)


def one_of_three_is_right(found: Diagnosis, truth: list[str]) -> bool:
    return first_is_right(found, truth) or any(f.id in truth for f in found.findings[:3])


def right_finding(found: Diagnosis, truth: list[str]) -> Finding | None:
    """The likeliest finding that is right; `healthy` is kept beside the others."""
    if "healthy" in truth and found.healthy is not None:
        return found.healthy
    return next((f for f in found.findings if f.id in truth), None)


def told(found: Diagnosis) -> str:
    causes = ", ".join(f"{f.id} {f.probability:.2f}" for f in found.findings[:3])
    return f"{found.verdict}: {causes or 'no cause'}"


def spaced(text: str) -> str:
    """Tabs and runs of spaces as one space: a quote may be shown with other spacing than in its file."""
    return " ".join(text.split())


@each("cause", NAMES)
def test_the_cause(name: str, diagnosed: Diagnosed) -> None:
    truth = truth_of(name)
    assert expected(name)["cause"] == truth[0]
    found = diagnosed(name)
    assert first_is_right(found, truth), f"expected {' or '.join(truth)}, got {told(found)}"


@each("place", (n for n in NAMES if expected(n)["hosts"] or expected(n)["ranks"]))
def test_the_place(name: str, diagnosed: Diagnosed) -> None:
    found = diagnosed(name)
    if not found.findings or found.findings[0].id not in truth_of(name):
        pytest.skip("the first cause is not the right one")
    where = found.findings[0].where
    assert set(expected(name)["hosts"]) <= set(where.hosts)
    assert set(expected(name)["ranks"]) <= set(where.ranks)


@each("line", (n for n in NAMES if expected(n)["quotes"]))
def test_the_line(name: str, diagnosed: Diagnosed) -> None:
    truth = truth_of(name)
    found = diagnosed(name)
    finding = right_finding(found, truth)
    if finding is None and first_is_right(found, truth):
        pytest.skip("no cause is claimed, so that there is no line to show")
    assert finding is not None, f"expected {' or '.join(truth)}, got {told(found)}"
    shown = [spaced(o.quote) for e in finding.evidence for o in e.support.origins if o.quote]
    quotes = [spaced(q) for q in expected(name)["quotes"]]
    assert any(quote in line for quote in quotes for line in shown), f"none of {quotes} is shown, but {shown}"


def test_most_cases_are_right(diagnosed: Diagnosed) -> None:
    """Over all cases, known misses too."""
    wrong = [n for n in NAMES if not first_is_right(diagnosed(n), truth_of(n))]
    missed = [n for n in wrong if not one_of_three_is_right(diagnosed(n), truth_of(n))]
    assert NAMES
    assert 1 - len(wrong) / len(NAMES) >= TOP_1, f"not first in {wrong}"
    assert 1 - len(missed) / len(NAMES) >= TOP_3, f"not among three in {missed}"
