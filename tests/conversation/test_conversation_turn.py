"""Whole conversations: what is understood, asked back, corrected, taken back and told."""

from __future__ import annotations

import pytest

from assistant.conversation import Answered, Attached, Conversation, Session
from knowledge.load import Knowledge

SHM = (
    "n1:201:230 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\n"
    "n1:201:230 [0] include/shm.h:28 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-k2x9 (size 9637888)\n"
)
SLOW = "2 nodes of 8 A100, HDR InfiniBand, training is 4x slower than on one node, GPUs look idle"


@pytest.fixture
def talk(kb: Knowledge) -> Conversation:
    return Conversation(kb)


def test_a_log_gives_cause_place_line_and_fix(talk: Conversation) -> None:
    reply = talk.turn("the job dies at start", [Attached("train.log", SHM)])
    text = reply.text()
    assert reply.diagnosis.findings[0].id == "nccl.shm-too-small"
    assert "Error while creating shared memory segment /dev/shm/nccl-k2x9" in text
    assert "train.log:2" in text
    assert "n1" in text
    assert "--shm-size" in text
    assert "%" in text
    assert reply.done


def test_facts_are_taken_and_a_question_with_choices_follows(talk: Conversation) -> None:
    reply = talk.turn(SLOW)
    text = reply.text(300)
    assert "Understood:" in text
    for words in ("2 nodes", "8 GPUs per node", "A100", "infiniband", "GPUs idle"):
        assert words in text
    if not reply.done:
        assert reply.question is not None
        assert "0) I" in text


def test_why_do_you_ask(talk: Conversation) -> None:
    first = talk.turn("it hangs")
    assert first.question is not None
    reply = talk.turn("why do you ask?")
    assert first.question.why.split(".")[0] in reply.text(2000)
    assert reply.question is not None
    assert reply.question.id == first.question.id


def test_dont_know_is_an_answer_and_another_way_is_offered(talk: Conversation) -> None:
    first = talk.turn("it hangs")
    assert first.question is not None
    reply = talk.turn("dunno")
    assert first.question.how[:40] in reply.text(2000)
    assert reply.question is None or reply.question.id != first.question.id


def test_three_times_unknown_ends_the_questions(talk: Conversation) -> None:
    reply = talk.turn("it hangs")
    for _ in range(3):
        if not reply.done:
            reply = talk.turn("I don't know")
    assert reply.done


def test_a_correction_replaces_what_was_said(talk: Conversation, kb: Knowledge) -> None:
    talk.turn(SLOW)
    talk.turn("actually it's RoCE")
    case = talk.session.case(kb)
    assert [f.value for f in case.about("network_kind")] == ["roce"]
    assert case.value("nodes") == 2


def test_a_correction_replaces_an_answer(kb: Knowledge) -> None:
    session = Session()
    session.add(Answered("network-kind", "network_kind", "infiniband", "infiniband"))
    talk = Conversation(kb, session)
    talk.turn("no, actually it is plain 10 GbE")
    assert talk.session.case(kb).value("network_kind") == "ethernet"


def test_undo_takes_back_the_last_message_and_replay_gives_the_same(talk: Conversation, kb: Knowledge) -> None:
    before = talk.turn(SLOW).diagnosis
    talk.turn("actually it's RoCE")
    undone = talk.turn("undo")
    assert "Taken back" in undone.text(300)
    assert talk.session.case(kb).value("network_kind") == "infiniband"
    assert [(f.id, f.probability) for f in undone.diagnosis.findings] == [
        (f.id, f.probability) for f in before.findings
    ]
    replayed = Conversation(kb, Session(list(talk.session.events)))
    assert replayed.turn("/facts").text() == talk.turn("/facts").text()


def test_undo_of_an_answer_puts_the_question_again(talk: Conversation) -> None:
    first = talk.turn("it hangs")
    talk.turn("1")
    again = talk.turn("/undo")
    assert first.question is not None
    assert again.question is not None
    assert again.question.id == first.question.id


def test_undo_of_an_attachment_that_was_asked_for(talk: Conversation, kb: Knowledge) -> None:
    talk.turn("it hangs")
    talk.session.add(Answered("show-dmesg", "shown.dmesg", None, "x"))
    talk.turn("", [Attached("train.log", SHM)])
    talk.turn("undo")
    assert talk.session.case(kb).inputs == []


def test_nothing_to_undo(talk: Conversation) -> None:
    assert "nothing to take back" in talk.turn("undo").text()


def test_why_shows_evidence_and_what_would_change_the_mind(talk: Conversation) -> None:
    talk.turn("crashes at start", [Attached("train.log", SHM)])
    text = talk.turn("why?").text()
    assert "nccl.shm-too-small" in text
    assert "What would change my mind" in text
    assert "df -h /dev/shm" in text


def test_a_harmless_message_is_said_to_be_so(talk: Conversation) -> None:
    text = talk.turn('is "NET/Plugin: No plugin found (libnccl-net.so)" bad?').text()
    assert "harmless" in text


def test_a_message_that_points_to_a_problem_is_not_called_harmless(talk: Conversation) -> None:
    text = talk.turn(
        'what does "NCCL WARN Error while creating shared memory segment /dev/shm/nccl-k2x9 (size 9637888)" mean?'
    ).text()
    assert "harmless" not in text.split("\n")[0]


def test_a_pasted_block_counts_as_an_attachment(talk: Conversation) -> None:
    reply = talk.turn("It dies at start, here is what it prints:\n" + SHM)
    assert reply.diagnosis.inputs[0].path == "pasted text 1"
    assert reply.diagnosis.findings[0].id == "nccl.shm-too-small"
    assert reply.diagnosis.symptom == "crash"


def test_an_attachment_with_nothing_telling_is_said_to_be_so(talk: Conversation) -> None:
    text = talk.turn("", [Attached("notes.txt", "milk\nbread\n")]).text()
    assert "Read notes.txt" in text
    assert "nothing telling" in text


def test_what_was_ruled_out_and_help_and_tree(talk: Conversation) -> None:
    talk.turn(SLOW)
    assert "uled out" in talk.turn("what did you rule out?").text()
    assert "/attach" in talk.turn("/help").text()
    assert "%" in talk.turn("/tree").text()


def test_contradiction_between_word_and_log_is_told(talk: Conversation) -> None:
    log = "\n".join(
        f"n{i}:20:30 [0] NCCL INFO comm 0x55 rank {i} nranks 4 cudaDev 0 nvmlDev 0 busId 1000 commId 0x1 - Init COMPLETE"
        for i in range(4)
    )
    reply = talk.turn(
        "2 GPUs in total, world size 2, it is slow, NCCL 2.18.5",
        [Attached("a.log", log + "\nn0:20:30 [0] NCCL INFO NCCL version 2.20.5+cuda12.4\n")],
    )
    assert any("2.18.5" in c and "2.20.5" in c for c in reply.diagnosis.contradictions)
    assert "2.18.5" in reply.text()


def test_bytes_and_bits(kb: Knowledge) -> None:
    session = Session()
    talk = Conversation(kb, session)
    talk.turn("two boxes with four 1080 Ti are half as fast as one box, the network is 1GB/s")
    assert session.case(kb).value("network_gbps") == 1.0
    session.add(Answered("network-unit", "network_unit_meant", "bytes", "gigabytes"))
    assert session.case(kb).value("network_gbps") == 8.0


def test_same_session_same_words(kb: Knowledge) -> None:
    def run() -> list[str]:
        talk = Conversation(kb)
        return [talk.turn(t).text() for t in (SLOW, "why?", "dunno", "what else?", "1", "undo", "facts")]

    assert run() == run()
