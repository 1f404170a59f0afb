r"""What the launchers of MPI say: Open MPI (ORTE, PRRTE) and MPICH's Hydra, which Intel MPI uses too.

mpirun noticed that process rank 3 with PID 40117 on node gpu07 exited on signal 9 (Killed).
  Process name: [prterun-head-2301@1,5]
  Exit code:    1
There are not enough slots available in the system to satisfy the 16
slots that were requested by the application:
ORTE has lost communication with a remote daemon.
  Remote daemon: [[21391,0],2] on node gpu12
MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD
=   RANK 1 PID 65033 RUNNING AT gpu07
=   KILLED BY SIGNAL: 9 (Killed)
Abort(1614735) on node 0 (rank 0 in comm 0): Fatal error in PMPI_Init: Unknown error class, error stack:
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from assistant.facts import JOB, Fact
from assistant.intake.document import Document
from assistant.parsers._gather import Gather, host_named, rank_subject
from assistant.parsers._lines import lines_with

NAME = "MPI launcher"
TRIGGERS = (
    "mpirun noticed",
    "mpiexec noticed",
    "prterun noticed",
    "prterun-",
    "not enough slots available",
    "MPI_ABORT was invoked",
    "BAD TERMINATION OF ONE",
    "ORTE ",
    "PRTE ",
    "Fatal error in PMPI",
    "Fatal error in internal_",
    "Open MPI ",
    "HYD_pmcd",
    "exited with non-zero status",
    "Process name: [[",
)
VERSIONS = "Open MPI 1.6 to 5.0 with ORTE and PRRTE 3, MPICH 3 and 4 with Hydra, Intel MPI 2018 to 2021"

_HINTS = (
    "noticed",
    "Process name",
    "Exit code",
    "slots",
    "MPI_ABORT",
    "RANK ",
    "KILLED BY",
    "EXIT CODE",
    "daemon",
    "ORTE ",
    "PRTE ",
    "Remote host:",
    "Failing host:",
    "Fatal error in",
    "HYD_",
)
_BLOCK = 12
"""Lines of one help message or report."""


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "signal": re.compile(
            r"noticed that process rank (?P<rank>\d+) with PID \d+ on node (?P<host>\S+) exited on signal (?P<n>\d+)"
        ),
        "process": re.compile(r"Process name: \[(?:\[\d+,\d+\],(?P<a>\d+)|prterun-(?P<host>.+?)-\d+@\d+,(?P<b>\d+))\]"),
        "code": re.compile(r"Exit code:\s+(?P<n>\d+)"),
        "slots": re.compile(r"not enough slots available in the system to satisfy the (?P<n>\d+)"),
        "abort": re.compile(r"MPI_ABORT was invoked on rank (?P<rank>\d+)"),
        "hydra": re.compile(r"^=\s+RANK (?P<rank>\d+) PID \d+ RUNNING AT (?P<host>\S+)"),
        "killed": re.compile(r"^=\s+KILLED BY SIGNAL: (?P<n>\d+)"),
        "exit": re.compile(r"^=\s+EXIT CODE: (?P<n>\d+)"),
        "daemon": re.compile(r"Remote daemon: \S+ on node (?P<host>\S+)"),
        "host": re.compile(r"(?:Remote|Failing) host:\s+(?P<host>[\w.-]+)"),
        "fatal": re.compile(r"Abort\(\d+\) on node (?P<rank>\d+) .*?Fatal error in (?P<call>\w+)"),
        "proxy": re.compile(r"\[(?:proxy:\d+:\d+|mpiexec)@(?P<host>[\w.-]+)\] HYD\w+ .*(?:assert|fail|error|closed)"),
    }  # fmt: skip


def parse(document: Document) -> Iterable[Fact]:
    found = Gather(document)
    patterns = _patterns()
    block, started, rank, host = "", 0, "", ""
    for index in lines_with(document, _HINTS):
        text = document.line(index).text
        if index - started > _BLOCK:
            block, rank, host = "", "", ""
        if re.search(r"(?:ORTE|PRTE|daemon)\b", text) and re.search(
            r"lost communication|unexpectedly failed|unable to reliably start|lost connection", text
        ):
            block, started = "daemon", index
            found.add("mpi.daemon_failed", _how(text), index)
        signal = patterns["signal"].search(text)
        if signal:
            found.add("mpi.killed_by", int(signal["n"]), index, rank_subject(signal["rank"]), host=signal["host"])
            found.add("mpi.failed_rank", int(signal["rank"]), index, rank_subject(signal["rank"]), host=signal["host"])
            found.add("mpi.failed_host", signal["host"], index, host_named(signal["host"]))
        process = patterns["process"].search(text)
        if process:
            rank, host, block, started = process["a"] or process["b"], "", "process", index
            found.add("mpi.failed_rank", int(rank), index, rank_subject(rank))
        code = patterns["code"].search(text)
        if code and block == "process":
            found.add("mpi.exit_code", int(code["n"]), index, rank_subject(rank))
        slots = patterns["slots"].search(text)
        if slots:
            found.add("mpi.slots_short", int(slots["n"]), index)
        abort = patterns["abort"].search(text)
        if abort:
            found.add("mpi.aborted", True, index, rank_subject(abort["rank"]))
        hydra = patterns["hydra"].match(text)
        if hydra:
            rank, host, block, started = hydra["rank"], hydra["host"], "hydra", index
            found.add("mpi.failed_rank", int(rank), index, rank_subject(rank), host=host)
            found.add("mpi.failed_host", host, index, host_named(host))
        ended = patterns["killed"].match(text) or patterns["exit"].match(text)
        if ended and block == "hydra":
            key = "mpi.killed_by" if "KILLED" in text else "mpi.exit_code"
            found.add(key, int(ended["n"]), index, rank_subject(rank), host=host)
        lost = patterns["daemon"].search(text)
        named = patterns["host"].search(text) if block == "daemon" else None
        if lost:
            found.add("mpi.lost_host", lost["host"], index, host_named(lost["host"]))
        elif named:
            found.add("mpi.lost_host", named["host"], index, host_named(named["host"]))
        fatal = patterns["fatal"].search(text)
        if fatal:
            found.add("mpi.fatal_in", fatal["call"], index, rank_subject(fatal["rank"]))
        proxy = patterns["proxy"].search(text)
        if proxy:
            found.add("mpi.proxy_broke", proxy["host"], index, host_named(proxy["host"]))
    return [*found.facts, Fact("launcher", "mpirun", found.facts[0].origin, JOB)] if found else []


def _how(text: str) -> str:
    if "unable to reliably start" in text:
        return "not-started"
    return "lost" if "lost" in text else "died"
