"""What each name becomes: noted in the first pass, numbered in the order of the names, answered in the second."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from assistant.anonymize.addresses import Addresses
from assistant.anonymize.common import HOSTS, NAMESPACES, PRODUCTS, USERS, is_own, is_plain, is_word

_ROLE = re.compile(
    r"(?P<job>[a-z0-9][\w.-]*?)-(?P<role>worker|launcher|master|chief|ps|driver|head|server|client)(?P<number>-\d+)?(?:-[a-z0-9]{5})?"
)
_AWS = re.compile(r"ip-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}")
_ADDRESS = re.compile(r"(?:\d{1,3}\.){3}\d{1,3}|\[?[0-9a-fA-F:]*::?[0-9a-fA-F:]*\]?")
_OWN_NUMBER = re.compile(
    r"(?<![A-Za-z0-9])(host|user|group|account|job|namespace|domain|bucket|project|dir|org|resource)-(\d{1,6})(?![A-Za-z0-9])"
)
#: Kinds whose names are often words: without a digit or a hyphen only the places where they were found are replaced.
_OFTEN_WORDS = frozenset(("dir", "job", "account", "namespace", "group", "project", "bucket"))
#: Kinds of which only the places where they were found are replaced.
_IN_PLACE = frozenset(("org", "resource"))
#: Kinds of which upper and lower case are the same name.
_FOLDED = frozenset(("host", "user", "domain"))
_STEM = re.compile(r"([A-Za-z][\w-]*?)\d{1,6}")
_VARIABLE = re.compile(r"[A-Z0-9]+_[A-Z0-9_]+")
SHORTEST = 3
"""Letters of a name without digits that is replaced wherever it stands."""


class Pseudonyms:
    """`learning` until `settle`; from then on `name` answers with pseudonyms."""

    def __init__(self, *, keep_hosts: bool = False) -> None:
        self.learning = True
        self.keep_hosts = keep_hosts
        self.addresses = Addresses()
        self._found: dict[str, set[str]] = {}
        self._known: dict[str, dict[str, str]] = {}
        self._own: dict[str, set[int]] = {}
        self._last: dict[str, int] = {}
        self._pattern: re.Pattern[str] | None = None
        self._everywhere: dict[str, str] = {}
        self._pods: set[str] = set()
        self._folded: dict[tuple[str, str], str] = {}
        self._stems: set[str] = set()
        self._width = 3

    def name(self, kind: str, value: str) -> str:
        """Notes a name of this kind (then the value itself comes back), or the pseudonym."""
        if not value or is_own(value) or "[redacted" in value or _harmless(kind, value):
            return value
        if kind == "host":
            return self._host(value)
        return self._plain(kind, value)

    def _plain(self, kind: str, value: str) -> str:
        if self.learning:
            self._found.setdefault(kind, set()).add(value)
            return value
        known = self._known.setdefault(kind, {})
        if value not in known:
            known[value] = self._given(kind, value)
        return known[value]

    def _given(self, kind: str, value: str) -> str:
        """A new pseudonym, or that of the same name in other letters."""
        if kind not in _FOLDED:
            return self._next(kind)
        key = kind, value.lower()
        if key not in self._folded:
            self._folded[key] = self._next(kind)
        return self._folded[key]

    def _host(self, value: str) -> str:
        if self.keep_hosts or HOSTS.fullmatch(value) or _AWS.match(value) or _ADDRESS.fullmatch(value):
            return value
        first, dot, rest = value.partition(".")
        if dot:
            domain = self._domain(rest)
            return f"{self.name('host', first)}.{domain}"
        role = _ROLE.fullmatch(first)
        if role is not None:
            job = role["job"]
            if is_own(job):
                return first
            replaced = self._plain("job", job)
            if self.learning:
                self._pods.add(first)
            return first if self.learning else f"{replaced}-{role['role']}{role['number'] or ''}"
        return self._plain("host", first)

    def _domain(self, value: str) -> str:
        from assistant.anonymize.common import DOMAINS

        if DOMAINS.fullmatch(value) or value.endswith(".example") or not any(c.isalpha() for c in value):
            return value
        if value in (
            "svc",
            "local",
            "internal",
            "lan",
            "cluster",
            "hpc",
            "intra",
            "private",
            "corp",
            "localdomain",
            "cm",
        ):
            return value
        return self.name("domain", value)

    def knows_host(self, name: str) -> bool:
        return name in self._known.get("host", {}) or name in self._pods

    def knows_stem(self, stem: str) -> bool:
        """Whether known hosts are called like this with a number after it."""
        return stem.lower() in self._stems

    def note_own(self, text: str) -> None:
        """Numbers that pseudonyms of an earlier run have are not given again."""
        for found in _OWN_NUMBER.finditer(text):
            self._own.setdefault(found[1], set()).add(int(found[2]))

    def _next(self, kind: str) -> str:
        number = self._last.get(kind, 0) + 1
        while number in self._own.get(kind, ()):
            number += 1
        self._last[kind] = number
        if kind == "host":
            return f"host-{number:0{self._width}d}"
        return f"domain-{number}.example" if kind == "domain" else f"{kind}-{number}"

    def settle(self) -> None:
        """Ends learning: numbers the names, in their natural order."""
        self.learning = False
        self.addresses.settle()
        self._width = max(3, len(str(len(self._found.get("host", ())) + len(self._own.get("host", ())))))
        for kind, names in sorted(self._found.items()):
            self._known[kind] = {name: self._given(kind, name) for name in sorted(names, key=_natural)}
        for kind, known in self._known.items():
            if kind not in _IN_PLACE:
                self._everywhere.update((n, p) for n, p in known.items() if _unmistakable(n, kind))
        self._everywhere.update((pod, self._host(pod)) for pod in sorted(self._pods))
        for name, pseudonym in list(self._everywhere.items()):
            for form in (name.lower(), name.upper(), name.capitalize()):
                self._everywhere.setdefault(form, pseudonym)
        if self._everywhere:
            # What stands before a name is looked at afterwards: a pattern that begins with letters is found far faster.
            pattern = rf"(?:{trie(list(self._everywhere))})(?![A-Za-z0-9])"
            self._stems = {stem.lower() for stem in map(_stem, self._known.get("host", ())) if stem}
            if self._stems and not self.keep_hosts:
                forms = {form for stem in self._stems for form in (stem, stem.upper(), stem.capitalize())}
                pattern += rf"|(?:{trie(sorted(forms))})\d{{1,6}}(?![A-Za-z0-9])"
            self._pattern = re.compile(pattern)

    def everywhere(self, text: str) -> str:
        """Replaces the names that can be nothing else, wherever they stand."""
        if self._pattern is None:
            return text
        return self._pattern.sub(self._replaced, text)

    def _replaced(self, found: re.Match[str]) -> str:
        start = found.start()
        before = found.string[max(0, start - 2) : start]
        inside = before[-1:].isalnum() and before[-1:].isascii() and before not in ("\\n", "\\r", "\\t")
        if inside:
            return found[0]
        name = found[0]
        new = self._everywhere.get(name)
        if new is None:
            return self.name("host", name)
        variable = _VARIABLE.fullmatch(name) and found.string[found.end() : found.end() + 1] == "="
        return name if variable and not any(name in known for known in self._known.values()) else new

    def table(self) -> dict[str, dict[str, str]]:
        """What became what, by kind."""
        out: dict[str, dict[str, str]] = {kind: dict(known) for kind, known in sorted(self._known.items()) if known}
        out.update(self.addresses.table())
        return out


def _harmless(kind: str, value: str) -> bool:
    if kind in ("user", "group"):
        return value.lower() in USERS or value.isdigit()
    if kind == "namespace":
        return value in NAMESPACES
    return (kind != "account" and value.isdigit()) or value[0] in "$%{<"


def _stem(host: str) -> str:
    """What stands before the number of a host, if that is a name of its own."""
    found = _STEM.fullmatch(host)
    stem = found[1] if found else ""
    bare = stem.strip("-_")
    return "" if len(bare) < 3 or is_plain(bare) or PRODUCTS.fullmatch(bare) else stem


def _unmistakable(name: str, kind: str) -> bool:
    if kind in _OFTEN_WORDS and name.isalpha():
        return False
    if (any(c.isdigit() for c in name) and len(name) >= 3) or (any(c in "-_" for c in name) and len(name) > 4):
        return not name.isdigit() or len(name) >= 10
    return len(name) > SHORTEST and not is_word(name) and not name.isdigit()


_PIECES = re.compile(r"\d+|\D+")


def _natural(name: str) -> list[tuple[int, int, str]]:
    """`gpu2` before `gpu10`."""
    return [(0, int(p), p) if p.isdigit() else (1, 0, p) for p in _PIECES.findall(name)] + [(2, 0, name)]


def trie(names: list[str]) -> str:
    """A pattern for any of these names, the longest first, that does not get slower with their number."""
    root: dict[str, Any] = {}
    for name in names:
        node = root
        for char in name:
            node = node.setdefault(char, {})
        node[""] = {}
    return _pattern_of(root)


def _pattern_of(node: dict[str, Any]) -> str:
    # Chains of single characters are followed in a loop: names may be long.
    build: Callable[[dict[str, Any]], str] = _pattern_of
    prefix = ""
    while len(node) == 1 and "" not in node:
        ((char, node),) = node.items()
        prefix += re.escape(char)
    ends = "" in node
    options = [re.escape(c) + build(n) for c, n in sorted(node.items()) if c]
    if not options:
        return prefix
    body = f"(?:{'|'.join(options)})" if len(options) > 1 or ends else options[0]
    return f"{prefix}{body}{'?' if ends else ''}"
