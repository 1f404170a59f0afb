"""`ncclinic knowledge check`: runs every example of the knowledge base and the rules that check rules.

A mistake is reported as `file: entry: what is wrong`. Also run by the tests, one test an entry.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from knowledge.compile import conditions, load_full
from knowledge.load import ROOT


def references(full: dict[str, dict[str, dict[str, Any]]]) -> Iterator[str]:
    """References between entries that lead nowhere."""
    causes, signatures, vocabulary = full["causes"], full["signatures"], full["vocabulary"]

    def leaves(condition: Any, where: str) -> Iterator[str]:
        for leaf in conditions(condition):
            hit = leaf.get("hit")
            for name in [hit] if isinstance(hit, str) else hit or []:
                known = any(s.startswith(name[:-1]) for s in signatures) if name.endswith("*") else name in signatures
                if not known:
                    yield f"{where}: no signature {name!r}"
            key = leaf.get("fact")
            if key and not known_key(key, vocabulary):
                yield f"{where}: the fact {key!r} is not in knowledge/vocabulary"

    for cause in causes.values():
        file = cause["_file"]
        for rule in cause["evidence"]:
            where = f"{file}: rule {rule['id']}"
            yield from leaves(rule["when"], where)
            yield from leaves(rule.get("unless"), where)
        ids = [rule["id"] for rule in cause["evidence"]]
        yield from (f"{file}: rule id {i!r} is used twice" for i in sorted({i for i in ids if ids.count(i) > 1}))
        for fix in cause["fixes"]:
            yield from leaves(fix.get("when"), f"{file}: fix {fix['id']}")
        for other in cause["steps_back_for"]:
            if other not in causes:
                yield f"{file}: steps_back_for: no cause {other!r}"
        for mistaken in cause["mistaken_for"]:
            if mistaken["cause"] not in causes:
                yield f"{file}: mistaken_for: no cause {mistaken['cause']!r}"
    for signature in signatures.values():
        for name in signature["causes"]:
            if name not in causes:
                yield f"{signature['_file']}: no cause {name!r}"


def full_base(root: Path = ROOT) -> tuple[dict[str, dict[str, dict[str, Any]]], list[str]]:
    problems: list[str] = []
    return load_full(root, problems), problems


def known_key(key: str, vocabulary: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether a fact of this key can be: it stands in the vocabulary, or follows from the comparison of one that does."""
    kind, _, of = key.partition(".")
    alike = {"odd": "equal", "outlier": "similar"}.get(kind)
    if alike and of != "env" and key not in vocabulary:
        return of in vocabulary and vocabulary[of].get("alike") == alike
    return key in vocabulary or kind == "env" or key == "odd.env"
