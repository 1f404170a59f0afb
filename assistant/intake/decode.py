"""Bytes to text: encodings, binaries, terminal control sequences, progress bars.

What comes out holds only printable characters, tabs and newlines, so that nothing in a log can reach the terminal, and so
that patterns see the words that a person saw.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from assistant.intake.shorter import shorter_numbers, shorter_runs
from assistant.safe_text import CONTROLS, ESCAPES, plain_spaces

HEAD = 256 * 1024
#: Share of control characters above which bytes are no text.
NOISE = 0.03


@dataclass(frozen=True, slots=True)
class Encoding:
    name: str
    skip: int = 0
    """Bytes of the byte order mark."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Binary:
    """No text. `what` completes "this is ..."; `hint` says what to hand over instead."""

    what: str
    hint: str = ""


_FLIGHT = "A flight recorder dump can be handed over as JSON; checkpoints hold nothing for a diagnosis."
_MAGIC: tuple[tuple[bytes, str, str], ...] = (
    (b"\x89PNG", "an image (PNG)", "Copy the text instead of a picture of it."),
    (b"\xff\xd8\xff", "an image (JPEG)", "Copy the text instead of a picture of it."),
    (b"GIF8", "an image (GIF)", "Copy the text instead of a picture of it."),
    (b"%PDF-", "a PDF document", "Copy the text out of it."),
    (b"SQLite format 3\x00", "an SQLite database", "For Nsight Systems: export the summary with `nsys stats`."),
    (b"LPKSHHRH", "a binary journal", "Export it: journalctl --file FILE > journal.txt"),
    (b"\xd4\xc3\xb2\xa1", "a packet capture", ""),
    (b"\n\r\r\n", "a packet capture", ""),
    (b"PERFILE2", "perf data", "Export it: perf report --stdio > perf.txt"),
    (b"\x93NUMPY", "a NumPy array", ""),
    (b"\x89HDF", "an HDF5 file", ""),
    (b"PAR1", "a Parquet file", ""),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "Unpack it, or pack the logs as .tar.gz or .zip."),
    (b"Rar!", "a RAR archive", "Unpack it, or pack the logs as .tar.gz or .zip."),
    (b"\x04\x22\x4d\x18", "an LZ4 file", "Unpack it, or pack the logs as .gz or .xz."),
    (b"\xfe\xed\xfa", "a program", ""),
    (b"\xcf\xfa\xed\xfe", "a program", ""),
    (b"!<arch>\n", "a static library", ""),
)
_PRINTED_ESCAPE = re.compile(r"(?:\^\[|\\(?:x1[bB]|u001[bB]|033|e)|\u241b)\[[\d;]{0,12}[mKGABCD]")
_LOST_ESCAPE = re.compile(r"\[(?:\d{1,3}(?:;\d{1,3}){0,4})?m(?!\])")
_AS_RETURN = re.compile(r"(?:\x1b\[|\x9b)[01]?G|\x08{3,}")
_RETURNS = ("\x1b[G", "\x1b[0G", "\x1b[1G", "\x9b", "\x08\x08\x08")
#: Characters that begin a sequence by themselves.
_INTRODUCERS = frozenset("\x90\x98\x9b\x9d\x9e\x9f")
_OVERSTRUCK = re.compile(r"[^\n\r\x08]\x08")
_BREAKS = re.compile("[\x0b\x0c\x85\u2028\u2029]")
_RUNS = re.compile(rb"\x00{4,}")
_RAW_ESCAPES = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,256}(?:\x07|\x1b\\)|.)", re.DOTALL)
_TEXT_BYTES = bytes([9, 10, 13, *range(32, 127)])
_PLAIN_BYTES = _TEXT_BYTES.replace(b"\r", b"")
_NOT_NOISE = bytes([8, 9, 10, 12, 13, *range(32, 127), *range(128, 256)])


def detect(head: bytes) -> Encoding | Binary:
    """What the first bytes of an input are. Empty input is UTF-8."""
    for bom, name in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if head.startswith(bom):
            return Encoding(name, len(bom))
    magic = _magic(head)
    if magic is not None:
        return magic
    wide = _wide(head)
    if wide is not None:
        return wide
    if head.isascii() and not head.translate(None, _TEXT_BYTES):
        return Encoding("utf-8")
    body = _RAW_ESCAPES.sub(b"", _RUNS.sub(b"", head))
    noise = len(body.translate(None, _NOT_NOISE))
    if noise > max(8, NOISE * len(body)):
        return Binary("binary data")
    return _eight_bit(head)


def _magic(head: bytes) -> Binary | None:
    if head.startswith(b"\x7fELF"):
        if head[16:18] in (b"\x04\x00", b"\x00\x04"):
            return Binary(
                "a core dump", "Hand over the stack instead: gdb -batch -ex 'thread apply all bt' PROGRAM CORE"
            )
        return Binary("a program or library (ELF)")
    for mark, what, hint in _MAGIC:
        if head.startswith(mark):
            return Binary(what, hint)
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05") and head[2:3] in b"}](cX\x95\x8aKqU":
        return Binary(
            "a Python pickle (a checkpoint, or a flight recorder dump); it is not loaded, since that could run code",
            _FLIGHT,
        )
    if head.startswith(b"MZ") and b"\x00" in head[:64]:
        return Binary("a Windows program")
    return None


def _wide(head: bytes) -> Encoding | None:
    """UTF-16 or UTF-32 without a byte order mark, by where the zero bytes stand."""
    body = head[: len(head) // 4 * 4]
    if len(body) < 16 or b"\x00" not in body:
        return None
    quarter = len(body) / 4
    zeros = [body[i::4].count(0) / quarter for i in range(4)]
    if min(zeros[1:]) > 0.9 and zeros[0] < 0.1:
        return Encoding("utf-32-le")
    if min(zeros[:3]) > 0.9 and zeros[3] < 0.1:
        return Encoding("utf-32-be")
    if min(zeros[1], zeros[3]) > 0.4 and max(zeros[0], zeros[2]) < 0.1:
        return Encoding("utf-16-le")
    if min(zeros[0], zeros[2]) > 0.4 and max(zeros[1], zeros[3]) < 0.1:
        return Encoding("utf-16-be")
    return None


def _eight_bit(head: bytes) -> Encoding:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
        return Encoding("utf-8")
    except UnicodeDecodeError:
        pass
    text = head.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    good = sum(not c.isascii() for c in text) - broken
    if good >= broken or broken <= 3:
        return Encoding("utf-8", note="some bytes are not valid UTF-8 and are shown as \ufffd")
    return Encoding("cp1252", note="not UTF-8; read as Latin-1 (Windows-1252)")


def decoder(encoding: Encoding) -> codecs.IncrementalDecoder:
    """Decodes block by block; never fails."""
    return codecs.getincrementaldecoder(encoding.name)("replace")


def clean(text: str) -> str:
    """Takes out what a terminal would act on and a reader would not see. Carriage returns stay, as `states` needs them."""
    if not text.isascii():
        unusual = _unusual(text)
        if plain_spaces(unusual) != unusual:
            text = plain_spaces(text)
    text = shorter_runs(shorter_numbers(text))
    if not _is_clean(text):
        text = _without_controls(text)
    if "[" in text:
        if "^[[" in text or "\\" in text or (not text.isascii() and "\u241b" in text):
            text = _PRINTED_ESCAPE.sub("", text)
        if "[0m" in text:
            text = "\n".join(_LOST_ESCAPE.sub("", x) if "[0m" in x else x for x in text.split("\n"))
    return text


def _without_controls(text: str) -> str:
    if "\x1b" in text or "\x08" in text or "\x9b" in text:
        if any(mark in text for mark in _RETURNS):
            text = _AS_RETURN.sub("\r", text)
        if "\x08" in text:
            text = _OVERSTRUCK.sub("", text)
    if not _INTRODUCERS.isdisjoint(_unusual(text)):
        text = ESCAPES.sub("", text)
    elif "\x1b" in text:
        text = _without_escapes(text)
    # Few of the many controls stand in one text: each is looked for by itself.
    for char in set(CONTROLS.findall(_unusual(text))):
        if char != "\r":
            text = text.replace(char, " " if _BREAKS.match(char) else "")
    return text


def _without_escapes(text: str) -> str:
    """Without the sequences that an escape begins; colours stand on every line of many logs."""
    out: list[str] = []
    done = 0
    at = text.find("\x1b")
    while at != -1:
        found = ESCAPES.match(text, at)
        end = found.end() if found else at + 1
        out.append(text[done:at])
        done = end
        at = text.find("\x1b", done)
    return "".join((*out, text[done:]))


def _is_clean(text: str) -> bool:
    if text.isascii():
        return not text.encode("ascii").translate(None, _PLAIN_BYTES)
    return CONTROLS.search(_unusual(text)) is None


def _unusual(text: str) -> str:
    """The characters that are no printable ASCII, tab or newline, one after the other: few, even in a log full of bars."""
    raw = text.encode("utf-8", "surrogatepass")
    return raw.translate(None, _PLAIN_BYTES).decode("utf-8", "surrogatepass")


_PROGRESS = re.compile(r"\d ?%|\d ?/ ?\d|\bit/s|\bs/it|[kKMG]i?B/s|\bETA\b|[━█▏#=>.-]{4,}")
_PERCENT = re.compile(r"(\d{1,3}(?:\.\d+)?) ?%")
_DIGITS = re.compile(r"[\d.,:█▏▎▍▌▋▊▉━╸#=>%|<? -]+")


def is_progress(text: str) -> bool:
    """Whether this is a state of a progress bar."""
    return len(text) < 400 and _PROGRESS.search(text) is not None


def states(line: str) -> list[str]:
    """What stood on a line that was written over with carriage returns: the last state, and earlier ones that tell something.

    >>> states("10%|# | 1/10\\r20%|## | 2/10\\rRuntimeError: x\\r30%|### | 3/10")
    ['20%|## | 2/10', 'RuntimeError: x', '30%|### | 3/10']
    """
    parts = [p for p in line.split("\r") if p.strip()]
    if len(parts) < 2:
        return parts or [""]
    kept: list[str] = []
    shapes = [_DIGITS.sub("", p) if len(p) < 400 else p for p in parts]
    for i, part in enumerate(parts):
        if i + 1 < len(parts) and _written_over(part, parts[i + 1], shapes[i] == shapes[i + 1]):
            continue
        kept.append(part)
    return kept


def _written_over(part: str, after: str, same_shape: bool) -> bool:
    """Whether `after` is a later state of the same progress bar."""
    if part == after:
        return True
    if not same_shape or not is_progress(part) or not is_progress(after):
        return False
    now, then = _PERCENT.search(part), _PERCENT.search(after)
    return now is None or then is None or float(then[1]) >= float(now[1])
