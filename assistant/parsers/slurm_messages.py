"""What Slurm says about jobs, steps and nodes: messages of srun and slurmstepd, sacct and scontrol.

slurmstepd: error: *** JOB 81234 ON gpu-a07 CANCELLED AT 2025-09-02T10:31:05 DUE TO TIME LIMIT ***
srun: error: Node failure on gpu-a09
srun: error: gpu-a04: tasks 28-29: Out Of Memory
81234.0      train  OUT_OF_MEMORY  0:125
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache

from assistant.facts import Fact, Subject, Value
from assistant.intake.document import Document
from assistant.parsers._lines import lines_with

NAME = "Slurm messages"
TRIGGERS = (
    "slurmstepd", "srun:", ": Out Of Memory", "slurm_", "sacct", "scontrol", "JobState=", "OUT_OF_MEMORY", "OUT_OF_ME+", "NODE_FAIL", "PREEMPTED", "CANCELLED", "oom_kill", "oom-kill event",
    "ExitCode", "sbatch:", "salloc:", "SlurmctldProlog",
)  # fmt: skip
VERSIONS = "Slurm 17.11 to 25.05: srun, slurmstepd, sbatch, salloc, states in sacct and scontrol"

_STATE_PATTERN = (
    "COMPLETED|FAILED|TIMEOUT|NODE_FAIL|OUT_OF_MEMORY|CANCELLED|PREEMPTED|BOOT_FAIL|DEADLINE|PENDING|RUNNING|COMPLETING"
)


@cache
def _cancel() -> re.Pattern[str]:
    return re.compile(
        r"\*\*\* (?:JOB|STEP) \S+ ON (?P<node>\S+) CANCELLED AT \S+(?: DUE [Tt][Oo] (?P<why>[A-Z ]+?))?(?: \*\*\*|,|\s*$)"
    )


@cache
def _state() -> re.Pattern[str]:
    return re.compile(
        r"(?:JobState=|State=|^\s*\d+(?:_\d+)?(?:\.\w+)?[\s|].*?[\s|])(?P<state>"
        + _STATE_PATTERN
        + r"|OUT_OF_ME\+|CANCELLED\+)(?=[\s|+]|$)"
    )


@cache
def _node() -> re.Pattern[str]:
    return re.compile(
        r"Node failure on (?P<a>[\w.\[\],-]+)|Job launched on node (?P<b>\S+) .*not responding|[Nn]odes? (?P<c>[\w.\[\],-]+) (?:is |are )?(?:not responding|DOWN|down)\b|"
        r"task launch for \S+ failed on node (?P<d>\S+): (?:Communication|Socket|Unable)|due to failure of node (?P<e>\S+)"
    )


@cache
def _out_of_memory() -> re.Pattern[str]:
    return re.compile(r"(?P<host>[\w.-]+): tasks? (?P<tasks>[\d,\-\[\]]+): Out Of Memory")


@cache
def _label() -> re.Pattern[str]:
    return re.compile(r"^(\d{1,5}): ")


_WHY = {"TIME LIMIT": "TIMEOUT", "PREEMPTION": "PREEMPTED", "NODE FAILURE": "NODE_FAIL", "NODE FAIL": "NODE_FAIL"}


#: Tasks of one line that are looked up one by one.
_TASKS = 16
_HINTS = ("***", "oom", "Out Of Memory", "OUT_OF_ME", "Exceeded", "State=", "ode failure", "esponding", "DOWN", " down", "failed on node", "failure of node", "Reason=", "COMPLETED", "FAILED",
          "TIMEOUT", "NODE_FAIL", "CANCELLED", "PREEMPTED", "BOOT_FAIL", "DEADLINE", "PENDING", "RUNNING", "COMPLETING")  # fmt: skip


def parse(document: Document) -> Iterable[Fact]:
    facts: list[Fact] = []
    seen: set[tuple[str, Value]] = set()
    for index in lines_with(document, _HINTS):
        message = document.messages[index]
        for key, value in _read(message):
            if (key, value) not in seen:
                seen.add((key, value))
                facts.append(Fact(key, value, document.origin(index)))
        if ": Out Of Memory" in message and (found := _out_of_memory().search(message)):
            facts += _ended_for_memory(document, index, found["host"], found["tasks"])
    labels = {m[1] for line in document.lines if (m := _label().match(line))}
    if len(labels) > 1:
        facts.append(Fact("slurm.tasks_shown", len(labels), document.origin(0)))
    if facts:
        facts.append(Fact("scheduler", "slurm", facts[0].origin))
    return facts


def _ended_for_memory(document: Document, index: int, host: str, tasks: str) -> Iterator[Fact]:
    """Where a task was ended. Its number is that of a rank only where NCCL shows that rank on the same host."""
    origin = replace(document.origin(index), host=host)
    yield Fact("slurm.oom_host", f"task {tasks.strip('[]')}", origin, Subject("host", host))
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", tasks)[:_TASKS]:
        for task in range(int(first), min(int(last or first), int(first) + _TASKS) + 1):
            if re.search(rf"(?m)^(?:\d+: +)?{re.escape(host)}:\d+:\d+ .*\brank {task} nranks ", document.text):
                yield Fact("slurm.oom_rank", host, replace(origin, rank=task), Subject("rank", str(task)))


def _read(message: str) -> Iterator[tuple[str, Value]]:
    if "***" in message and (found := _cancel().search(message)):
        why = (found["why"] or "").strip()
        yield "slurm.state", _WHY.get(why, "CANCELLED")
        if why:
            yield "slurm.reason", why
        if _WHY.get(why) == "NODE_FAIL":
            yield "slurm.lost_node", found["node"]
    if re.search(r"oom[-_]kill|OUT_OF_MEMORY|OUT_OF_ME\+|Exceeded (?:step|job) memory limit|oom-kill event", message):
        yield "slurm.state", "OUT_OF_MEMORY"
    found = _state().search(message)
    if found:
        yield (
            "slurm.state",
            {"OUT_OF_ME+": "OUT_OF_MEMORY", "CANCELLED+": "CANCELLED"}.get(found["state"], found["state"]),
        )
    found = _node().search(message)
    if found:
        yield "slurm.lost_node", next(g for g in found.groups() if g)
        yield "slurm.state", "NODE_FAIL"
    found = re.search(r"\bReason=(\w+)", message)
    if found and found[1] not in ("None", "none"):
        yield "slurm.reason", found[1]
