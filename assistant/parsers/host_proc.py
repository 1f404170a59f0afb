r"""`ps` and `top`: training processes in state D or Z, what else uses the CPUs, swap daemons.

USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND
u4102     211058  117  4.6 17517200480 24494736 ? Dl  00:36 291:14 python
    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND
   8123 me        20   0  182.7g  98.2g 812340 R 101.3  19.5  12:01.33 python3
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from assistant.facts import Fact, Origin, Subject
from assistant.intake.document import Document
from assistant.parsers._device import host_subject, hosts_by_line

NAME = "ps, top"
TRIGGERS = ("%CPU", "STAT", "<defunct>", "COMMAND", "CMD")
VERSIONS = "ps aux and -eo of procps 3.3 and 4, top in batch mode"

_TRAINING = re.compile(r"python|train|torchrun|pt_main|pt_data|ray::|deepspeed|nccl|perf\b", re.IGNORECASE)
_SYSTEM = re.compile(
    r"^(?:\[?(?:kworker|rcu_|migration|ksoftirqd|irq/|watchdog|systemd|top|ps|htop|nvidia-smi|sshd|bash|kthreadd))"
)
_SWAP = re.compile(r"kswapd|kcompactd|khugepaged")


@dataclass
class _Process:
    host: str | None
    pid: str
    cpu: float | None
    state: str
    command: str
    origin: Origin


def parse(document: Document) -> Iterable[Fact]:
    hosts = hosts_by_line(document)
    columns: list[str] = []
    found: list[_Process] = []
    for index, text in enumerate(document.lines):
        words = text.split()
        if not words or len(text) > 2000:
            continue
        if ("PID" in words or "pid" in words) and any(w in words for w in ("COMMAND", "CMD", "Command")):
            columns = [w.upper() for w in words]
            continue
        if columns and len(words) >= len(columns):
            process = _process(columns, words, document, index, hosts[index])
            if process:
                found.append(process)
        elif "<defunct>" in text and re.search(r"\b\d{2,}\b", text):
            yield Fact("proc.defunct", text.strip()[-80:], document.origin(index, "tool"), host_subject(hosts[index]))
    for host in dict.fromkeys(p.host for p in found):
        yield from _judge([p for p in found if p.host == host], host)


def _process(columns: list[str], words: list[str], document: Document, index: int, host: str | None) -> _Process | None:
    row = dict(zip(columns, words, strict=False))
    pid = row.get("PID", "")
    if not pid.isdecimal():
        return None
    state = row.get("STAT", row.get("S", row.get("STATE", "")))
    cpu = row.get("%CPU", "")
    last = "COMMAND" if "COMMAND" in columns else "CMD"
    place = columns.index(last) if last in columns else len(columns) - 1
    amount = float(cpu) if re.fullmatch(r"\d+(?:\.\d+)?", cpu) else None
    return _Process(host, pid, amount, state, " ".join(words[place:])[:120], document.origin(index, "tool"))


def _judge(processes: list[_Process], host: str | None) -> Iterable[Fact]:
    subject = host_subject(host)
    stuck = [p for p in processes if p.state.startswith("D") and not _SYSTEM.match(p.command)]
    if stuck:
        yield Fact("proc.d_count", len({p.pid for p in stuck}), stuck[0].origin, subject)
    training = [p for p in processes if _TRAINING.search(p.command)]
    for process in training:
        if process.state.startswith("D"):
            yield Fact("proc.state_d", f"{process.command[:60]} (pid {process.pid})", process.origin, subject)
        elif process.state.startswith("Z") or "<defunct>" in process.command:
            yield Fact("proc.defunct", f"{process.command[:60]} (pid {process.pid})", process.origin, subject)
    for process in processes:
        busy = process.cpu or 0.0
        if _SWAP.search(process.command) and busy > 20:
            yield Fact("proc.swapd_busy", True, process.origin, subject)
        elif busy >= 150 and not _TRAINING.search(process.command) and not _SYSTEM.match(process.command):
            yield Fact("proc.foreign_cpu", f"{process.command[:60]} ({busy:g} % CPU)", process.origin, subject)
            yield Fact("proc.foreign_cpu_pct", busy, process.origin, subject)
    yield from _many_small(processes, subject)
    loads = [p.cpu for p in training if p.cpu is not None]
    if len(loads) >= 4:
        middle = median(loads)
        for process in training:
            if (
                process.cpu is not None
                and middle > 60
                and process.cpu < 0.3 * middle
                and not process.state.startswith(("Z", "D"))
            ):
                yield Fact(
                    "proc.low_cpu_rank",
                    f"{process.command[:40]} (pid {process.pid}, {process.cpu:g} % CPU)",
                    process.origin,
                    subject,
                )
                break


def _many_small(processes: list[_Process], subject: Subject) -> Iterable[Fact]:
    """Several processes of one foreign program that each fill a core."""
    programs: dict[str, list[_Process]] = {}
    for process in processes:
        if (
            40 <= (process.cpu or 0.0) < 150
            and not _TRAINING.search(process.command)
            and not _SYSTEM.match(process.command)
            and not _SWAP.search(process.command)
        ):
            programs.setdefault(process.command.split()[0], []).append(process)
    for program, found in programs.items():
        total = sum(p.cpu or 0.0 for p in found)
        if len(found) > 1 and total >= 150:
            yield Fact(
                "proc.foreign_cpu",
                f"{program[:60]} ({len(found)} processes, {total:g} % CPU)",
                found[0].origin,
                subject,
            )
            yield Fact("proc.foreign_cpu_pct", total, found[0].origin, subject)
