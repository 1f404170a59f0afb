"""What a text puts aside, only asks or denies is no observation of it."""

from __future__ import annotations

import pytest

from assistant.diagnosis.conditions import holds
from assistant.facts import CaseFile
from assistant.understand.dismissed import dismissed_spans, guess_spans, told_only
from assistant.understand.symptom import symptom_of


def _named(text: str) -> list[str]:
    return [text[a:b] for a, b in dismissed_spans(text)]


@pytest.mark.parametrize(
    ("text", "thing"),
    [
        ("It hangs in init. DNS looks fine, and ssh is there.", "DNS"),
        ("We ruled out the switch, since two other jobs run over it.", "the switch"),
        ("I excluded the disks first.", "the disks"),
        ("I suspected the data loader first, but synthetic data is just as slow.", "the data loader"),
        ("It's not the tokenizer, I measured it.", "the tokenizer"),
        ("After fixing the NUMA binding it is still slow.", "the NUMA binding"),
        ("I had the cables in mind and swapped them.", "the cables"),
        ("There is nothing about a full disk.", "a full disk"),
        ("There is no sign of throttling.", "throttling"),
        ("The firewall can be ruled out.", "The firewall"),
        ("The storage is not the bottleneck.", "The storage"),
        ("Swapped the optics of that port, same result.", "the optics of that port"),
        ("I moved the files to a local SSD, no difference.", "the files to a local SSD"),
        ("The memory leak has been fixed.", "The memory leak"),
    ],
)
def test_things_put_aside(text: str, thing: str) -> None:
    assert thing in _named(text)


@pytest.mark.parametrize(
    "text",
    [
        "Setting NCCL_P2P_DISABLE=1 makes it work.",
        "With one node it is fine, with two it hangs.",
        "32 nodes are fine, from 64 on it dies.",
        "The older image was fine on the same hosts.",
        "The scheduler port is fixed, 9091.",
        "Without the second card everything is fine.",
        "Everything is fine until the third epoch.",
    ],
)
def test_contrasts_are_no_dismissal(text: str) -> None:
    assert _named(text) == []


def test_pattern_about_the_dismissal_itself_still_matches() -> None:
    case = CaseFile(says=["Two nodes hang in init. The ping is fine, and that is all I know about them."])
    assert holds({"says": r"\bping\b"}, case) is None
    assert holds({"says": r"\bping\b.{0,20}\bfine\b"}, case) is not None


@pytest.mark.parametrize(
    "text",
    [
        "Two nodes, and training over them is slow since Monday morning. We have no InfiniBand here.",
        "Two nodes, and training over them is slow since Monday morning. Is InfiniBand to blame?",
        "Two nodes, and training over them is slow since Monday morning. Could it be the InfiniBand?",
        "Two nodes, and training over them is slow since Monday morning. InfiniBand or the disks?",
        "Two nodes, and training over them is slow since Monday morning. We ruled out InfiniBand.",
        "Two nodes, and training over them is slow since Monday morning. InfiniBand looks healthy.",
    ],
)
def test_denied_asked_and_excluded_things_do_not_count(text: str) -> None:
    assert holds({"says": r"\binfiniband\b"}, CaseFile(says=[text])) is None
    assert holds({"says": r"\bslow\b"}, CaseFile(says=[text])) is not None


def test_what_is_asked_counts_where_the_question_is_the_matter() -> None:
    case = CaseFile(says=["The job trains and its loss falls as it should. Is the warning on InfiniBand normal?"])
    assert holds({"says": r"\binfiniband\b"}, case, asked=True) is not None


def test_a_text_that_is_only_a_question_is_heard() -> None:
    assert guess_spans("Is the switch the reason that my job hangs?") == ()


def test_told_only_leaves_the_rest_as_it_is() -> None:
    text = "Steps take 3 s on two nodes now instead of one second. DNS looks right. Is the switch slow?"
    assert told_only(text) == "Steps take 3 s on two nodes now instead of one second.  looks right. "


@pytest.mark.parametrize(
    ("text", "symptom"),
    [
        ("Eight GPUs make 300 images/s, which is a sixth of what we need. So do the ranks hang for the network?", "slow"),
        ("Each host alone is fine, together they hang in init.", "hang"),
        ("The worker starts, prints its rank, and then nothing.", "hang"),
        ("The first one never gets there, the second just waits for it.", "hang"),
        ("An epoch takes just as long as with one card.", "slow"),
        ("It needs 0.4 s a batch on one host, on two it is 1.9 s a batch.", "slow"),
        ("Multi-node runs at 40 % of what we had.", "slow"),
        ("Every test passed and it trains without any error, but there are 20 warnings. Is my switch broken?", "question"),
        ("Ten fast steps, then all wait for a second, then ten fast ones again.", "jitter"),
        ("Nothing that uses CUDA starts since the upgrade.", "crash"),
    ],
)  # fmt: skip
def test_symptoms_of_such_texts(text: str, symptom: str) -> None:
    assert symptom_of(text) == symptom
