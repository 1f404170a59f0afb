"""Messages of any length: work is counted, not time."""

from __future__ import annotations

import pytest

from assistant.conversation import Conversation, session
from assistant.conversation.paste import SAID, split_pasted
from assistant.facts import Fact
from assistant.understand import read_sentence
from assistant.understand.text import clause_at, clauses
from knowledge.load import Knowledge

STORY = "Our training on 4 nodes of 8 H100 hangs in the all-reduce after 200 steps and nobody knows why. "


def test_what_is_too_long_for_sentences_is_read_as_a_text() -> None:
    prose, pasted = split_pasted(STORY * 1000)
    assert SAID // 2 < len(prose) <= SAID
    assert prose.endswith("why.")
    assert [a.name for a in pasted] == ["pasted text 1"]
    assert len(prose) + len(pasted[0].text.strip()) >= len(STORY) * 1000 - 2
    assert pasted[0].notes[0].startswith("the message after its first ")


def test_a_short_message_stays_whole() -> None:
    assert split_pasted(STORY) == (STORY.strip(), [])


def test_a_word_without_end_is_cut_somewhere() -> None:
    prose, pasted = split_pasted("x" * 3 * SAID)
    assert (len(prose), len(pasted[0].text)) == (SAID, 2 * SAID)


def test_a_log_beside_a_long_story_keeps_its_own_name() -> None:
    log = "\n".join(f"n1:1:2 [0] NCCL INFO Channel {n:02d}/0 : 0[0] -> 1[1] via P2P/IPC" for n in range(4))
    _, pasted = split_pasted(f"{STORY * 300}\n{log}\n")
    assert [a.name for a in pasted] == ["pasted text 1", "pasted text 2"]
    assert pasted[0].text == log


@pytest.mark.parametrize("size", [64, 1024])
def test_a_turn_reads_no_more_sentences_of_a_longer_message(
    kb: Knowledge, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    read: list[int] = []

    def counted(text: str) -> list[Fact]:
        read.append(len(text))
        return read_sentence(text)

    session._read.cache_clear()
    monkeypatch.setattr(session, "read_sentence", counted)
    talk = Conversation(kb)
    talk.turn(STORY * (size * 1024 // len(STORY)))
    assert read and max(read) <= SAID and len(read) <= 2
    assert all(len(sentence) <= SAID for sentence in talk.session.case(kb).says)


def test_a_text_is_cut_into_clauses_once() -> None:
    text = "it is slow. it was fast before.\n" * 400
    clauses.cache_clear()
    found = {clause_at(text, position) for position in range(0, len(text), 7)}
    assert found == {"it is slow.", "it was fast before."}
    assert clauses.cache_info().misses == 1
