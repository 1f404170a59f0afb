"""torchrun's failure report, and what other launchers say about how their processes ended.

Root Cause (first observed failure):
[0]:
  time      : 2024-05-02_10:11:12
  host      : gpu-a07
  rank      : 3 (local_rank: 3)
  exitcode  : -9 (pid: 1234)
  error_file: <N/A>
  traceback : Signal 9 (SIGKILL) received by PID 1234
"""

from __future__ import annotations

import re
from calendar import timegm
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from time import strptime

from assistant.facts import JOB, Fact, Origin, Subject
from assistant.intake.document import Document

NAME = "exit status of processes"
TRIGGERS = (
    "Root Cause (first observed failure)",
    "exitcode",
    "exit code",
    "return code",
    "exit status",
    "exited on signal",
    "exited with",
    "Exit code:",
    "terminated with signal",
    "terminated by signal",
    "$ echo $?",
    "SIGKILL",
    "Exited with",
)
VERSIONS = (
    "torchrun of PyTorch 1.9 to 2.9, torch.distributed.launch, DeepSpeed, accelerate, mpirun, srun, shell exit codes"
)

_SIGNALS = {
    1: "SIGHUP",
    2: "SIGINT",
    4: "SIGILL",
    6: "SIGABRT",
    7: "SIGBUS",
    8: "SIGFPE",
    9: "SIGKILL",
    11: "SIGSEGV",
    13: "SIGPIPE",
    15: "SIGTERM",
}
_NUMBERS = {name: number for number, name in _SIGNALS.items()}


@dataclass(slots=True)
class Entry:
    """One process of the failure report."""

    root: bool
    index: int
    time: str | None = None
    host: str | None = None
    rank: int | None = None
    exitcode: int | None = None
    error_file: str | None = None
    traceback: str | None = None


@cache
def _field() -> re.Pattern[str]:
    return re.compile(r"^\s+(?P<name>time|host|rank|exitcode|error_file|traceback)\s*: (?P<value>.*)$")


def entries(document: Document) -> list[Entry]:
    """The processes of all failure reports in the text."""
    found: list[Entry] = []
    root, inside = False, False
    for index, message in enumerate(document.messages):
        text = message.rstrip()
        if text.startswith("Root Cause"):
            root, inside = True, True
        elif text.strip() in ("Failures:", "Other Failures:"):
            root, inside = False, True
        elif inside and re.fullmatch(r"\s*\[\d+\]:", text):
            found.append(Entry(root, index))
        elif inside and found and (matched := _field().match(text)):
            _fill(found[-1], matched["name"], matched["value"].strip())
        elif inside and re.fullmatch(r"=+", text) and found:
            inside = False
    return found


def _fill(entry: Entry, name: str, value: str) -> None:
    number = re.match(r"(-?\d+)", value)
    if name == "time":
        entry.time = value
    elif name == "host":
        entry.host = value
    elif name == "rank":
        entry.rank = int(number[1]) if number else None
    elif name == "exitcode":
        entry.exitcode = int(number[1]) if number else None
    elif name == "error_file":
        entry.error_file = None if "N/A" in value else value
    else:
        entry.traceback = value


def seconds(text: str | None) -> float | None:
    """The time of the report as seconds; None where it can't be read."""
    try:
        return float(timegm(strptime((text or "")[:19], "%Y-%m-%d_%H:%M:%S")))
    except ValueError:
        return None


@cache
def _lines() -> tuple[re.Pattern[str], ...]:
    return (
        re.compile(r"failed \(exitcode: (?P<code>-?\d+)\) local_rank: (?P<local>\d+) \(pid: \d+\) of"),
        re.compile(r"exits with return code = (?P<code>-?\d+)"),
        re.compile(r"process rank (?P<rank>\d+) with PID \d+ on node (?P<host>\S+) exited on signal (?P<signal>\d+)"),
        re.compile(r"[Pp]rocess (?P<rank>\d+) terminated with signal (?P<name>SIG[A-Z]+)"),
        re.compile(r"[Pp]rocess (?P<rank>\d+) terminated with exit code (?P<code>\d+)"),
        re.compile(r"(?P<host>[\w.-]+): tasks? (?P<tasks>[\d,\-\[\]]+): Exited with exit code (?P<code>\d+)"),
        re.compile(
            r"(?P<host>[\w.-]+): tasks? (?P<tasks>[\d,\-\[\]]+): (?P<word>Killed|Terminated|Segmentation fault|Bus error|Aborted|Out Of Memory|Floating point exception)"
        ),
        re.compile(r"\bExit [Cc]ode:\s+(?P<code>-?\d+)"),
        re.compile(
            r"(?:[Pp]rocess|[Cc]ommand|[Cc]ontainer|[Jj]ob|Program|Script)[^:]{0,60} (?:finished|exited|failed|ended|terminated|exits) with (?:return |exit |error )?(?:code|status)[ :=]+(?P<code>-?\d+)"
        ),
        re.compile(r"returned non-zero exit status (?P<code>\d+)"),
        re.compile(r"died with <Signals\.(?P<name>SIG[A-Z]+): \d+>"),
        re.compile(r"Process with rank (?P<rank>\d+).{0,40}exit(?:ed)?.{0,10}(?:code|status)[ :=]+(?P<code>-?\d+)"),
    )


_WORDS = {
    "Killed": -9, "Terminated": -15, "Segmentation fault": -11, "Bus error": -7, "Aborted": -6, "Out Of Memory": -9, "Floating point exception": -8,
}  # fmt: skip


def parse(document: Document) -> Iterable[Fact]:
    facts: list[Fact] = []
    report = entries(document)
    for entry in report:
        facts += _of_entry(document, entry)
    if report:
        order = [e for e in report if e.root] + [e for e in report if not e.root]
        ranks = list(dict.fromkeys(str(e.rank) for e in order if e.rank is not None))
        if ranks:
            facts.append(Fact("torchrun.failed_ranks", ",".join(ranks), document.origin(order[0].index)))
    facts += _of_lines(document)
    facts += _of_shell(document)
    return facts


def _of_entry(document: Document, entry: Entry) -> list[Fact]:
    host = entry.host or document.origin(entry.index).host
    origin = replace(
        document.origin(entry.index), host=host, rank=entry.rank, quote=_quote(entry), time=seconds(entry.time)
    )
    subject = Subject("rank", str(entry.rank)) if entry.rank is not None else JOB
    facts = []
    if entry.root:
        if entry.rank is not None:
            facts.append(Fact("torchrun.root_rank", entry.rank, origin))
        if entry.host:
            facts.append(Fact("torchrun.root_host", entry.host, origin))
        if entry.exitcode is not None:
            facts.append(Fact("torchrun.exitcode", entry.exitcode, origin))
    if entry.exitcode is not None:
        facts += _exit(entry.exitcode, origin, subject)
    return facts


def _quote(entry: Entry) -> str:
    return f"rank {entry.rank} on {entry.host}: exitcode {entry.exitcode}, {entry.traceback or ''}".rstrip(", ")[:300]


def _exit(code: int, origin: Origin, subject: Subject) -> list[Fact]:
    """Exit code and signal; a shell's 128 + n is the signal n."""
    if 128 < code <= 128 + 31:
        code = 128 - code
    facts = [Fact("exit_code", code, origin, subject)]
    if code < 0:
        facts.append(Fact("exit.signal", _SIGNALS.get(-code, f"signal {-code}"), origin, subject))
    return facts


def _of_lines(document: Document) -> list[Fact]:
    facts: list[Fact] = []
    seen: set[tuple[int, object]] = set()
    for index, message in enumerate(document.messages):
        if not (
            "xit" in message
            or "signal" in message
            or "return code" in message
            or "task" in message
            or "died with" in message
        ):
            continue
        found = next((m for p in _lines() if (m := p.search(message))), None)
        if found is None:
            continue
        group = found.groupdict()
        code = _code(group)
        origin = document.origin(index)
        if group.get("host") and group["host"] not in ("error", "srun"):
            origin = replace(origin, host=group["host"])
        rank = group.get("rank") or _single(group.get("tasks"))
        if rank is not None:
            origin = replace(origin, rank=int(rank))
        key = (code, rank if rank is not None else origin.host)
        if key in seen or len(seen) > 300:
            continue
        seen.add(key)
        facts += _exit(code, origin, Subject("rank", rank) if rank is not None else JOB)
    return facts


def _single(tasks: str | None) -> str | None:
    return tasks if tasks and tasks.isdecimal() else None


def _code(group: dict[str, str | None]) -> int:
    if group.get("code"):
        return int(group["code"] or 0)
    if group.get("signal"):
        return -int(group["signal"] or 0)
    if group.get("name"):
        return -_NUMBERS.get(group["name"] or "", 0)
    return _WORDS[group["word"] or ""]


def _of_shell(document: Document) -> list[Fact]:
    """`echo $?` and the figure below it."""
    for index, message in enumerate(document.messages[:-1]):
        if message.rstrip().endswith("echo $?"):
            code = document.messages[index + 1].strip()
            if re.fullmatch(r"\d{1,3}", code):
                facts = _exit(int(code), document.origin(index + 1, "tool"), JOB)
                return [*facts, Fact("run.succeeded", code == "0", document.origin(index + 1, "tool"))]
    return []
