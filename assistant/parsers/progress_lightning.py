"""Bars of Lightning, headed by the epoch, in tqdm's and in rich's form -> step times.

Epoch 0:  12%|#2        | 120/1000 [02:00<14:40,  1.00it/s, v_num=3, train_loss=2.31]
Epoch 0/9  ━━━━━━━━━━━━━━━━━━━━ 120/1000 0:02:00 • 0:14:40 1.00it/s v_num: 3.000
"""

from __future__ import annotations

from collections.abc import Iterable

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._bars import bar_steps
from assistant.parsers._series import series_facts

NAME = "Lightning progress bars"
TRIGGERS = ("%|", "━")
VERSIONS = "PyTorch Lightning 1.0 to 2.5: bars of tqdm and of rich"
SERIES = ("%|", "━")


def parse(document: Document) -> Iterable[Fact]:
    if "Epoch" in document.text or "Training" in document.text:
        yield from series_facts(document, "epoch-bar", bar_steps(document, epochs=True))
