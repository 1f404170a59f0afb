"""The word model: in step with the tellings, and a lookup that finds what stands in the file."""

from __future__ import annotations

from pathlib import Path

from assistant.diagnosis.wording import HIGHEST, LOWEST, wording
from knowledge.check import full_base
from knowledge.words import FILE, WordModel, digest, training_texts


def test_the_model_was_learned_from_the_tellings_that_are_here() -> None:
    full, _ = full_base()
    assert WordModel().digest == digest(training_texts(full)), "run `ncclinic knowledge learn`"


def test_every_cause_has_tellings() -> None:
    full, _ = full_base()
    assert {name for name in full["causes"] if len(full["tellings"].get(name, {}).get("tellings", ())) < 40} == set()


def test_terms_are_found_by_search(tmp_path: Path) -> None:
    model = WordModel()
    lines = FILE.read_text(encoding="utf-8").splitlines()
    for line in (lines[3], lines[4], lines[len(lines) // 2], lines[-1]):
        term, idf, pairs = line.split("\t")
        found = model.row(term)
        assert found is not None
        assert found[0] == int(idf) / 100
        assert len(found[1]) == len(pairs.split())
    assert model.row("zzzz_no_such_term") is None
    assert model.row("") is None
    assert WordModel(tmp_path / "missing.tsv").row("gpu") is None


def test_words_point_to_a_cause_and_stay_a_hint() -> None:
    hints = wording(
        ["after the epoch one rank has fewer batches left than the others, so they wait for it forever"], WordModel()
    )
    best = max(hints, key=lambda cause: hints[cause].points)
    assert best == "work.uneven-inputs"
    assert all(LOWEST <= hint.points <= HIGHEST for hint in hints.values())
    assert any("batch" in word for word in hints[best].words)


def test_too_few_words_tell_nothing() -> None:
    assert wording(["it is slow"], WordModel()) == {}
