"""Secrets out of texts, before anything is stored or shown.

Redacted are keys of known shape (AWS, Hugging Face, GitHub, Slack, Weights & Biases ...), values of settings whose name
says that they are secret, passwords in URLs, bearer tokens and private keys. Hashes, commit ids, NCCL ids, GUIDs, UUIDs of
GPUs, addresses and counts of tokens stay, since a diagnosis needs them. The number of lines never changes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assistant.intake.secrets import Awaited

_KEY_BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----")
_KEY_END = re.compile(r"-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----")
#: Characters between beginning and end of a private key.
_KEY_LENGTH = 32 << 10
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
SMALL = 1 << 12
#: What stands, in lower case, on every line that can hold a secret.
_NEEDLES = (
    "passw", "passphrase", "secret", "_token", "-token", "token=", "token:", 'token"', "token'", "token ", "api_key", "api-key",
    "apikey", "access_key", "access-key", "accesskey", "account_key", "account-key", "accountkey", "private_key", "private-key",
    "privatekey", "signing_key", "signing-key", "encryption_key", "encryption-key", "auth_key", "auth-key", "authkey", "_key=",
    "_key:", '_key"', "_key'", "credential", "bearer ", "basic ", "authorization", "cookie", "x-auth", "&sig=", "?sig=",
    "signature=", "?key=", "&key=", "xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "hooks.slack", "ghp_", "gho_",
    "ghu_", "ghs_", "ghr_", "github_pat", "glpat-", "glptt-", "gldt-", "glrt-", "glcbt-", "akia", "asia", "aroa", "aida", "abia",
    "acca", "hf_", "api_org_", "sk-", "aiza", "ya29.", "nvapi-", "local-", "wandb", "pypi-", "npm_", "dckr_pat", "k_live_", "k_test_",
    "hvs.", "hvb.", "eyj", "dapi", "-key ", "sshpass", "mysql", "mariadb", "pwd", '"auth"', "'auth'", "client-key-data", "dockerc",
    "identitytoken", "keytab", "private-token", "awsaccesskeyid", "glft-", "glsoat-", "glagent-", "glimt-", "glsa_", "glc_", "gsk_", "r8_", "tskey-",
    "dckr_oat", " login ", "-goog-", "api/webhooks", "office.com/webhook", "office365.com/webhook", ":aae", ":aaf", ":aag", ":aah", "_pass",
    "pass=", 'pass"', "pass'", "pass:", "_pw=", "_pw:", '_pw"', "_pw'", "userpw", "bindpw", "jwt=", "jwt:", 'jwt"', "jwt'", "curl ", "wget ", "ipmi",
    "password-stdin", "sudo -s", "| kinit", '"username', "token%3", "token&quot", "kaggle_key", "_jwt ", "_pw ", "token\\", "_key\\",
)  # fmt: skip
#: user:password@host and https://token@host.
_LOGIN = re.compile(r"[:/][^\s/:@]+@[A-Za-z0-9]")
#: What a line ends with whose setting goes on in the next one.
_OPEN = ("\\", "|", ">", "-", "+", "\r", " ")
#: Lines of a value that are blanked at most.
_BLOCK = 64
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
    """Redacts a text that comes in parts; a private key or a setting may begin in one and end in a later one."""

    def __init__(self) -> None:
        self._inside = False
        self._awaited: Awaited | None = None

    def __call__(self, text: str) -> str:
        start = 0
        blanked = ""
        if self._inside:
            start, self._inside = _end_of_key(text, 0)
            blanked = "[redacted:private-key]" + "\n" * text.count("\n", 0, start)
        if "PRIVATE KEY" in text:
            text, self._inside = _without_keys(text[start:])
        elif start:
            text = text[start:]
        text, self._awaited = _lines_redacted(text, self._awaited)
        return blanked + text


def redact(text: str) -> str:
    """The text without its secrets.

    >>> redact("HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyzabcdefgh nranks 8 commId 0x7a1b")
    'HF_TOKEN=[redacted:token] nranks 8 commId 0x7a1b'
    """
    return _lines_redacted(_without_keys(text)[0] if "PRIVATE KEY" in text else text)[0]


def _lines_redacted(text: str, after: Awaited | None = None) -> tuple[str, Awaited | None]:
    """(the text without secrets, what the line after its last one holds). `after` is what its first line holds."""
    out: list[str] = []
    done = 0

    def put(start: int, end: int, new: str) -> None:
        nonlocal done
        if new != text[start:end]:
            out.extend((text[done:start], new))
            done = end

    at = _continued(text, 0, after, put) if after is not None else 0
    if at is None:
        return "".join((*out, text[done:])), after
    after = None
    for start, end in _suspects(text):
        if start < at:
            continue
        from assistant.intake.secrets import awaited, redact_line

        line = text[start:end]
        put(start, end, redact_line(line))
        after = awaited(line) if line[-1:] in _OPEN or "name" in line or "key" in line else None
        if after is not None:
            behind = _continued(text, end + 1, after, put)
            if behind is None:
                return "".join((*out, text[done:])), after
            at, after = behind, None
    return "".join((*out, text[done:])) if out else text, None


def _continued(text: str, start: int, after: Awaited, put: Callable[[int, int, str], None]) -> int | None:
    """Blanks a value that goes on in the lines from `start`: where it ends, or None if that is not in this text."""
    from assistant.intake.secrets import awaited, redact_line, redact_next

    for _ in range(_BLOCK):
        if start >= len(text):
            return None
        end = text.find("\n", start)
        end = len(text) if end == -1 else end
        if end - start > LONG:
            return start
        line = text[start:end]
        new, goes_on = redact_next(line, after)
        if new == line and awaited(line) is not None:
            return start
        put(start, end, new if goes_on else redact_line(new))
        start = end + 1
        if not goes_on:
            break
    return start


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
    # Once compiled it is the quicker way for short texts too.
    database = _database() if len(raw) > SMALL or _database.cache_info().currsize else None
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


def _without_keys(text: str) -> tuple[str, bool]:
    """(the text without private keys, whether it ends inside of one)."""
    out: list[str] = []
    done = 0
    inside = False
    while not inside and (found := _KEY_BEGIN.search(text, done)) is not None:
        end, inside = _end_of_key(text, found.end())
        out += (text[done : found.start()], "[redacted:private-key]", "\n" * text.count("\n", found.end(), end))
        done = end
    return "".join((*out, text[done:])) if out else text, inside


def _end_of_key(text: str, start: int) -> tuple[int, bool]:
    """(where the key ends that `start` stands in, whether it goes on after this text). A key without its end stops
    where other lines begin, so that what comes after it is not lost."""
    found = _KEY_END.search(text, start, start + _KEY_LENGTH)
    if found:
        return found.end(), False
    at = start
    while at < len(text):
        end = text.find("\n", at)
        line = text[at : end if end != -1 else len(text)]
        if at != start and not _in_key(line):
            return at - 1, False
        if at == start and not _in_key(line):
            return at + len(line), False
        if end == -1:
            break
        at = end + 1
    return len(text), True


def _in_key(line: str) -> bool:
    """Whether this can be a line of a key, perhaps with a logger's mark before it."""
    words = line.split()
    if len(words) <= 1 or words[0] in ("Proc-Type:", "DEK-Info:", "Comment:", "Version:"):
        return True
    return len(words) <= 4 and len(words[-1]) >= 16 and _BASE64.fullmatch(words[-1]) is not None


_BASE64 = re.compile(r"[A-Za-z0-9+/=\\]+")
