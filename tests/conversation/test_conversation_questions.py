"""The questions and the tree as data, answers to questions, and the choice of the next one."""

from __future__ import annotations

from typing import Any

import pytest

from assistant.conversation.answers import Answer, read_answer
from assistant.diagnosis.conditions import Support
from assistant.diagnosis.next_step import NextStep, leads_clearly, next_step, open_steps, step_of
from assistant.diagnosis.rank import Evidence, Ranked, rank
from assistant.diagnosis.told import told_evidence, value_name
from assistant.facts import CaseFile, Fact, Origin
from assistant.triage import build
from knowledge.load import Knowledge


def step(kb: Knowledge, name: str) -> NextStep:
    return step_of(kb.questions[name], [])


def test_every_cause_has_its_place_in_the_tree(kb: Knowledge) -> None:
    def causes(node: dict[str, Any]) -> set[str]:
        return {*node.get("causes", ()), *(c for child in node.get("children", ()) for c in causes(child))}

    assert set(kb.causes) <= causes(kb.tree)
    assert {n["id"] for n in kb.tree["children"]} == {"slow", "hang", "crash", "jitter", "question"}


def test_tree_questions_exist(kb: Knowledge) -> None:
    def questions(node: dict[str, Any]) -> set[str]:
        own = {node["question"]} if node.get("question") else set()
        return own | {q for child in node.get("children", ()) for q in questions(child)}

    assert questions(kb.tree) <= set(kb.questions)


def test_questions_are_whole(kb: Knowledge) -> None:
    for question in kb.questions.values():
        assert question["fact"] in kb.vocabulary, question["id"]
        values = {value_name(c["value"]) for c in question.get("choices", ())} | {"*"}
        assert question["tells"].keys() <= values, question["id"]
        assert question["tells"], question["id"]


def test_every_cause_is_told_by_some_question(kb: Knowledge) -> None:
    told = {c for q in kb.questions.values() for causes in q["tells"].values() for c in causes}
    assert set(kb.causes) <= told


@pytest.mark.parametrize(
    ("question", "text", "kind", "value"),
    [
        ("nodes", "2", "value", 2),
        ("nodes", "c", "value", 4),
        ("nodes", "sixteen nodes", "value", 16),
        ("nodes", "I don't know", "unknown", None),
        ("gpu-state", "2", "value", "busy"),
        ("gpu-state", "gpus at 30%", "value", "idle"),
        ("gpu-state", "they are mostly idle", "value", "idle"),
        ("gpu-state", "0", "unknown", None),
        ("gpu-state", "dunno", "unknown", None),
        ("network-kind", "infiniband-hdr-200", "value", "infiniband"),
        ("network-kind", "actually it's RoCE", "value", "roce"),
        ("network-rate", "25", "value", 25.0),
        ("network-rate", "b", "value", 10),
        ("single-node", "yes, works fine", "value", True),
        ("single-node", "nope", "value", False),
        ("single-node", "no idea", "unknown", None),
        ("when-began", "the second one", "value", "after-change"),
        ("what-changed", "we swapped the switch", "value", "we swapped the switch"),
        ("dataloader", "0", "value", 0),
        ("nccl-version", "2.18.5", "value", "2.18.5"),
        ("hang-where", "while a checkpoint is saved", "value", "checkpoint"),
        ("show-nccl-log", "0", "unknown", None),
    ],
)
def test_answers(kb: Knowledge, question: str, text: str, kind: str, value: object) -> None:
    answer = read_answer(text, step(kb, question), kb)
    assert isinstance(answer, Answer)
    assert (answer.kind, answer.value) == (kind, value)


@pytest.mark.parametrize("text", ["it is on Kubernetes by the way", "hm"])
def test_what_is_no_answer_is_none(kb: Knowledge, text: str) -> None:
    assert read_answer(text, step(kb, "gpu-state"), kb) is None


def _ranked(**probabilities: float) -> list[Ranked]:
    evidence = [Evidence("r", "t", "weak", Support())]
    return [Ranked(k.replace("__", ".").replace("_", "-"), 0.0, p, evidence) for k, p in probabilities.items()]


def test_a_cause_that_leads_by_far_ends_the_questions(kb: Knowledge) -> None:
    assert leads_clearly(0.9, 0.09)
    assert leads_clearly(0.65, 0.05)
    assert not leads_clearly(0.65, 0.3)
    assert next_step(CaseFile(), _ranked(nccl__socket_fallback=0.95, net__congestion=0.02), kb) is None


def test_the_most_telling_question_is_asked(kb: Knowledge) -> None:
    case = build(kb, says=["two nodes are slow"])
    between = _ranked(input__dataloader_bound=0.45, gpu__throttled=0.45)
    assert {"gpu-state", "slow-pattern", "synthetic-data", "gpu-power"} & {
        s.id for s in sorted(open_steps(case, between, kb), key=lambda s: -s.gain / s.cost)[:3]
    }


def test_what_is_known_is_never_asked(kb: Knowledge) -> None:
    case = build(kb, says=["two nodes of 8 A100 over HDR InfiniBand are 3x slower than one, GPUs idle"])
    facts = {s.fact for s in open_steps(case, rank(case, kb), kb)}
    assert not facts & {
        "nodes",
        "gpus_per_node",
        "gpu_family",
        "network_kind",
        "network_gbps",
        "gpu_state",
        "single_node_ok",
        "symptom",
    }


def test_asked_questions_are_not_put_again(kb: Knowledge) -> None:
    case = build(kb, says=["it is slow"])
    ranked = rank(case, kb)
    first = next_step(case, ranked, kb)
    assert first is not None
    again = next_step(case, ranked, kb, {first.id})
    assert again is None or again.id != first.id


def test_the_unit_is_asked_back_where_it_matters(kb: Knowledge) -> None:
    case = build(kb, says=["two boxes with four 1080 Ti are half as fast as one, the network is 1GB/s"])
    assert "network-unit" in {s.id for s in open_steps(case, rank(case, kb), kb)}
    crash = build(kb, says=["two boxes crash at start with connection refused, the network is 1GB/s"])
    assert "network-unit" not in {s.id for s in open_steps(crash, rank(crash, kb), kb)}


def test_an_answer_hints_at_the_causes_it_fits(kb: Knowledge) -> None:
    case = CaseFile(
        facts=[Fact("symptom", "hang", Origin("answer")), Fact("hang_where", "evaluation", Origin("answer"))]
    )
    hints = told_evidence(case, kb)
    assert "work.uneven-inputs" in hints
    assert "evaluation" in hints["work.uneven-inputs"][0].text
    assert told_evidence(CaseFile(facts=[Fact("hang_where", "evaluation", Origin("log"))]), kb) == {}
