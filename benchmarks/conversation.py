"""How many questions the conversation needs: a user is simulated from each case of a folder.

    python benchmarks/conversation.py CASES_FOLDER [--late-logs] [--max-median 4] [--verbose]

The user begins with what the case says and attaches its attachments, answers what its facts tell and says "I don't know"
to everything else. The dialogue ends when a cause stands clear or nothing more is asked. With --late-logs the attachments
are handed over only when a log or an output is asked for. Exit status 1 where the median is above --max-median.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).parent.parent))

from assistant.conversation import Attached, Conversation, Reply
from assistant.plain import attached
from assistant.understand import read_stated
from knowledge.load import Knowledge, knowledge

DONT_KNOW = "I don't know"
GIVE_UP = 20


@dataclass(frozen=True)
class Result:
    case: str
    questions: int
    found: bool
    first: str
    truth: list[str]
    asked: list[str]


class User:
    """Knows what the case's user stated, in the words of the case."""

    def __init__(self, case: dict[str, Any], folder: Path) -> None:
        self.say = str(case.get("say", "")).strip()
        self.attachments: list[Attached] = [
            text for name in case.get("attachments") or [] for text in attached(str(folder / name))
        ]
        self.knows: dict[str, str] = {}
        for key, value in (case.get("facts") or {}).items():
            facts, _ = read_stated(str(key), str(value))
            self.knows |= {fact.key: str(value) for fact in facts}

    def answer(self, fact: str) -> str:
        return self.knows.get(fact, DONT_KNOW)


def found(reply: Reply, truth: Sequence[str]) -> bool:
    """Whether the diagnosis names the true cause first (or, for a healthy case, none)."""
    first = reply.diagnosis.findings[0] if reply.diagnosis.findings else None
    if truth[0] == "healthy":
        return reply.diagnosis.verdict == "healthy" or first is None or first.probability < 0.5
    return first is not None and reply.diagnosis.verdict != "healthy" and first.id in truth


def simulate(folder: Path, kb: Knowledge, *, late: bool = False) -> Result:
    """One dialogue about one case."""
    case = yaml.safe_load((folder / "case.yaml").read_text(encoding="utf-8"))
    user, truth = User(case, folder), case["truth"]["causes"]
    conversation = Conversation(kb)
    reply = conversation.turn(user.say, [] if late else user.attachments)
    waiting = user.attachments if late else []
    asked: list[str] = []
    while not reply.done and reply.question is not None and len(asked) < GIVE_UP:
        asked.append(reply.question.id)
        if reply.question.kind == "test" and waiting:
            reply, waiting = conversation.attach(waiting), []
        else:
            reply = conversation.turn(user.answer(reply.question.fact))
    first = reply.diagnosis.findings[0].id if reply.diagnosis.findings else reply.diagnosis.verdict
    return Result(folder.name, len(asked), found(reply, truth), first, truth, asked)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path, metavar="CASES_FOLDER")
    parser.add_argument("--late-logs", action="store_true", help="attach only when asked")
    parser.add_argument("--max-median", type=float, default=4.0)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    folders = sorted(p.parent for p in options.cases.glob("*/case.yaml"))
    if not folders:
        print(f"no cases under {options.cases}", file=sys.stderr)
        return 2
    kb = knowledge()
    results = [simulate(folder, kb, late=options.late_logs) for folder in folders]
    for result in results:
        if options.verbose or not result.found:
            mark = "found " if result.found else "missed"
            print(
                f"{mark} {result.case:34} questions {result.questions}  first {result.first}  truth {','.join(result.truth)}  asked {','.join(result.asked)}"
            )
    counts = [r.questions for r in results]
    reached = [r.questions for r in results if r.found]
    median = statistics.median(counts)
    print(f"cases {len(results)}  median questions {median:g}  mean {statistics.mean(counts):.2f}  most {max(counts)}")
    print(
        f"brought to the cause {len(reached) / len(results):.1%}"
        + (f"  (median questions of those {statistics.median(reached):g})" if reached else "")
    )
    return 0 if median <= options.max_median else 1


if __name__ == "__main__":
    sys.exit(main())
