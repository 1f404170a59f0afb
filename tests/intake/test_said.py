"""The quick look at the user's words lets through every pattern that matches, and few others."""

from __future__ import annotations

import re

import pytest

from assistant.intake.said import candidates
from knowledge.check import full_base
from knowledge.load import Knowledge
from knowledge.needs import Need, met, needs


def test_nothing_that_matches_is_left_out(kb: Knowledge) -> None:
    full, _ = full_base()
    texts = [text for entry in full["tellings"].values() for text in entry["tellings"][::20]]
    compiled = {p: re.compile(p, re.IGNORECASE) for p in kb.said}
    missed, let_through = [], 0
    for text in texts:
        found = candidates([text], kb.said)
        let_through += len(found)
        missed += [(p, text) for p, regex in compiled.items() if p not in found and regex.search(text)]
    assert missed == []
    assert let_through < 0.5 * len(texts) * len(kb.said)


@pytest.mark.parametrize(
    ("pattern", "need"),
    [
        ("(hang|stuck).{0,20}epoch", ["&", ["|", "hang", "stuck"], "epoch"]),
        (r"\bGPUs?\b", "gpu"),
        ("(?:slow)?", None),
        (r"slow|\d+", None),
        ("(?:very )+slow", ["&", "very ", "slow"]),
    ],
)
def test_what_a_pattern_needs(pattern: str, need: Need) -> None:
    assert needs(pattern) == need


def test_what_is_needed_is_looked_for() -> None:
    need = needs("(hang|stuck).{0,20}epoch")
    assert met(need, "it hangs after an epoch")
    assert not met(need, "it hangs after a step")
