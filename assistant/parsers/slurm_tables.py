r"""Tables of Slurm: `sacct` (aligned, -P, --json), `squeue`, `sinfo -R`, `sinfo -N`, `scontrol show node` and `show job`.

JobID|JobName|State|ExitCode|NodeList
81234.0|train|FAILED|1:0|gpu-[01-04]

REASON               USER      TIMESTAMP           NODELIST
Not responding       slurm     2024-08-30T21:25:06 gpu[003,007-008]

NodeName=gpu07 Arch=x86_64 CoresPerSocket=32
   State=DOWN*+DRAIN ThreadsPerCore=2 TmpDisk=0 Weight=1
   Reason=Not responding [slurm@2024-08-30T21:25:06]
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from assistant.facts import Fact, Subject
from assistant.intake.document import Document
from assistant.parsers._gather import Gather, host_named
from assistant.parsers._host_list import expand

NAME = "Slurm tables"
TRIGGERS = (
    "JobID",
    "JOBID",
    "NODELIST",
    "NodeName=",
    "JobId=",
    '"exit_code"',
    '"slurm"',
)
VERSIONS = "Slurm 17.11 to 25.05: sacct aligned, -p, -P and --json (data_parser 0.0.37 and later), squeue, sinfo -R, -N and -l, scontrol show node and job"

#: States of a node that do not let a job run there.
_BAD = ("DOWN", "FAIL", "DRAIN", "UNKNOWN", "POWERED_DOWN", "POWERING_DOWN", "REBOOT", "NOT_RESPONDING", "NO_RESPOND", "MAINT")  # fmt: skip
_SHORT = {
    "down": "DOWN",
    "drain": "DRAIN",
    "drained": "DRAIN",
    "drng": "DRAINING",
    "draining": "DRAINING",
    "fail": "FAIL",
    "failg": "FAILING",
    "unk": "UNKNOWN",
    "boot": "REBOOT",
    "maint": "MAINT",
    "inval": "DOWN",
}
_JOB_STATES = frozenset(["COMPLETED", "FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "CANCELLED", "PREEMPTED", "BOOT_FAIL", "DEADLINE", "PENDING", "RUNNING", "COMPLETING", "REQUEUED", "SUSPENDED"])  # fmt: skip
_STATE_CUT = {"OUT_OF_ME+": "OUT_OF_MEMORY", "CANCELLED+": "CANCELLED", "CANCELLED by+": "CANCELLED"}


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "reason": re.compile(r"^(?P<why>\S.{0,80}?)\s+(?P<user>[\w.()+-]+)\s+(?P<time>\d{4}-\d\d-\d\dT[\d:]{8}|Unknown)\s+(?:(?P<state>[a-z]+)[*~#$@+!%^-]*\s+)?(?P<nodes>[A-Za-z][\w.\[\],-]*)\s*$"),
        "node": re.compile(r"^\s*NodeName=(?P<name>\S+)"),
        "state": re.compile(r"^\s+State=(?P<state>\S+)"),
        "why": re.compile(r"^\s+Reason=(?P<why>.+?)(?: \[\S+\])?\s*$"),
        "job": re.compile(r"^\s*JobId=(?P<id>\d+)"),
        "field": re.compile(r"\b(?P<key>NumNodes|NumTasks|NodeList|BatchHost|ExitCode|Restarts|TimeLimit|RunTime)=(?P<value>\S+)"),
        "exit": re.compile(r"^(?P<code>\d+):(?P<signal>\d+)$"),
    }  # fmt: skip


def parse(document: Document) -> Iterable[Fact]:
    found = Gather(document, "tool")
    if '"exit_code"' in document.text and document.text.lstrip()[:1] == "{":
        _json(found, document.text)
    _tables(found, document)
    _show(found, document)
    facts = found.facts
    return [*facts, Fact("scheduler", "slurm", facts[0].origin)] if facts else []


#: Of these one stands in the heading of every table.
_HEADS = ("JobID", "JOBID", "NODELIST", "REASON", "User")


def _tables(found: Gather, document: Document) -> None:
    columns: list[tuple[str, int]] = []
    pipes: list[str] = []
    reasons = ruled = False
    for index, text in enumerate(document.messages):
        if not text or len(text) > 4000:
            continue
        if not (columns or pipes or reasons or any(head in text for head in _HEADS)):
            continue
        words = text.split()
        if text.startswith(("JobID|", "JobIDRaw|", "User|JobID|", "Account|JobID|")) or (
            "|JobID|" in text and "|State" in text
        ):
            pipes, columns, reasons = [w.lower() for w in text.strip().strip("|").split("|")], [], False
            continue
        if words[:2] == ["REASON", "USER"]:
            reasons, columns, pipes = True, [], []
            continue
        if (
            words
            and words[0] in ("JobID", "JOBID", "NODELIST", "JobIDRaw", "User")
            and len(words) > 2
            and "|" not in text
        ):
            columns, pipes, reasons = [(m[0].lower(), m.start()) for m in re.finditer(r"\S+", text)], [], False
            ruled = False
            continue
        if set(text) <= set("- "):
            columns, ruled = _dashes(text, columns), True
            continue
        if reasons:
            row = _patterns()["reason"].match(text)
            if row:
                _reason(found, index, row)
            continue
        if pipes and text.count("|") >= len(pipes) - 1:
            _row(found, index, dict(zip(pipes, text.strip("\n").split("|"), strict=False)))
        elif columns and len(words) > 2:
            _row(found, index, _cut(text, columns, ruled))


def _dashes(line: str, columns: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Where the columns of an aligned table begin: sacct's ruler tells (headings may stand on the right)."""
    starts = [m.start() for m in re.finditer(r"-+", line)]
    return [(name, start) for (name, _), start in zip(columns, starts, strict=False)] if columns else []


def _cut(text: str, columns: list[tuple[str, int]], ruled: bool) -> dict[str, str]:
    """The cells of a row. Without a ruler only the last column may hold several words."""
    words = text.split()
    if len(words) == len(columns) or not ruled:
        words = text.split(None, len(columns) - 1)
        return (
            {name: word for (name, _), word in zip(columns, words, strict=False)} if len(words) == len(columns) else {}
        )
    ends = [start for _, start in columns[1:]] + [len(text)]
    return {name: text[start:end].strip() for (name, start), end in zip(columns, ends, strict=True)}


def _row(found: Gather, index: int, row: dict[str, str]) -> None:
    """One job, step or node of a table."""
    step = row.get("jobid") or row.get("jobidraw") or ""
    state = row.get("state") or ""
    if not step and "nodelist" in row:
        _node_state(found, index, row["nodelist"], state.rstrip("*~#$@+!%^-"))
        return
    word = _STATE_CUT.get(state, state.split(" ")[0])
    if not re.match(r"\d", step) or word not in _JOB_STATES:
        return
    found.add("slurm.step_state", f"{step} {word}", index)
    nodes = row.get("nodelist") or row.get("nodelist(reason)") or ""
    if word not in ("COMPLETED", "RUNNING", "PENDING") and nodes and "None" not in nodes and "(" not in nodes:
        hosts = expand(nodes)
        if len(hosts) == 1:
            found.add("slurm.failed_on", word, index, host_named(hosts[0]))
    waits = re.match(r"\((?P<why>[\w ,()]+)\)$", nodes)
    if waits and word == "PENDING":
        found.add("slurm.reason", waits["why"], index)
    ended = _patterns()["exit"].match(row.get("exitcode") or "")
    if ended:
        _exit(found, index, step, int(ended["code"]), int(ended["signal"]))
    rss = re.match(r"(\d+(?:\.\d+)?)([KMG])?$", row.get("maxrss") or "")
    if rss and float(rss[1]) > 0:
        gigabytes = float(rss[1]) * {"K": 1024, "M": 1024**2, "G": 1024**3}.get(rss[2] or "", 1) / 1e9
        node = row.get("maxrssnode") or ""
        found.add("slurm.max_rss_gb", round(gigabytes, 2), index, host_named(node) if node else Subject())


def _exit(found: Gather, index: int, step: str, code: int, signal: int) -> None:
    if "." in step and (code or signal):
        found.add("slurm.step_exit", f"{step} {code}:{signal}", index)


def _reason(found: Gather, index: int, row: re.Match[str]) -> None:
    for host in expand(row["nodes"])[:64]:
        found.add("slurm.node_reason", row["why"].strip(), index, host_named(host))
        if row["state"]:
            _node_state(found, index, host, row["state"])


def _node_state(found: Gather, index: int, nodes: str, state: str) -> None:
    word = _SHORT.get(state.lower(), state.upper())
    if any(bad in word for bad in _BAD):
        for host in expand(nodes)[:64]:
            found.add("slurm.node_state", word, index, host_named(host))


def _show(found: Gather, document: Document) -> None:
    """scontrol show node, show job."""
    patterns = _patterns()
    node = ""
    job = False
    for index, text in enumerate(document.messages):
        if "=" not in text or not (node or job or "NodeName=" in text or "JobId=" in text):
            continue
        named = patterns["node"].match(text)
        if named:
            node, job = (
                ("" if "[" in named["name"] else named["name"]),
                False,
            )  # a list of nodes stands in slurm.conf only
        if patterns["job"].match(text):
            node, job = "", True
        if node:
            state, why = patterns["state"].match(text), patterns["why"].match(text)
            if state:
                word = state["state"].replace("*", "+NOT_RESPONDING").upper()
                if any(bad in word for bad in _BAD):
                    found.add("slurm.node_state", word, index, host_named(node))
            elif why:
                found.add("slurm.node_reason", why["why"], index, host_named(node))
        elif job:
            for field in patterns["field"].finditer(text):
                _job_field(found, index, field["key"], field["value"])


def _job_field(found: Gather, index: int, key: str, value: str) -> None:
    number = re.match(r"\d+", value)
    if key == "NumNodes" and number:
        found.add("nodes", int(number[0]), index)
    elif key == "NumTasks" and number:
        found.add("slurm.tasks", int(number[0]), index)
    elif key == "Restarts" and number and int(number[0]):
        found.add("slurm.restarts", int(number[0]), index)
    elif key == "NodeList" and value[:1].isalpha():
        found.add("launch.hosts", ",".join(expand(value)[:64]), index)


def _json(found: Gather, text: str) -> None:
    """sacct --json: jobs with their steps."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return
    jobs = data.get("jobs") if isinstance(data, dict) else None
    for job in jobs[:200] if isinstance(jobs, list) else []:
        if not isinstance(job, dict):
            continue
        for item in [job, *[s for s in job.get("steps") or [] if isinstance(s, dict)][:50]]:
            for state in _states(item.get("state")):
                if state in _JOB_STATES:
                    found.add("slurm.state", state, 0)
                    found.add("slurm.step_state", f"{_name(item, job)} {state}", 0)
            code, signal = _code(item.get("exit_code"))
            if item is not job and (code or signal):
                found.add("slurm.step_exit", f"{_name(item, job)} {code}:{signal}", 0)


def _states(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield from (v for v in value if isinstance(v, str))
    elif isinstance(value, dict):
        yield from _states(value.get("current"))


def _name(item: dict[str, Any], job: dict[str, Any]) -> str:
    step = item.get("step")
    inner = step.get("id") if isinstance(step, dict) else None
    if isinstance(inner, str):
        return inner
    if isinstance(inner, dict):
        return f"{inner.get('job_id', job.get('job_id'))}.{inner.get('step_id', '')}"
    return str(job.get("job_id", ""))


def _code(value: Any) -> tuple[int, int]:
    """The exit code in its forms: a number, {"return_code": 1}, {"return_code": {"number": 1}, "signal": {"id": {"number": 9}}}."""

    def number(item: Any) -> int:
        while isinstance(item, dict):
            item = item.get("number", item.get("id", item.get("signal_id")))
        return item if isinstance(item, int) else 0

    if isinstance(value, dict):
        return number(value.get("return_code")), number(value.get("signal"))
    return number(value), 0
