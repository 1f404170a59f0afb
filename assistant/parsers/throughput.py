"""Benchmark summaries and timing tables -> throughput with the number of GPUs or nodes, time of checkpoints.

Samples:

    70	images/sec: 152.2 +/- 0.3 (jitter = 2.3)	2.101
    total images/sec: 608.38
    Total img/sec on 8 GPU(s): 2069.3 +-2.1
    using 2 GPUs:
    batch_size=64         78 seconds
    Finished saving the checkpoint (or staging if async is enabled)in 393.86 seconds.
    {'eval_loss': 1.3020, 'eval_runtime': 311.2, 'eval_samples_per_second': 43.0}
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from statistics import median

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._lines import lines_with
from assistant.parsers._steps import Step, step_facts

NAME = "throughput summary"
TRIGGERS = (
    "images/sec",
    "global_step/sec",
    "img/sec",
    *(f"{digit} {what}" for digit in range(10) for what in ("GPU", "gpu", "node")),
    "GPUs",
    "gpus",
    " nodes",
    "ne GPU",
    "ne gpu",
    "ne node",
    "ingle GPU",
    "ingle gpu",
    "ingle node",
    "heckpoint ",
    "heckpointing",
    "_checkpoint",
    "state dict",
    "save-checkpoint",
    "_per_second",
    "sentences/sec",
    "samples/s",
    "tokens/s",
    "eval_runtime",
)
VERSIONS = "tf_cnn_benchmarks, Horovod's examples, Transformers, NeMo, own programs"

_TOTAL = re.compile(r"^\s*total (?:images|img|examples|sentences)/sec(?:ond)?: *(?P<v>\d+(?:\.\d+)?)", re.IGNORECASE)
_ON = re.compile(r"Total img/sec on (?P<n>\d+) \w+\(s\): *(?P<v>\d+(?:\.\d+)?)")
_STEP = re.compile(r"^\s*(?P<step>\d+)\s+images/sec: (?P<v>\d+(?:\.\d+)?) \+/-")
_NP = re.compile(r"(?:^|\s)(?:-np?|--num[_-]proc(?:ess(?:es)?)?|-c)[ =](?P<n>\d+)\b")
_ALONE = re.compile(r"^\s*(?:\$|\S+[$#]) +(?:[A-Z_]+=\S+ +)*python3? +(?!-m)\S+\.py\b")
_PACE = re.compile(r"global_step/sec: *(?P<v>\d+(?:\.\d+)?)")
_NAME_COUNT = re.compile(
    r"(?P<n>\d+)[-_ ]?(?P<what>node|gpu|host|worker|machine|rank|card|np)s?|(?:np|nodes?|gpus?)[-_]?(?P<n2>\d+)",
    re.IGNORECASE,
)
_SUMMARY = re.compile(
    r"(?:train_samples_per_second|samples_per_second|tokens_per_second)[\"']?\s*[:=]\s*[\"']?(?P<v>\d+(?:\.\d+)?)"
)
_HEAD = re.compile(
    r"^\W*(?:using |with |on |for )?(?P<n>\d{1,4}|one|two|three|four|eight|single) ?(?:x ?)?(?:[A-Z]\w+ )?(?P<what>gpu|node|card|device|machine|server|worker|host)s?\b[ :|,=-]*(?P<rest>.*)$",
    re.IGNORECASE,
)
#: A count of GPUs or machines.
_COUNTED = re.compile(
    r"(?i)(?:\d|one|two|three|four|eight|single) ?(?:x ?)?(?:[a-z]\w* )?(?:gpu|node|card|device|machine|server|worker|host)"
)
_PER_EPOCH = re.compile(r"(?:per|/|each|an?) ?epoch", re.IGNORECASE)
_TIME = re.compile(
    r"(?P<v>\d+(?:\.\d+)?) ?(?P<u>seconds?|secs?|s|minutes?|min|m|hours?|h|ms)(?P<per>(?:/| ?per ?)(?:epoch|it(?:eration)?|step|batch))?\b(?!/)",
    re.IGNORECASE,
)
_RATE = re.compile(
    r"(?P<v>\d[\d,]{0,20}(?:\.\d+)?) ?(?P<u>(?:it|step|batch|sample|image|img|token|tok|seq|sentence|word|example)(?:eration|e?s|es)?(?:/s(?:ec(?:ond)?)?\b| ?per ?second| ?a second))",
    re.IGNORECASE,
)
_SAVED = re.compile(
    r"(?:sav(?:ed|ing)|checkpoint|state.?dict)[^\n]{0,120}?\b(?:in|took|time(?: taken)?|elapsed)\b[ :=]*(?P<v>\d+(?:\.\d+)?) ?(?P<u>s|secs?|seconds?|minutes?|min|ms)\b|save-checkpoint[^\n]{0,60}?\((?P<u2>ms)\)[ :]*(?P<v2>\d+(?:\.\d+)?)|(?P<u3>ms)\) \| save-checkpoint: (?P<v3>\d+(?:\.\d+)?)|save-checkpoint \.*: \(\d+(?:\.\d+)?, (?P<v4>\d+(?:\.\d+)?)\)",
    re.IGNORECASE,
)
_FILE_SAVED = re.compile(r"\b(?:(?P<end>[Ss]aved)|[Ss]aving)\b[^/\n]{0,60}?(?P<file>/[\w./-]*\w)")
_EVAL = re.compile(r"[\"']?eval_runtime[\"']?\s*[:=]\s*[\"']?(?P<v>\d+(?:\.\d+)?)")
WORDS = {"one": 1, "single": 1, "two": 2, "three": 3, "four": 4, "eight": 8}
SECONDS = {
    "ms": 1e-3,
    "s": 1.0,
    "sec": 1.0,
    "second": 1.0,
    "m": 60.0,
    "min": 60.0,
    "minute": 60.0,
    "h": 3600.0,
    "hour": 3600.0,
}


def parse(document: Document) -> Iterable[Fact]:
    return [*_benchmarks(document), *_tables(document), *_checkpoints(document), *_evaluations(document)]


def seconds(value: str, unit: str) -> float:
    """A time with its unit in seconds."""
    name = unit.lower()
    return float(value) * SECONDS[name if name in SECONDS else name.rstrip("s")]


def _benchmarks(document: Document) -> Iterator[Fact]:
    """Totals of tf_cnn_benchmarks, Horovod's synthetic benchmarks and the Trainer's summary."""
    if not any(mark in document.text for mark in ("global_step/sec", "img/sec on", "images/sec", "_per_second")):
        return
    printers: dict[str, int] = {}
    means: list[tuple[int, float, int]] = []
    count: int | None = None
    for index, line in enumerate(document.messages):
        if "-np" in line or "-n " in line or "num" in line:
            started = _NP.search(line)
            if started is not None:
                count = int(started["n"])
        elif "python" in line and _ALONE.match(line):
            count = 1
        if "global_step/sec" in line:
            pace = _PACE.search(line)
            if pace is not None and count:
                yield Fact("throughput.at", f"{count} gpus={float(pace['v']):g} steps", document.origin(index))
        elif "img/sec on" in line:
            found = _ON.search(line)
            if found is not None:
                yield Fact("throughput.at", f"{found['n']} gpus={float(found['v']):g} total", document.origin(index))
        elif "images/sec" in line:
            step = _STEP.match(line)
            if step is not None:
                printers[step["step"]] = printers.get(step["step"], 0) + 1
                if printers[step["step"]] == 1 and float(step["v"]) > 0:
                    means.append((int(step["step"]), float(step["v"]), index))
                continue
            total = _TOTAL.match(line)
            if total is not None:
                ranks = count or max(printers.values(), default=0) or None
                label = f"{ranks} gpus" if ranks else _label(document.name)
                if label:
                    yield Fact("throughput.at", f"{label}={float(total['v']):g} total", document.origin(index))
        elif "_per_second" in line:
            summary = _SUMMARY.search(line)
            label = _label(document.name)
            if summary is not None and label:
                yield Fact("throughput.at", f"{label}={float(summary['v']):g} total", document.origin(index))
    course = _unfold(means)
    found_facts = list(step_facts(document, course, absolute=False))
    yield from found_facts
    if not any(f.key == "step.level_shift" for f in found_facts):
        yield from _fall(document, course)


def _unfold(means: list[tuple[int, float, int]]) -> list[Step]:
    """Relative times of the steps between the lines, out of rates that are means since the first step."""
    result = []
    for (n, rate, _), (later, later_rate, line) in pairwise(means):
        spent = later / later_rate - n / rate
        if later > n and spent > 0:
            result.append(Step(later, spent / (later - n), line))
    return result


def _fall(document: Document, course: list[Step]) -> Iterator[Fact]:
    """A clear lasting slowdown in an excerpt that is too short for statistics."""
    for cut in range(2, len(course) - 1):
        before, after = [s.seconds for s in course[:cut]], [s.seconds for s in course[cut:]]
        if min(after) > 1.5 * max(before):
            yield Fact("step.level_shift", round(median(after) / median(before), 3), document.origin(course[cut].line))
            return


def _label(name: str) -> str | None:
    """The count that a file name tells, with what is counted."""
    found = _NAME_COUNT.search(name.rsplit("/", 1)[-1])
    if found is None:
        return None
    what = (found["what"] or found[0]).lower()
    return f"{found['n'] or found['n2']} {'nodes' if any(w in what for w in ('node', 'host', 'machine')) else 'gpus'}"


def _tables(document: Document) -> Iterator[Fact]:
    """Rows or paragraphs that begin with a count: `2 GPUs: 3.8 it/s`, `using 2 GPUs:` with times below."""
    if len(document.lines) > 300 or not _COUNTED.search(document.text):
        return
    label: str | None = None
    per_epoch = False
    for index, line in enumerate(document.messages):
        if not per_epoch and _PER_EPOCH.search(line):
            per_epoch = True
        head = _HEAD.match(line) if _COUNTED.search(line) else None
        rest = line
        if head is not None:
            number = WORDS.get(head["n"].lower()) or int(head["n"])
            what = "nodes" if head["what"].lower() in ("node", "machine", "server", "host") else "gpus"
            label, rest = f"{number} {what}", head["rest"]
        if label is None or "MiB" in line:
            continue
        rate, time = _RATE.search(rest), _TIME.search(rest)
        if rate is not None:
            unit = "steps" if rate["u"].lower().startswith(("it", "step", "batch")) else "total"
            yield Fact("throughput.at", f"{label}={float(rate['v'].replace(',', '')):g} {unit}", document.origin(index))
            label = None
        elif time is not None and (per_epoch or time["per"]):
            value = seconds(time["v"], time["u"])
            unit = "step" if time["per"] and "epoch" not in time["per"].lower() else "epoch"
            if value > 0:
                yield Fact(
                    "throughput.at",
                    f"{label}={1 / value:.6g} {'steps' if unit == 'step' else 'epoch'}",
                    document.origin(index),
                )
                label = None


def _evaluations(document: Document) -> Iterator[Fact]:
    """Time of the longest evaluation that a trainer reports."""
    found = [
        (float(m["v"]), i) for i in lines_with(document, ("eval_runtime",)) if (m := _EVAL.search(document.messages[i]))
    ]
    if found:
        value, index = max(found)
        yield Fact("eval.seconds", round(value, 2), document.origin(index))


def _checkpoints(document: Document) -> Iterator[Fact]:
    worst = 0.0
    where = 0
    begun: dict[str, float] = {}
    for index in lines_with(document, ("aving", "aved", "heckpoint", "state dict")):
        line = document.messages[index]
        if "aving" in line or "aved" in line:
            step = _FILE_SAVED.search(line[:2000])
            time = document.line(index).time if step is not None else None
            if step is not None and time is not None:
                if step["end"] is None:
                    begun[step["file"]] = time
                elif step["file"] in begun and worst < time - begun[step["file"]] < 86400:
                    worst, where = time - begun[step["file"]], index
        if "heckpoint" not in line and "state dict" not in line and "aved" not in line:
            continue
        found = _SAVED.search(line[:2000])
        if found is None:
            continue
        value = seconds(
            found["v"] or found["v2"] or found["v3"] or found["v4"], found["u"] or found["u2"] or found["u3"] or "ms"
        )
        if value > worst:
            worst, where = value, index
    if worst > 0:
        yield Fact("checkpoint.seconds", round(worst, 2), document.origin(where))
