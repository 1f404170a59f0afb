"""Lines of a training log that tell of something between the steps: a checkpoint, an evaluation, an upload, a collection of garbage."""

from __future__ import annotations

import re

from assistant.intake.document import Document

#: Lines taken of one document for each literal, and lines of all kinds together.
_EACH = 400

_KINDS: tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...] = (
    (
        "checkpoint",
        ("heckpoint", "aving ", "aved ", "model_states", "optim_states"),
        re.compile(
            r"(?i)\b(?:sav(?:e|ing|ed)|writ(?:e|ing|ten)|dump(?:ing|ed)?)\b[^\n]{0,60}\b(?:checkpoints?|ckpt|model|state|weights|optimizer|\S+\.(?:pt|pth|ckpt|bin|safetensors))"
            r"|\bcheckpoint\b[^\n]{0,40}\b(?:sav(?:e|ing|ed)|written|took|done)"
        ),
    ),
    (
        "eval",
        ("valuat", "alidat", "eval_", "unning Eval"),
        re.compile(
            r"(?i)\b(?:running|start(?:ing|ed)?|begin\w*) (?:the )?(?:eval|valid)\w*|\b(?:evaluating|validating)\b"
            r"|\b(?:validation|evaluation|eval) (?:loss|took|results?|finished|done|epoch|step|time)|['\"]?\beval_(?:loss|runtime)"
        ),
    ),
    (
        "upload",
        ("pload", "ushing "),
        re.compile(r"(?i)\b(?:uploading|uploaded|pushing)\b[^\n]{0,60}\b(?:to|hub|s3|gs|bucket|wandb|remote)\b"),
    ),
    ("garbage", ("arbage", "empty_cache", "cache flush"), re.compile(r"(?i)garbage collect|empty_cache|cache flushes")),
)
#: A line of progress that happens to hold one of the words.
_PROGRESS = re.compile(r"%\||it/s|elapsed time per iteration|\bstep[:=] *\d+ .*\bloss|train_step_timing")


def marks(document: Document) -> list[tuple[int, str]]:
    """(index of the line, kind), in the order of the lines."""
    text = document.text
    found: dict[int, str] = {}
    for kind, literals, pattern in _KINDS:
        for literal in literals:
            at = text.find(literal)
            for _ in range(_EACH):
                if at == -1:
                    break
                start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
                end = len(text) if end == -1 else end
                line = text[start : min(end, start + 400)]
                if start not in found and pattern.search(line) and not _PROGRESS.search(line):
                    found[start] = kind
                at = text.find(literal, end)
    out: list[tuple[int, str]] = []
    index = at = 0
    for start in sorted(found):
        index += text.count("\n", at, start)
        at = start
        out.append((index, found[start]))
    return out
