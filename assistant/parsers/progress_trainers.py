"""Bars and summaries of the Hugging Face Trainer and of trainers that show a plain tqdm bar -> step times.

 12%|#2        | 120/1000 [02:00<14:40,  1.00s/it]
{'loss': 2.31, 'grad_norm': 1.07, 'learning_rate': 4.8e-05, 'epoch': 0.12}
{'train_runtime': 3600.0, 'train_samples_per_second': 8.88, 'train_steps_per_second': 0.28, 'train_loss': 1.9, 'epoch': 3.0}
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._bars import bar_steps
from assistant.parsers._series import matched_lines, series_facts

NAME = "progress bars"
TRIGGERS = ("%|", "train_steps_per_second")
VERSIONS = "Hugging Face Trainer of Transformers 4 and 5, tqdm 4"
SERIES = ("%|", "train_steps_per_second")

_END = re.compile(r"train_steps_per_second['\"]?[ =:]+['\"]?(\d+\.?\d*)")


def parse(document: Document) -> Iterable[Fact]:
    yield from series_facts(document, "bar", bar_steps(document, epochs=False))
    for index, found in matched_lines(document, ((m.start(), m) for m in _END.finditer(document.text))):
        if float(found[1]) > 0:
            yield Fact("step.run_mean_s", round(1 / float(found[1]), 4), document.origin(index))
            return
