"""Text that is safe to print: nothing in it can steer a terminal or reorder what is read.

Logs are written by others. An escape sequence in one could clear the screen, change the title or make a line look like
another; a bidirectional control could hide a word. All that is printed or sent goes through here.
"""

from __future__ import annotations

import re

_CSI_TEXT = r"[0-?]*[ -/]*[@-~]"
#: Whole escape sequences: CSI, OSC, DCS and the like, with both ways of introducing them; then any other.
ESCAPES = re.compile(
    rf"(?:\x1b\[|\x9b){_CSI_TEXT}"
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c\n]{0,4096}(?:\x07|\x1b\\|\x9c)?"
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c\n]{0,4096}(?:\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
#: Characters that print nothing themselves: C0 and C1 controls, zero width, direction, tags, lone surrogates.
CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\ud800-\udfff\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_SPACES = re.compile("[\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]")


def strip_controls(text: str) -> str:
    """Takes out escape sequences and characters that print nothing; tab and newline stay."""
    if text.isascii() and text.isprintable():
        return text
    if "\x1b" in text or not text.isascii():
        text = ESCAPES.sub("", text)
    return CONTROLS.sub("", text)


def plain_spaces(text: str) -> str:
    """Spaces of web pages and chat programs as plain ones, so that patterns find them."""
    return text if text.isascii() else _SPACES.sub(" ", text)


def safe(text: object) -> str:
    """What may be printed to a terminal. Lines stay lines; a carriage return ends one.

    >>> safe("a\\x1b[31mred\\x1b[0m\\x07 \\u202eb")
    'ared b'
    """
    return strip_controls(str(text).replace("\r\n", "\n").replace("\r", "\n"))


def safe_line(text: object) -> str:
    """The same on one line: newlines and tabs become spaces."""
    return safe(text).replace("\n", " ").replace("\t", " ")
