"""Cuts numbers and words without end and runs of blanks: no reader needs them whole, and patterns take their square in time."""

from __future__ import annotations

import re

#: Digits of a number of which the first ones are kept; a run of more than `_STEP * _STEPS` digits is never missed.
_LONGEST_NUMBER = 40
_STEP = 48
_STEPS = 6
_OFTEN_DIGITS = re.compile(rf"\d{{{_STEPS - 1},}}")
_MANY_DIGITS = re.compile(rf"(?<!\d)\d{{{_STEP * (_STEPS - 1)},}}")


def shorter_numbers(text: str) -> str:
    """Cuts runs of hundreds of digits, which no program prints as a number: Python's own conversions fail on them.

    Only every 48th character is looked at; where several in a row are digits, all between them."""
    for found in _OFTEN_DIGITS.finditer(text[::_STEP]):
        for at in range(found.start(), found.end() - _STEPS + 2):
            if text[at * _STEP : (at + _STEPS - 2) * _STEP + 1].isdecimal():
                return _MANY_DIGITS.sub(lambda run: run[0][:_LONGEST_NUMBER] + "[... cut]", text)
    return text


#: Longest word and longest run of spaces that is kept whole: patterns that try each beginning take its square in time.
_LONGEST_WORD = 1024
_LONG_WORDS = re.compile(rf"(?<![\w.-])[\w.-]{{{_LONGEST_WORD + 1},}}")
_LONG_SPACES = re.compile(r" {400,}|\t{400,}")
#: Makes a space of each byte that ends a word.
_ENDS_WORD = bytes(c if c > 127 or chr(c).isalnum() or chr(c) in "_.-" else 32 for c in range(256))


def shorter_runs(text: str) -> str:
    """Cuts words of thousands of characters and runs of hundreds of spaces. Only long lines are looked at."""
    out: list[str] = []
    done = start = 0
    while len(text) - start > _LONGEST_WORD:
        end = text.rfind("\n", start, start + _LONGEST_WORD + 1)
        if end == -1:
            end = text.find("\n", start + _LONGEST_WORD)
            end = len(text) if end == -1 else end
            line = text[start:end]
            cut = _shorter(line)
            if cut != line:
                out += (text[done:start], cut)
                done = end
        start = end + 1
    return "".join((*out, text[done:])) if out else text


def _shorter(line: str) -> str:
    if " " * 400 in line or "\t" * 400 in line:
        line = _LONG_SPACES.sub(lambda found: found[0][:200], line)
    words = line.encode("utf-8", "surrogatepass").translate(_ENDS_WORD).split()
    if max(map(len, words), default=0) > _LONGEST_WORD:
        line = _LONG_WORDS.sub(lambda found: found[0][:_LONGEST_WORD] + "[... cut]", line)
    return line
