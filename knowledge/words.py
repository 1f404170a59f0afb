"""The word model: how people's words point to causes, learned from `knowledge/tellings` and the rules' own examples.

A linear model (logistic regression over tf-idf weights of words and pairs of words): every weight can be read in `words.tsv`, one
term a line, sorted, with its idf and its weights by cause. `ncclinic knowledge learn` makes the file anew after tellings have
changed; a test says when it is out of date. Looking up a term is a binary search in the mapped file; nothing is loaded.
"""

from __future__ import annotations

import hashlib
import math
import mmap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from knowledge.load import ROOT
from knowledge.wordlist import terms

FILE = ROOT / "words.tsv"
SCALE = 100
"""Weights are stored as whole hundredths."""

LEAST = 0.12
"""Smaller weights are left out."""


def training_texts(full: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str]]:
    """(cause, text) of everything the model learns from, in a fixed order."""
    out: list[tuple[str, str]] = []
    for name, entry in sorted(full["tellings"].items()):
        out += [(name, text) for text in entry["tellings"]]
    for name, cause in sorted(full["causes"].items()):
        out += [(name, cause["shows"]), (name, cause["title"])]
        for rule in cause["evidence"]:
            if "against" not in rule["strength"] and rule["strength"] != "rules-out":
                out += [(name, e["say"]) for e in rule["examples"]["hit"] if e.get("say")]
    return out


def digest(texts: Iterable[tuple[str, str]]) -> str:
    """Changes when the tellings or examples change."""
    return hashlib.sha256("\0".join(f"{c}\1{t}" for c, t in texts).encode()).hexdigest()[:16]


def learn(texts: list[tuple[str, str]], out: Path = FILE) -> None:
    """Trains the model and writes it. Needs scikit-learn (extra `words`)."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    vectorizer = TfidfVectorizer(analyzer=terms, sublinear_tf=True)
    matrix = vectorizer.fit_transform([t for _, t in texts])
    model = LogisticRegression(C=8.0, max_iter=500, class_weight="balanced")
    model.fit(matrix, [c for c, _ in texts])
    causes = [str(c) for c in model.classes_]
    rows = []
    for term, column in sorted(vectorizer.vocabulary_.items(), key=lambda item: item[0].encode()):
        weights = [
            (number, round(float(w) * SCALE)) for number, w in enumerate(model.coef_[:, column]) if abs(w) >= LEAST
        ]
        if weights:
            idf = round(float(vectorizer.idf_[column]) * SCALE)
            rows.append(f"{term}\t{idf}\t{' '.join(f'{n}:{w}' for n, w in weights)}\n")
    intercepts = " ".join(str(round(float(b) * SCALE)) for b in model.intercept_)
    head = f"#digest\t{digest(texts)}\n#causes\t{' '.join(causes)}\n#intercepts\t{intercepts}\n"
    out.write_text(head + "".join(rows), encoding="utf-8")


class WordModel:
    """The model as it lies on disk."""

    def __init__(self, path: Path = FILE) -> None:
        self.causes: list[str] = []
        self.intercepts: list[float] = []
        self.digest = ""
        self._map: mmap.mmap | None = None
        try:
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError):
            return
        for _ in range(3):
            name, _, value = self._map.readline().decode().rstrip("\n").partition("\t")
            if name == "#digest":
                self.digest = value
            elif name == "#causes":
                self.causes = value.split()
            elif name == "#intercepts":
                self.intercepts = [int(x) / SCALE for x in value.split()]
        self._first = self._map.tell()

    def row(self, term: str) -> tuple[float, list[tuple[int, float]]] | None:
        """(idf, [(cause number, weight)]) of a term, or None where it is not known."""
        if self._map is None:
            return None
        wanted = term.encode()
        low, high = self._first, len(self._map)
        while low < high:
            start = max(self._map.rfind(b"\n", 0, (low + high) // 2) + 1, self._first)
            end = self._map.find(b"\n", start)
            line = self._map[start : end if end != -1 else len(self._map)]
            found, _, rest = line.partition(b"\t")
            if found == wanted:
                idf, _, pairs = rest.partition(b"\t")
                weights = [pair.split(b":") for pair in pairs.split()]
                return int(idf) / SCALE, [(int(n), int(w) / SCALE) for n, w in weights]
            if found < wanted:
                low = start + len(line) + 1
            else:
                high = start
        return None

    def log_shares(self, texts: Iterable[str]) -> tuple[dict[str, float], dict[str, list[tuple[float, str]]]]:
        """Log of each cause's share, and the terms that speak for it with their part; empty where no term is known."""
        counts: dict[str, int] = {}
        for text in texts:
            for term in terms(text):
                counts[term] = counts.get(term, 0) + 1
        rows = [(term, count, row) for term, count in sorted(counts.items()) if (row := self.row(term)) is not None]
        if not rows:
            return {}, {}
        values = [(1 + math.log(count)) * row[0] for _, count, row in rows]
        length = math.sqrt(sum(v * v for v in values))
        scores = list(self.intercepts)
        parts: dict[str, list[tuple[float, str]]] = {}
        for (term, _, (_, weights)), value in zip(rows, values, strict=True):
            for number, weight in weights:
                part = weight * value / length
                scores[number] += part
                if part > 0:
                    parts.setdefault(self.causes[number], []).append((part, term))
        top = max(scores)
        total = top + math.log(sum(math.exp(s - top) for s in scores))
        return {cause: score - total for cause, score in zip(self.causes, scores, strict=True)}, parts
