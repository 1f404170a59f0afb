"""The whole way from what is handed over to the reports."""

from __future__ import annotations

import json

from fuzz_checks import bounded, documents_of
from fuzz_seeds import Choices, broken
from hypothesis import given
from hypothesis import strategies as st

from assistant.diagnosis.diagnose import diagnose
from assistant.errors import UserError
from assistant.report.as_html import to_html
from assistant.report.as_json import to_json
from assistant.report.as_markdown import to_markdown
from assistant.report.as_text import to_text
from assistant.safe_text import CONTROLS
from assistant.triage import build
from knowledge.load import Knowledge, knowledge

EVIL = "\x1b[2J\x1b]0;title\x07\u202e\x9b31m\x00"
SOURCE = st.binary(min_size=4, max_size=64)


def reports(kb: Knowledge, texts: list[str], says: list[str], stated: list[tuple[str, str]]) -> None:
    documents = [
        d for i, t in enumerate(texts) for d in documents_of(t.encode("utf-8", "surrogatepass"), f"{EVIL}rank{i}.log")
    ]
    try:
        case = build(kb, says=says, stated=stated, documents=documents)
    except UserError:
        return
    diagnosis = diagnose(case, kb)
    for shown in (to_text(diagnosis, 100, colour=False), to_markdown(diagnosis), to_html(diagnosis)):
        assert not CONTROLS.search(shown)
    assert json.loads(json.dumps(to_json(diagnosis), ensure_ascii=True))
    assert "\\u001b" not in json.dumps(to_json(diagnosis), ensure_ascii=True)


@given(st.lists(SOURCE, min_size=1, max_size=4), st.lists(st.one_of(st.text(max_size=80), SOURCE.map(lambda b: broken(Choices(b))[:2000])), max_size=2), st.lists(st.tuples(st.sampled_from(["nodes", "gpu", "network", "x"]), st.text(min_size=1, max_size=12)), max_size=2))  # fmt: skip
@bounded(40)
def test_any_case_is_diagnosed_and_shown(data: list[bytes], says: list[str], stated: list[tuple[str, str]]) -> None:
    reports(knowledge(), [broken(Choices(d)) for d in data], says, stated)


def test_escape_sequences_never_reach_a_report(kb: Knowledge) -> None:
    log = f"gpu{EVIL}-07:1:2 [0] NCCL WARN NET/IB : Got completion from peer {EVIL} with status=12 error\n" * 3
    reports(
        kb,
        [log, f"Traceback (most recent call last):\n{EVIL}RuntimeError: {EVIL}NCCL error"],
        [f"it hangs {EVIL}"],
        [("network", f"roce {EVIL}")],
    )
