"""Evaluates the conditions of the knowledge base against a case file.

A condition either fails, or holds with its *support*: the origins (file, line, host, rank, quote) and named values that
made it hold. Support is what a user sees as evidence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from assistant.facts import RELIABILITY, CaseFile, Fact, Hit, Origin, Value
from assistant.understand.dismissed import dismissed_spans, guess_spans
from assistant.understand.text import negated
from knowledge.load import pattern_id


@dataclass(slots=True)
class Support:
    """What made a condition hold."""

    origins: list[Origin] = field(default_factory=list)
    fields: dict[str, str] = field(default_factory=dict)
    subjects: list[tuple[str, str]] = field(default_factory=list)
    """(kind, name) of the subjects concerned, for the place of the cause."""

    def merged(self, other: Support) -> Support:
        return Support(self.origins + other.origins, {**self.fields, **other.fields}, self.subjects + other.subjects)


@lru_cache(maxsize=8192)
def _says(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def holds(condition: dict[str, Any], case: CaseFile, *, asked: bool = False) -> Support | None:
    """The support with which the condition holds, or None where it does not. `asked`: a guess put as a question counts too."""
    if "all" in condition:
        support = Support()
        for child in condition["all"]:
            found = holds(child, case, asked=asked)
            if found is None:
                return None
            support = support.merged(found)
        return support
    if "any" in condition:
        found_any: Support | None = None
        for child in condition["any"]:
            found = holds(child, case, asked=asked)
            if found is not None:
                found_any = found if found_any is None else found_any.merged(found)
        return found_any
    if "not" in condition:
        return Support() if holds(condition["not"], case, asked=asked) is None else None
    if "symptom" in condition:
        return _symptom(condition["symptom"], case)
    if "hit" in condition:
        return _hits(condition, case)
    if "log" in condition:
        return _log(condition, condition["log"], case)
    if "says" in condition:
        return _said(condition["says"], case, asked)
    if "text" in condition:
        in_log, said = _log(condition, condition["text"], case), _said(condition["text"], case, asked)
        if in_log and said:
            return in_log.merged(said)
        return in_log or said
    return _fact(condition, case)


def _symptom(wanted: str | list[str], case: CaseFile) -> Support | None:
    fact = case.best("symptom")
    names = [wanted] if isinstance(wanted, str) else wanted
    return Support() if fact is not None and fact.value in names else None


#: Named groups of a pattern that tell whom a line is about, other than the one who wrote it.
_NAMED = {"host": "host", "node": "host", "rank": "rank"}


#: Places that are named one by one; a message that more of them have is everywhere.
PLACES = 64


def _hit_support(hits: Iterable[Hit]) -> Support:
    support = Support()
    for hit in hits:
        support.origins += hit.samples[:8]
        if hit.fields:
            support.fields = {**hit.fields[0], **support.fields}
        kinds: set[str] = set()
        for fields in hit.fields:
            named = [(kind, fields[group]) for group, kind in _NAMED.items() if fields.get(group)]
            kinds.update(kind for kind, _ in named)
            support.subjects += [(kind, name) for kind, name in named if kind != "rank" or name.isdecimal()]
        if "rank" not in kinds and len(hit.ranks) <= PLACES:
            support.subjects += [("rank", str(rank)) for rank in sorted(hit.ranks)]
        if "host" not in kinds and len(hit.hosts) <= PLACES:
            support.subjects += [("host", host) for host in sorted(hit.hosts)]
    return support


def _hits(condition: dict[str, Any], case: CaseFile) -> Support | None:
    wanted = condition["hit"]
    found: list[Hit] = []
    for name in [wanted] if isinstance(wanted, str) else wanted:
        if name.endswith("*"):
            found += [hit for key, hit in case.hits.items() if key.startswith(name[:-1])]
        elif name in case.hits:
            found.append(case.hits[name])
    if sum(hit.count for hit in found) < (condition.get("min_count") or 1):
        return None
    return _hit_support(found)


def _log(condition: dict[str, Any], pattern: str, case: CaseFile) -> Support | None:
    hit = case.hits.get(pattern_id(pattern))
    if hit is None or hit.count < (condition.get("min_count") or 1):
        return None
    return _hit_support([hit])


#: A match of more characters is a statement with its own "not", and not the name of a thing that is denied.
_NAME = 40


def _tells(sentence: str, start: int, end: int) -> bool:
    """Whether words tell of what they name: not where they only ask for it, put it aside or deny it."""
    aside = guess_spans(sentence) + dismissed_spans(sentence)
    if any(a <= start and end <= b for a, b in aside):
        return False
    return end - start >= _NAME or not negated(sentence, start)


def _said(pattern: str, case: CaseFile, asked: bool) -> Support | None:
    if not case.says or (case.candidates is not None and pattern not in case.candidates):
        return None
    regex = _says(pattern)
    for sentence in case.says:
        found = next((m for m in regex.finditer(sentence) if asked or _tells(sentence, *m.span())), None)
        if found:
            return Support(
                [Origin("say", quote=_around(sentence, found.start(), found.end()))],
                {k: v for k, v in found.groupdict().items() if v is not None},
            )
    return None


def _around(sentence: str, start: int, end: int) -> str:
    """The sentence of the user in which the match stands, on one line."""
    left = max(sentence.rfind(". ", 0, start) + 2, 0) if ". " in sentence[:start] else 0
    right = sentence.find(". ", end)
    return " ".join(sentence[left : right + 1 if right != -1 else None].split())[:240]


def _number(value: Value) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except ValueError:
        return None


def version_key(text: str) -> tuple[int, ...]:
    """The numbers of a version, for comparing: 2.18.5 -> (2, 18, 5)."""
    return tuple(int(n) for n in re.findall(r"\d+", text)[:4])


def _order(value: Value, bound: Value) -> int | None:
    """-1, 0, 1 as value is below, equal to or above the bound; None where they can't be compared.

    A bound given as a text is a version and is compared number by number."""
    if isinstance(bound, str):
        a, b = version_key(str(value)), version_key(bound)
        return None if not a else (a > b) - (a < b)
    number = _number(value)
    return None if number is None else (number > bound) - (number < bound)


def _same(value: Value, wanted: Value) -> bool:
    if isinstance(wanted, bool) or isinstance(value, bool):
        return value is wanted
    if isinstance(wanted, int | float) and not isinstance(value, int | float):
        return _number(value) == wanted
    if isinstance(wanted, str):
        return str(value).casefold() == wanted.casefold()
    return value == wanted


_TESTS: dict[str, Callable[[Value, Any], bool]] = {
    "is": _same,
    "ne": lambda v, w: not _same(v, w),
    "in": lambda v, w: any(_same(v, x) for x in w),
    "gt": lambda v, w: _order(v, w) == 1,
    "ge": lambda v, w: _order(v, w) in (0, 1),
    "lt": lambda v, w: _order(v, w) == -1,
    "le": lambda v, w: _order(v, w) in (-1, 0),
    "matches": lambda v, w: _says(w).search(str(v)) is not None,
}


def _outranked(fact: Fact, others: list[Fact]) -> bool:
    """A fact about the job that a more reliable source contradicts."""
    if fact.subject.kind != "job":
        return False
    level = RELIABILITY.index(fact.origin.kind)
    return any(
        o.subject.kind == "job" and RELIABILITY.index(o.origin.kind) > level and o.value != fact.value for o in others
    )


def _fact(condition: dict[str, Any], case: CaseFile) -> Support | None:
    key = condition["fact"]
    facts = case.about(key)
    if not facts:
        return None
    if "differs" in condition:
        values = {f.value for f in facts}
        subjects = {f.subject for f in facts}
        if condition["differs"]:
            return _fact_support(_odd_ones(facts)) if len(values) > 1 else None
        return _fact_support(facts) if len(values) == 1 and len(subjects) > 1 else None
    tests = [(name, condition[name]) for name in _TESTS if name in condition]
    good = [f for f in facts if all(_TESTS[n](f.value, w) for n, w in tests) and not _outranked(f, facts)]
    return _fact_support(good) if good else None


def _odd_ones(facts: list[Fact]) -> list[Fact]:
    """The facts whose value is rarer than the commonest one."""
    counts: dict[Value, int] = {}
    for fact in facts:
        counts[fact.value] = counts.get(fact.value, 0) + 1
    common = max(counts.values())
    odd = [f for f in facts if counts[f.value] < common]
    return odd or facts


#: Facts about the whole job whose value names ranks or hosts.
_ABOUT_RANKS = frozenset(
    (
        "watchdog.silent_ranks",
        "first_failure.rank",
        "torchrun.root_rank",
        "nccl.init_missing_ranks",
        "fr.guilty_ranks",
        "fr.missing_ranks",
    )
)
_ABOUT_HOSTS = frozenset(("first_failure.host", "slurm.lost_node", "suspect_host"))


def _fact_support(facts: list[Fact]) -> Support:
    support = Support()
    for fact in facts[:64]:
        if len(support.origins) < 8:
            support.origins.append(fact.origin)
        if fact.subject.kind != "job":
            support.subjects.append((fact.subject.kind, fact.subject.name))
            if fact.subject.kind == "rank" and fact.origin.host is not None:
                support.subjects.append(("host", fact.origin.host))
        elif fact.key in _ABOUT_RANKS:
            support.subjects += [("rank", n) for n in re.findall(r"\d+", str(fact.value))[:64]]
        elif fact.key in _ABOUT_HOSTS and isinstance(fact.value, str):
            support.subjects += [("host", n) for n in re.split(r"[,\s]+", fact.value)[:64] if n]
        elif fact.origin.host is not None and fact.origin.kind in ("log", "tool", "probe"):
            support.subjects.append(("host", fact.origin.host))
    support.fields.setdefault("value", str(facts[0].value))
    support.fields.setdefault(facts[0].key.replace(".", "_"), str(facts[0].value))
    support.fields.setdefault("subject", facts[0].subject.name)
    origin = facts[0].origin
    if origin.rank is not None:
        support.fields.setdefault("rank", str(origin.rank))
    if origin.host:
        support.fields.setdefault("host", origin.host)
    return support
