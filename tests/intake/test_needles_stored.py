"""Stored databases: the same literals under other numbers are another database."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistant.intake.needles import Needle, Needles

pytest.importorskip("hyperscan")


def test_a_needle_put_before_the_others_does_not_shift_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    text = b"the third rank reports a torn cable"
    end = text.index(b"torn cable") + len("torn cable")
    before = Needles([Needle("torn cable", patterns=[0])], [])
    assert before.everywhere().ends(text) == {(end, 0)}
    pattern = Needle("w", patterns=[1], pattern="worn .{1,9}cable")
    after = Needles([pattern, Needle("torn cable", patterns=[0])], [])
    assert after.everywhere().ends(text) == {(end, 1)}
