"""What a program was doing before a line of its log: training, evaluating, saving, reading data ..."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from assistant.facts import Fact
from assistant.intake.document import Document

#: Lines looked at before the failure, at most; the nearest telling one decides.
REACH = 400
#: Lines looked at before the failure for the last progress, at most.
FAR = 20_000


@cache
def _phases() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (name, re.compile(pattern, re.IGNORECASE))
        for name, pattern in (
            (
                "checkpoint",
                r"\bsav(?:e|ing)[^.]{0,40}(?:checkpoint|model|state|weights|optimizer|ckpt)|(?:checkpoint|state.?dict)[^.]{0,30}\b(?:sav|writ|took|gather|merg)|save_pretrained|merging (?:lora|weights|adapter)|upload(?:ing)? (?:checkpoint|model|to hub)|global_step\d+/\S*(?:optim|model)_states",
            ),
            (
                "eval",
                r"\*{3,} ?running (?:evaluation|prediction)|\b(?:starting |begin(?:ning)? |running )?(?:validation|evaluation|evaluating|validating|testing)\b(?! (?:set|split|data|samples|size|freq|interval|loss))|\beval(?:uat\w+)?[ _/]?(?:step|loop|epoch|batch)?:? +\d+%\||generat(?:e|ing) (?:samples|captions|images|predictions)",
            ),
            (
                "data-load",
                r"running tokenizer|tokeniz(?:ing|ation)|\bmap(?: \(num_proc=\d+\))?:? +\d+%|grouping texts|filter(?: \(num_proc=\d+\))?:? +\d+%|generating \w+ split|pre-?process(?:ing)?\b|building (?:train|valid|test|dataset|index|sample|shuffle|doc)[\w -]*(?:index|dataset|datasets|mapping)?|(?:loading|load|reading|caching|preparing|packing|scanning|concatenating) (?:the )?(?:\w+ )?(?:data ?set|data|shards|images|annotations|corpus)|converting format of dataset|creating (?:index|features)|\bscanning\b[^\n]{0,120}\b(?:images|labels|files|annotations|records)|(?:caching|extracting|computing|precomputing|indexing|verifying|resolving|collecting|counting|parsing|unpacking|resizing)\b[^\n%]{0,60}\b(?:images|latents|labels|features|embeddings|statistics|lengths|files|records|samples|documents|archives?|checksums?|examples|tokens)\b|saving the dataset \(|setting num_proc|concatenate? datasets",
            ),
            ("download", r"downloading|fetching \d+ files|download(?:ed)? (?:the )?(?:model|dataset|data|shards)"),
            (
                "compile",
                r"\bcompil(?:e|ing|ation)\b|inductor|autotun|building extension module|ninja|jit(?:ting)? |tracing|capturing (?:the )?(?:model|cuda) ?(?:graph)?s?|\bwarming up\b|cuda graph capture|\blowering\b",
            ),
            (
                "init",
                r"loading checkpoint shards|loading (?:pretrained )?(?:model|weights|state dict)|from_pretrained|initializ(?:ing|ed) (?:model|distributed|process group|megatron|deepspeed)|init_process_group|trainable params|number of (?:parameters|params)",
            ),
            (
                "train",
                r"it/s|s/it|\biteration +\d+/|\b(?:step|iter|epoch)\b[^a-z]{0,8}\d+.*\bloss|'loss':|training (?:started|epoch)|tokens/s|samples/s|img/s|images/sec",
            ),
        )
    )


_BAR = re.compile(r"(?P<pct>\d+)%\|[^|]{0,400}\| *(?P<n>\d+)/(?P<total>\d+) \[")
_COUNT = re.compile(
    r"(?:\biteration|\bsteps?|\bepoch:? \[\d+\]|\bbatch|\biter)\W{0,12}(?P<n>\d+) ?(?:/|of) {0,8}(?P<total>\d+)",
    re.IGNORECASE,
)
_EPOCH_DONE = re.compile(
    r"\bepoch\b[^a-z]{0,8}\d*[^a-z]{0,8}(?:finished|done|completed?|ended|took)|(?:end of|finished|completed) epoch|epoch \d+ (?:train )?(?:loss|summary|results)",
    re.IGNORECASE,
)


def phase_of(message: str) -> str | None:
    """The phase that a line of progress belongs to."""
    for name, pattern in _phases():
        if pattern.search(message):
            return name
    return None


def last_phase(document: Document, before: int) -> Iterator[Fact]:
    """The phase of the nearest telling line before the line with this index (that line's own start included)."""
    for index in range(before, max(before - REACH, -1), -1):
        message = document.messages[index][:2000]
        if index == before:
            message = message.partition("[E ")[0].partition("[rank")[0].partition("Watchdog caught")[0]
        elif "Watchdog" in message or "ProcessGroup" in message or " NCCL INFO " in message:
            continue
        phase = phase_of(message)
        if phase is not None:
            yield Fact("watchdog.last_phase", phase, document.origin(index))
            return


def progress_before(document: Document, before: int) -> Iterator[Fact]:
    """How far the epoch or run had come on the last progress line before."""
    trained = False
    for index in range(before, max(before - FAR, -1), -1):
        message = document.messages[index][:2000]
        if " NCCL INFO " in message:
            continue
        found = _BAR.search(message) or _COUNT.search(message)
        if not trained and _EPOCH_DONE.search(message):
            yield Fact("progress.at_epoch_end", True, document.origin(index))
            return
        if trained and found is None:
            continue
        phase = phase_of(message)
        if phase not in (None, "train"):
            continue
        trained = trained or phase == "train"
        if found is None or phase is None:
            continue
        n, total = int(found["n"]), int(found["total"])
        if total >= 5 and n <= total:
            yield Fact("progress.last_pct", round(100 * n / total, 1), document.origin(index))
            if n >= total - 1:
                yield Fact("progress.at_epoch_end", True, document.origin(index))
            return
    if not trained and before < FAR:
        yield Fact("progress.no_step", True, document.origin(before))
