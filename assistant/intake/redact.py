"""Secrets out of texts, before anything is stored or shown.

Redacted are keys of known shape (AWS, Hugging Face, GitHub, Slack, Weights & Biases ...), values of settings whose name
says that they are secret, passwords in URLs, bearer tokens and private keys. Hashes, commit ids, NCCL ids, GUIDs, UUIDs of
GPUs, addresses and counts of tokens stay, since a diagnosis needs them. The number of lines never changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

_KEY_END = re.compile(r"-----END [A-Z0-9 ]*PRIVATE KEY-----")
_PRIVATE = re.compile(
    r"-----BEGIN ([A-Z0-9 ]*)PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)", re.DOTALL
)
#: Bytes of a line above which only the surroundings of a suspect are looked at.
LONG = 8192
_RUNS = re.compile(r"\n{4,}|[^\S\n]{400,}|\S{400,}")
_TOLD_SECRET = re.compile(
    r"\b(password|passwd|passphrase|pass phrase|api key|secret key|token)\s+is\s+\S+", re.IGNORECASE
)

TYPED = 4 << 20
"""Characters of one message that are looked at; more is handed over as a file."""

_DELIMITER = re.compile(rb"[\s\"',;}]")
#: Bytes below which loading Hyperscan is not worth it.
SMALL = 1 << 15
#: What stands, in lower case, on every line that can hold a secret.
_NEEDLES = (
    "passw", "passphrase", "secret", "_token", "-token", "token=", "token:", 'token"', "token'", "token ", "api_key", "api-key",
    "apikey", "access_key", "access-key", "accesskey", "account_key", "account-key", "accountkey", "private_key", "private-key",
    "privatekey", "signing_key", "signing-key", "encryption_key", "encryption-key", "auth_key", "auth-key", "authkey", "_key=",
    "_key:", '_key"', "_key'", "credential", "bearer ", "basic ", "authorization", "cookie", "x-auth", "&sig=", "?sig=",
    "signature=", "?key=", "&key=", "xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "hooks.slack", "ghp_", "gho_",
    "ghu_", "ghs_", "ghr_", "github_pat", "glpat-", "glptt-", "gldt-", "glrt-", "glcbt-", "akia", "asia", "aroa", "aida", "abia",
    "acca", "hf_", "api_org_", "sk-", "aiza", "ya29.", "nvapi-", "local-", "wandb", "pypi-", "npm_", "dckr_pat", "k_live_", "k_test_",
    "hvs.", "hvb.", "eyj", "dapi", "-key ", "sshpass", "mysql", "mariadb",
)  # fmt: skip
_LOGIN = re.compile(r"://[^\s/:@]*:[^\s/@]+@")
_LOGIN_BYTES = re.compile(_LOGIN.pattern.encode())


def typed(text: str) -> str:
    """What a user typed or pasted, made ready: control sequences gone, secrets blanked, at most `TYPED` characters."""
    from assistant.intake.decode import clean

    text = _RUNS.sub(_shorter, clean(text[:TYPED]))
    return _TOLD_SECRET.sub(r"\1 is [redacted:password]", redact(text))


def _shorter(run: re.Match[str]) -> str:
    """A run of one kind that no reader needs whole; it would only cost time."""
    return run[0][: 3 if run[0][0] == "\n" else 400]


class Redactor:
    """Redacts a text that comes in parts; a private key may begin in one and end in a later one."""

    def __init__(self) -> None:
        self._inside = False

    def __call__(self, text: str) -> str:
        if self._inside:
            end = _KEY_END.search(text)
            stop = end.end() if end else len(text)
            text = "[redacted:private-key]" + "\n" * text.count("\n", 0, stop) + text[stop:]
            self._inside = end is None
        at = text.rfind("PRIVATE KEY-----")
        if at != -1 and text.rfind("-----BEGIN ", 0, at) > text.rfind("-----END ", 0, at + 1):
            self._inside = True
        return redact(text)


def redact(text: str) -> str:
    """The text without its secrets.

    >>> redact("HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyzabcdefgh nranks 8 commId 0x7a1b")
    'HF_TOKEN=[redacted:token] nranks 8 commId 0x7a1b'
    """
    if "PRIVATE KEY-----" in text:
        text = _PRIVATE.sub(_private, text)
    out: list[str] = []
    done = 0
    for start, end in _suspects(text):
        from assistant.intake.secrets import redact_line

        line = text[start:end]
        new = redact_line(line)
        if new != line:
            out += (text[done:start], new)
            done = end
    return "".join((*out, text[done:])) if out else text


def _suspects(text: str) -> list[tuple[int, int]]:
    """Start and end of the lines that may hold a secret, in order."""
    if text.isascii():
        raw = text.encode("ascii")
        return _lines_at(raw, _hits(raw))
    # Offsets in bytes are no offsets in characters: go line by line where anything was found at all.
    raw = text.encode("utf-8", "surrogatepass")
    found: list[tuple[int, int]] = []
    done = at = 0
    for start, end in _lines_at(raw, _hits(raw)):
        at += len(raw[done:start].decode("utf-8", "surrogatepass"))
        length = len(raw[start:end].decode("utf-8", "surrogatepass"))
        found.append((at, at + length))
        done, at = end, at + length
    return found


def _lines_at(raw: bytes, positions: Iterable[int]) -> list[tuple[int, int]]:
    lines: list[tuple[int, int]] = []
    last = -1
    for position in sorted(positions):
        if position < last:
            continue
        start = raw.rfind(b"\n", 0, position) + 1
        end = raw.find(b"\n", position)
        if end == -1:
            end = len(raw)
        if end - start > LONG:
            start, end = _window(raw, max(start, last), position, end)
        lines.append((start, end))
        last = end
    return lines


def _window(raw: bytes, start: int, position: int, end: int) -> tuple[int, int]:
    """The part of a very long line around a position, without cutting a value or a character."""
    start = max(start, position - 512)
    while start < position and raw[start] & 0xC0 == 0x80:
        start += 1
    rest = _DELIMITER.search(raw, min(position + 2048, end), min(position + 16384, end))
    return start, rest.start() if rest else end


def _hits(raw: bytes) -> set[int]:
    """Where something stands that may be a part of a secret."""
    database = _database() if len(raw) > SMALL else None
    positions: set[int] = set()
    if database is not None:
        database.scan(raw, match_event_handler=lambda i, start, end, flags, context: positions.add(end - 1))
        return positions
    low = raw.lower()
    for needle in _NEEDLES:
        at = low.find(needle.encode())
        while at != -1:
            positions.add(at)
            end = low.find(b"\n", at)
            at = low.find(needle.encode(), end) if end != -1 else -1
    positions.update(found.start() for found in _LOGIN_BYTES.finditer(raw))
    return positions


@cache
def _database() -> Any:
    """Hyperscan for the needles; None where it can't be imported."""
    try:
        import hyperscan
    except ImportError:
        return None
    expressions = [re.escape(n).encode() for n in _NEEDLES] + [_LOGIN.pattern.encode()]
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(
        expressions=expressions,
        ids=list(range(len(expressions))),
        elements=len(expressions),
        flags=[hyperscan.HS_FLAG_CASELESS] * len(expressions),
    )
    return database


def _private(found: re.Match[str]) -> str:
    return "[redacted:private-key]" + "\n" * found[0].count("\n")
