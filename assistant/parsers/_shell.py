"""Shell text without a shell: logical lines, words, options and simple variables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from assistant.intake.document import Document
from assistant.parsers._lines import lines_with


@dataclass(slots=True)
class Logical:
    """Lines joined over a backslash at the end; `index` is that of the first one, `last` that of the last one."""

    index: int
    text: str
    last: int = -1

    def __post_init__(self) -> None:
        self.last = max(self.last, self.index)


def logical_lines(document: Document, needed: tuple[str, ...] = ()) -> Iterator[Logical]:
    """Lines of the document with continuations joined, comments of scripts left out; with `needed`, those that hold
    one of these words only."""
    start = 0
    parts: list[str] = []
    wanted = set(lines_with(document, (*needed, "\\\n", "\\ \n"))) if needed else ()
    for index, line in enumerate(document.messages):
        if not parts:
            start = index
            if needed and index not in wanted:
                continue
        stripped = line.rstrip()
        if stripped.endswith("\\") and len(parts) < 200:
            parts.append(stripped[:-1])
            continue
        parts.append(stripped)
        text = " ".join(p.strip() for p in parts) if len(parts) > 1 else parts[0]
        parts = []
        if text.lstrip()[:1] != "#" or text.lstrip().startswith("#SBATCH"):
            yield Logical(start, text, index)
    if parts:
        yield Logical(start, " ".join(p.strip() for p in parts), len(document.messages) - 1)


@cache
def _word() -> re.Pattern[str]:
    return re.compile(r"""(?:[^\s"']|"[^"]*"|'[^']*')+""")


def words(text: str) -> list[str]:
    """The words of a command line, quotes taken off; an unclosed quote is no error."""
    text = _substitution().sub(lambda m: re.sub(r"\s+", "", m[0]), text)
    return [w.replace('"', "").replace("'", "") for w in _word().findall(text)]


@cache
def _substitution() -> re.Pattern[str]:
    return re.compile(r"\$\(\(?[^()]*\)?\)")


@dataclass(slots=True)
class Options:
    """Options of a command by name (dashes as underscores), and what is left."""

    named: dict[str, list[str]] = field(default_factory=dict)
    rest: list[str] = field(default_factory=list)

    def first(self, *names: str) -> str | None:
        for name in names:
            if self.named.get(name):
                return self.named[name][-1]
        return None

    def __contains__(self, name: str) -> bool:
        return name in self.named


_FLAG_WORDS = (
    "standalone no_python use_env m module multi_gpu use_fsdp use_deepspeed no_local_rank include_stderr exclusive it d rm i t "
    "privileged verbose v l label u allow_run_as_root bind_to_none no_ssh force_multi tag_output oversubscribe kill_on_bad_exit unbuffered"
)
_FLAGS = frozenset(_FLAG_WORDS.split())
_END = frozenset((";", "&&", "||", "|", "&", ">", ">>", "2>&1", "&>", "2>"))


def options(tokens: list[str]) -> Options:
    """Options up to the first word that is neither an option nor its value; that word and the others are the rest."""
    found = Options()
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token in _END:
            break
        if not token.startswith("-") or token == "-":
            found.rest = tokens[position:]
            break
        name, equals, value = token.lstrip("-").partition("=")
        name = name.replace("-", "_")
        position += 1
        if not equals and name not in _FLAGS and position < len(tokens) and not _is_option(tokens[position]):
            value = tokens[position]
            position += 1
        found.named.setdefault(name, []).append(value.rstrip(";"))
    return found


def _is_option(token: str) -> bool:
    return token in _END or (token.startswith("-") and len(token) > 1 and not token[1].isdecimal())


@cache
def _assignment() -> re.Pattern[str]:
    return re.compile(
        r"""^\s*(?:export\s+|declare\s+-x\s+|readonly\s+)?([A-Za-z_]\w*)=("[^"$`]*"|'[^']*'|[^\s;"'$`(]+)\s*(?:;|#|$|&&)"""
    )


def variables(document: Document) -> dict[str, str]:
    """Variables that a script sets to plain values; the first setting counts, as a script sets before it uses."""
    found: dict[str, str] = {}
    for line in document.messages:
        matched = _assignment().match(line) if "=" in line else None
        if matched:
            found.setdefault(matched[1], matched[2].strip("\"'"))
    return found


@cache
def _variable() -> re.Pattern[str]:
    return re.compile(r"\$\{?([A-Za-z_]\w*)(?::?-([^}]*))?\}?")


def resolve(value: str, known: dict[str, str]) -> str:
    """`value` with known variables filled in; what is not known stays as it is written."""
    for _ in range(3):
        if "$" not in value:
            break
        value = _variable().sub(lambda m: known.get(m[1], m[2] if m[2] is not None else m[0]), value)
    return value


def integer(value: str | None) -> int | None:
    if value is None or not value.isascii() or not value.isdecimal() or len(value) > 7:
        return None
    return int(value)
