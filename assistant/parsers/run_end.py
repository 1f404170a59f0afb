"""How a run came to its end: finished work, exit status 0, Slurm and pod states that say so.

Training completed. Do not forget to share your model
{'train_runtime': 512.4, 'train_samples_per_second': 88.1}
81234|train|COMPLETED|0:0
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._lines import lines_with

NAME = "end of the run"
TRIGGERS = (
    "raining completed", "raining complete", "raining finished", "raining done", "inished training", "train_runtime", "`Trainer.fit` stopped", "COMPLETED",
    "exited with code 0", "exit code 0", "Exit code: 0", "xits successfully", "worker group successfully finished", "aved final",
    "Avg bus bandwidth", "All done", "all done", "SUCCEEDED", "Succeeded", "Deleting all workers", "return code 0", "exited successfully", "run completed",
)  # fmt: skip
VERSIONS = "ends of runs of Transformers, Lightning, nccl-tests, Slurm, Kubernetes and torchrun"


@cache
def _finished() -> re.Pattern[str]:
    return re.compile(
        r"(?i)\btraining (?:is )?(?:completed|complete|finished|done|ended)\b|\bfinished training\b|'?train_runtime'?[\"']?\s*[:=]|`Trainer\.fit` stopped: `max_|"
        r"worker group successfully finished|saved final (?:model|checkpoint)|# Avg bus bandwidth|\ball done\b|\bdeleting all workers\b|"
        r"\b(?:step|iter(?:ation)?|epoch)s?[ :]+(?P<a>\d+)\s*/\s*(?P<b>\d+)[^/\d].{0,40}\b(?:done|finished|completed?)\b"
    )


@cache
def _succeeded() -> re.Pattern[str]:
    return re.compile(
        r"exited with code 0\b|exit(?:ed)? (?:with )?(?:code|status)[ :=]+0\b|exits successfully|Process \d+ exits successfully|\|COMPLETED\|0:0|\bCOMPLETED\s+0:0|"
        r"[Rr]eturn code[ :=]+0\b|exited successfully|worker group successfully finished|\bJob '[^']+' succeeded|phase: Succeeded"
    )


@cache
def _failed() -> re.Pattern[str]:
    return re.compile(
        r"exitcode\s*: -?[1-9]|\(exitcode: -?[1-9]|[Ee]xit(?:ed)? (?:with )?(?:code|status)[ :=]+-?[1-9]|ChildFailedError|return code = -?[1-9]|Traceback \(most recent"
    )


_HINTS = (
    "rain",
    "finished",
    "done",
    "final",
    "Avg bus",
    "exit",
    "code",
    "succe",
    "Succe",
    "omplete",
    "COMPLETED",
    "eleting",
)


def parse(document: Document) -> Iterable[Fact]:
    finished = succeeded = None
    for index in lines_with(document, _HINTS):
        message = document.messages[index]
        if len(message) > 2000:
            continue
        found = _finished().search(message)
        if found and (found["a"] is None or found["a"] == found["b"]):
            finished = index
        if _succeeded().search(message):
            succeeded = index
    facts: list[Fact] = []
    if finished is not None:
        facts.append(Fact("run.finished", True, document.origin(finished)))
    if succeeded is not None and _failed().search(document.text) is None:
        facts.append(Fact("run.succeeded", True, document.origin(succeeded)))
    return facts
