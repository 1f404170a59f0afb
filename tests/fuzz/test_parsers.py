"""Every parser on any text: no exception, facts of the vocabulary, work in proportion to the text."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fuzz_checks import bounded, parser_text, parsers
from fuzz_seeds import BITS, NUMBERS, by_parser, parser_modules
from hypothesis import given
from hypothesis import strategies as st

from assistant.intake.document import Document

ODD = st.one_of(
    st.text(max_size=40),
    st.text(alphabet="0123456789.,:=|[](){}<>/%-+ \t\"'\nabcxyzNCLIFO_", max_size=80),
    st.sampled_from(NUMBERS),
    st.sampled_from(BITS),
)
NAMES = sorted(parser_modules())


@given(st.binary(min_size=4, max_size=64))
@bounded(250)
def test_real_text_with_mistakes(data: bytes) -> None:
    parsers(data)


@pytest.mark.parametrize("name", NAMES)
def test_any_text_around_the_triggers(name: str) -> None:
    @given(st.lists(st.one_of(st.sampled_from(parser_modules()[name].TRIGGERS), ODD), min_size=1, max_size=12))
    @bounded(6)
    def check(parts: list[str]) -> None:
        parser_text("".join(parts))

    check()


def repeated(name: str, size: int) -> Iterator[str]:
    """Texts of this size that are nothing but what the parser looks for."""
    lines = [
        line
        for piece in by_parser()[name]
        for line in piece.split("\n")
        if any(t in line for t in parser_modules()[name].TRIGGERS)
    ] or [parser_modules()[name].TRIGGERS[0]]
    line = random.Random(name).choice(lines)[:300]
    yield (line + "\n") * (size // (len(line) + 1))
    piece = max(by_parser()[name], key=len)[:4000]
    yield (piece + "\n") * (size // (len(piece) + 1) + 1)


def calls(work: Callable[[], Any]) -> int:
    """How many functions this calls."""
    count = 0

    def step(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        count += 1

    sys.setprofile(step)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("name", NAMES)
def test_work_grows_with_the_text_and_no_faster(name: str) -> None:
    """Calls of functions are counted, since time is not the same twice."""
    module = parser_modules()[name]
    for small, large in zip(repeated(name, 16_000), repeated(name, 64_000), strict=True):
        counts = []
        for text in (small, large):
            document = Document("rank3.log", text)
            _ = document.messages
            counts.append(calls(lambda: list(module.parse(document))))  # noqa: B023
        share = max(1.0, len(large) / max(1, len(small)))
        few = counts[1] <= len(large)  # some look at a bounded number of lines after each heading
        assert few or counts[1] <= 1.4 * share * counts[0] + 500, (
            f"{counts} calls for {len(small)} and {len(large)} characters"
        )
