"""What was read, in a report: a few inputs one by one, thousands by the kind of their names."""

from __future__ import annotations

from assistant.diagnosis.diagnose import diagnose
from assistant.facts import CaseFile, Input
from assistant.report.words import input_blocks
from knowledge.load import knowledge


def told(inputs: list[Input]) -> list[str]:
    return [block.text for block in input_blocks(diagnose(CaseFile(inputs=inputs), knowledge()))][1:]


def test_few_are_listed_one_by_one() -> None:
    assert told([Input("a_1.log", 10, 3, "NCCL log"), Input("a_2.log", 10, 4, "text", ["cut off"])]) == [
        "a_1.log: NCCL log, 3 lines",
        "a_2.log: text, 4 lines (cut off)",
    ]


def test_many_of_one_kind_of_name_are_told_together() -> None:
    ranks = [Input(f"logs/rank_{n}.log", 10, 5, "NCCL log", [f"{n + 7} lines are counted"]) for n in range(20)]
    assert told([Input("job.sbatch", 10, 9, "job script"), *ranks]) == [
        "job.sbatch: job script, 9 lines",
        "20 files, logs/rank_0.log to logs/rank_19.log: NCCL log, 100 lines in all (some lines are counted)",
    ]
