"""Loads the knowledge base: YAML files are checked against the schema and compiled into one plain structure.

Reading and checking a thousand files takes seconds, so the compiled form is kept in the user's cache folder and made anew
whenever a file's name, size or time of change differs. Nothing depends on the cache: without it only the start is slower.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from knowledge.words import WordModel

ROOT = Path(__file__).parent
FORMAT = 7
"""Raised whenever the compiled form changes."""


class KnowledgeError(Exception):
    """The knowledge base has mistakes; the message names file, line and what is wrong, one mistake a line."""


@dataclass
class Knowledge:
    """The compiled knowledge base: plain dictionaries, without the examples (those are for the tests)."""

    causes: dict[str, dict[str, Any]]
    signatures: dict[str, dict[str, Any]]
    questions: dict[str, dict[str, Any]]
    vocabulary: dict[str, dict[str, Any]]
    placeholders: dict[str, dict[str, Any]]
    tree: dict[str, Any]
    patterns: dict[str, str]
    """Pattern of every `log` or `text` condition in evidence rules and fixes, by the scanner's id (`log:` and a digest)."""
    said: dict[str, Any]
    """Every pattern of a `says` or `text` condition, with what a text must contain for it (`knowledge.needs`)."""
    fingerprint: str

    @cached_property
    def words(self) -> WordModel:
        """The word model of the tellings, opened when it is first needed."""
        from knowledge.words import WordModel

        return WordModel()


def pattern_id(pattern: str) -> str:
    """The scanner's id of a pattern written inside a condition."""
    return "log:" + hashlib.sha256(pattern.encode()).hexdigest()[:12]


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "ncclinic"


def _walk(folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        entries = sorted(os.scandir(folder), key=lambda e: e.name)
    except FileNotFoundError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(entry.path)
        elif entry.name.endswith(".yaml"):
            yield entry


def fingerprint(root: Path = ROOT) -> str:
    """Digest of the names, sizes and times of all data files."""
    digest = hashlib.sha256(f"{FORMAT} {sys.version_info[:2]}".encode())
    for source in (ROOT / "schema.py", ROOT / "load.py"):
        stat = source.stat()
        digest.update(f"{source.name} {stat.st_size} {stat.st_mtime_ns}".encode())
    for entry in _walk(str(root)):
        stat = entry.stat()
        digest.update(f"{entry.path} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:24]


def write_cache(name: str, content: bytes) -> None:
    """Writes a file of the cache whole or not at all; a folder that can't be written is no error."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as out:
            out.write(content)
        os.replace(out.name, folder / name)
        kind = name.split("-")[0]
        for old in sorted(folder.glob(f"{kind}-*"), key=lambda p: p.stat().st_mtime)[:-3]:
            old.unlink(missing_ok=True)
    except OSError:
        return


def read_cache(name: str) -> bytes | None:
    try:
        return (cache_folder() / name).read_bytes()
    except OSError:
        return None


@cache
def knowledge() -> Knowledge:
    """The knowledge base that ships with the program.

    With NCCLINIC_KNOWLEDGE=lenient in the environment files with mistakes are left out instead of refused."""
    mark = fingerprint()
    raw = read_cache(f"knowledge-{mark}.json")
    if raw is not None:
        try:
            return Knowledge(**json.loads(raw), fingerprint=mark)
        except (ValueError, TypeError):
            pass
    from knowledge.compile import compile_knowledge

    lenient = os.environ.get("NCCLINIC_KNOWLEDGE") == "lenient"
    plain = compile_knowledge(ROOT, lenient=lenient)
    if lenient:
        return Knowledge(**plain, fingerprint=mark)
    write_cache(f"knowledge-{mark}.json", json.dumps(plain).encode())
    return Knowledge(**plain, fingerprint=mark)
