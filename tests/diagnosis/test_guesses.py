"""A guess that the user puts as a question is no observation."""

from __future__ import annotations

import pytest

from assistant.diagnosis.conditions import holds
from assistant.facts import CaseFile

TOLD = "Starting the new corpus fails on some ranks after half an hour, with a message of gloo."


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        (f"{TOLD} Is gloo taking the wrong network card?", False),
        (f"{TOLD} So do I need another wrong network card setting?", False),
        (f"{TOLD} gloo is taking the wrong network card.", True),
        ("Is gloo taking the wrong network card?", True),
        (f"The wrong network card is used. {TOLD} Is it the wrong network card?", True),
    ],
)
def test_guess(text: str, seen: bool) -> None:
    assert (holds({"says": "wrong network card"}, CaseFile(says=[text])) is not None) is seen
