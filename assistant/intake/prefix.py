"""The marks that launchers, schedulers and loggers put before a line: who wrote it, and when.

Marks nest (`[pod/a-0/main] 2024-01-01T00:00:00Z stderr F [default3]:[rank11]: ...`) and are taken off from the outside in.
What a program's own logger writes (NCCL's `host:pid:tid [dev] `, dates, levels, the kernel's `[12.345]`) is read but stays
in the message, since signatures match on it. Marks that look like ordinary text (`3: `, `node1: `, `worker | `) are taken
only where the rest of the line shows a log line, or where `Splitter.of` saw that the whole text is marked like that.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from assistant.intake.marks import CAUTIOUS, Marks, host_like, marks_of
from assistant.intake.names import host_of_name, rank_of_name
from assistant.intake.times import time_at


class Prefix(NamedTuple):
    """`local_rank` is what torchrun's `[default3]:` tells: the rank on its node, which is the rank only on a single node."""

    message: str
    host: str | None = None
    rank: int | None = None
    time: float | None = None
    local_rank: int | None = None


@dataclass(slots=True)
class _State:
    host: str | None = None
    service: str | None = None
    global_rank: int | None = None
    task_rank: int | None = None
    local_rank: int | None = None
    time: float | None = None


_STAMP = r"(20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?) "
_TASK = re.compile(
    r"\[(?:(?P<role>rank|default|trainer|worker|learner|local_rank|master|generic)(?P<n>\d+)|[A-Za-z_]+\d+\|(?P<sub>\d+))\](?P<colon>:?)(?P<space> *)"
)
_MPI = re.compile(
    r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?P<month>[A-Z][a-z]{2}) +(?P<day>\d\d?) (?P<clock>\d\d:\d\d:\d\d) \d{4})?"
    r"\[(?:[\w.@+-]+@)?(?:\d+,)?(?:mpirank:)?(?P<rank>\d+)(?:,(?P<algo>[A-Za-z][\w.-]*))?\](?:\[(?P<host>[\w.-]+):\d+\])?"
    r"<(?:stdout|stderr|stddiag)>:(?P<space> *)"
)
_POD = re.compile(r"\[pod/(?P<host>[^/\]\s]+)/[^\]\s]+\] ?")
_RAY = re.compile(
    r"\((?:[A-Za-z_][\w.:<>-]* ?)?(?:(?:rank|local_rank)=(?P<rank>\d+),? )?(?:pid=\d+|raylet|autoscaler[^)]*|scheduler[^)]*)(?:, ip=(?P<host>[^),\s]+))?\) ?"
)
_RAYLET = re.compile(r"\((?:raylet|gcs_server|dashboard)(?:, ip=(?P<host>[^),\s]+))?\) ?")
_CRI = re.compile(_STAMP + r"(?:stdout|stderr) [FP](?: |$)")
_RFC = re.compile(_STAMP)
_JOURNAL = re.compile(r"(?P<host>[A-Za-z0-9][\w.-]*) (?P<program>[\w./@()-]+)(?:\[\d+\]:|(?<=kernel):) ")
_SYSLOG = re.compile(
    r"(?:<\d+>)?(?P<month>[A-Z][a-z]{2}) +(?P<day>\d\d?) (?P<clock>\d\d:\d\d:\d\d)(?:\.\d+)? (?P<host>[A-Za-z0-9][\w.-]*) (?P<program>[\w./@()-]+)(?:\[\d+\])?: "
)
_NUMBER = re.compile(r" {0,5}(?P<rank>\d{1,6}): ?")
_BRACKET_NUMBER = re.compile(r"\[(?P<rank>\d{1,6})\]:? ?")
_HOST = re.compile(r"(?P<host>[A-Za-z0-9][\w.-]*): ?")
_SERVICE = re.compile(r"(?P<name>[A-Za-z][\w.-]*) *\| ?")
_LIGHTNING = re.compile(r"\[rank: (?P<rank>\d+)\] ")
_STERN = re.compile(r"(?P<host>[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?) [a-z0-9](?:[-a-z0-9]*[a-z0-9])? ")

_NCCL = re.compile(r"(?:\[[^\]]{8,40}\] )?(?P<host>[A-Za-z0-9][\w.-]*):\d+:\d+ (?:\[-?\d+\] |NCCL )")
_UCX = re.compile(r"\[1[4-9]\d{8}\.\d+\] \[(?P<host>[A-Za-z0-9][\w.-]*):\d+ *:")
_SAID_RANK = re.compile(
    r"\[(?:GPU )?[Rr]ank[ :=_-]{0,2}(\d{1,6})\]|^(?:Rank|RANK|rank)[ _-]?(\d{1,6}): |^\[GPU rank (\d{1,6})\]"
)
#: What stands after a launcher's mark and hardly ever after a number in a list.
LOGGY = re.compile(
    r"(?:\[[^\]]{8,40}\] )?[A-Za-z0-9][\w.-]*:\d+:\d+ \[-?\d+\] |Traceback \(most recent|  File \"|\[(?:rank|default)\d+\]:"
    r"|\[?[VIWEFC]\d{3,4} \d\d:\d\d:\d\d\.|\[?20\d\d-\d\d-\d\d[ T]\d\d:\d\d|\[[EWIF] [\w.]+:\d+\]|NCCL (?:INFO|WARN|version) |\[\d+,\d+\]<"
)
#: What every line begins with that any of the marks above stands before; other lines are their own message.
_MAY = re.compile(
    r"[A-Za-z0-9][\w.-]*:| {1,5}\d{1,6}:|20\d\d-\d\d-\d\dT\d|(?:<\d+>)?[A-Z][a-z]{2} (?:[A-Z][a-z]{2} )? *\d\d? \d\d:"
    r"|\[(?:[A-Za-z_]+\d+[\]|]|pod/|rank: |[^\]\s]*\](?:\[[^\]]*\])?<std|\d{1,6}\]:? ?[\[A-Za-z0-9])|\("
)
MEMORY = 32768


class Splitter:
    """Splits lines of one text, in the way in which that text is marked."""

    def __init__(self, marks: Marks = CAUTIOUS) -> None:
        self.marks = marks
        self._known: dict[str, Prefix] = {}
        #: Names of services and pods have no form of their own.
        self._any = bool(marks.services or marks.pods)

    @classmethod
    def of(cls, text: str, before: Splitter | None = None) -> Splitter:
        """For this text; `before` is the splitter of the part that stood before it in the same file."""
        marks = marks_of(text, before.marks if before else None)
        return before if before is not None and marks == before.marks else cls(marks)

    def message(self, line: str) -> str:
        """The line without its marks: `split(line).message`, without a look at who wrote it and when."""
        end = line.find("] NCCL ", 0, 160)
        if end > 0:
            head = line[: end + 2]
            found = self._known.get(head) or self._head(head)
            return line if len(found[0]) == len(head) else line[len(head) - len(found[0]) :]
        if not (self._any or _MAY.match(line)):
            return line
        start, _ = self._marks(line)
        return line[start:] if start else line

    def split(self, line: str) -> Prefix:
        # NCCL's lines are many and their heads few.
        end = line.find("] NCCL ", 0, 160)
        head = line[: end + 2] if end > 0 else line
        found = self._known.get(head) or self._head(head)
        if end > 0:
            return Prefix(line[len(head) - len(found[0]) :], found[1], found[2], found[3], found[4])
        return found

    def _head(self, head: str) -> Prefix:
        if len(self._known) >= MEMORY:
            self._known.clear()
        found = self._known[head] = self._split(head)
        return found

    def _marks(self, line: str) -> tuple[int, _State]:
        """Where the message begins, and what the marks before it tell."""
        state = _State()
        start = 0
        for _ in range(8):
            after = self._mark(line, start, state)
            if after == start:
                break
            start = after
        return start, state

    def _split(self, line: str) -> Prefix:
        start, state = self._marks(line)
        host = None
        if ":" in line:
            found = _NCCL.match(line, start) or _UCX.match(line, start)
            if found:
                host = found["host"]
        if state.global_rank is None and "ank" in line:
            found = _SAID_RANK.search(line, start, start + 120)
            if found:
                state.global_rank = int(found[1] or found[2] or found[3])
        rank = state.global_rank
        if rank is None and state.local_rank is None and not self.marks.number_is_node:
            rank = state.task_rank
        local = state.local_rank
        if rank is None and local is not None and state.task_rank is None and self.marks.one_node:
            rank = local
        time = state.time
        if time is None:
            time = time_at(line, start, dates=self.marks.dated)
        return Prefix(line[start:] if start else line, host or state.host or state.service, rank, time, local)

    def _mark(self, line: str, start: int, state: _State) -> int:
        """Where the mark at `start` ends; `start` itself where there is none."""
        char = line[start : start + 1]
        if char == "[":
            return _bracket(line, start, state)
        if char == "(":
            found = _RAY.match(line, start) or _RAYLET.match(line, start)
            if found:
                state.host = state.host or found["host"]
                if found.re is _RAY and found["rank"]:
                    state.global_rank = int(found["rank"])
                return found.end()
            return start
        if not char:
            return start
        if char == " " or char.isdigit():
            after = self._numbered(line, start, state)
            if after != start:
                return after
        elif char == "<" or char.isupper():
            after = _system_log(line, start, state)
            if after != start:
                return after
        return self._named(line, start, state)

    def _numbered(self, line: str, start: int, state: _State) -> int:
        if line.startswith("20", start):
            found = _CRI.match(line, start) or _RFC.match(line, start)
            if found:
                if state.time is None:
                    state.time = time_at(found[1])
                after = _JOURNAL.match(line, found.end())
                if after:
                    state.host = state.host or after["host"]
                    return found.end() if after["program"] == "kernel" else after.end()
                return found.end()
        found = _NUMBER.match(line, start)
        if found is None:
            return start
        if self.marks.numbered:
            if _interface(line, found.end()) or not (found[0].endswith(" ") or found.end() == len(line)):
                return start
        elif not LOGGY.match(line, found.end()):
            return start
        state.task_rank = int(found["rank"])
        return found.end()

    def _named(self, line: str, start: int, state: _State) -> int:
        marks = self.marks
        found = _HOST.match(line, start)
        if found:
            host = found["host"]
            twice = line.startswith(host + ":", found.end())
            if host in marks.hosts or twice or (host_like(host) and LOGGY.match(line, found.end()) is not None):
                if not line.startswith(" ", found.end() - 1) and found.end() != len(line):
                    return start
                state.host = host
                return found.end()
        if marks.services and start == 0:
            found = _SERVICE.match(line)
            if found and found["name"] in marks.services:
                state.service = found["name"]
                return found.end()
        if marks.pods and start == 0:
            found = _STERN.match(line)
            if found and found["host"] in marks.pods:
                state.host = found["host"]
                return found.end()
        return start


def _bracket(line: str, start: int, state: _State) -> int:
    second = line[start + 1 : start + 2]
    if second.isdigit():
        found = _MPI.match(line, start)
        if found:
            return _mpi(found, state)
        found = _BRACKET_NUMBER.match(line, start)
        if found and _NCCL.match(line, found.end()):
            state.task_rank = int(found["rank"])
            return found.end()
        return start
    found = _TASK.match(line, start)
    if found:
        return _task(found, state)
    if second == "p":
        found = _POD.match(line, start)
        if found:
            state.host = state.host or found["host"]
            return found.end()
    if second == "r":
        found = _LIGHTNING.match(line, start)
        if found:
            state.global_rank = int(found["rank"])
            return found.end()
    found = _MPI.match(line, start)
    return _mpi(found, state) if found else start


def _task(found: re.Match[str], state: _State) -> int:
    role, spaces = found["role"], len(found["space"])
    if not found["colon"] and role != "rank":
        return found.start()
    if role == "rank":
        state.global_rank = int(found["n"])
    else:
        state.local_rank = int(found["n"] or found["sub"])
    # A space that belongs to the mark makes the indentation odd: Python's own is even.
    own = spaces % 2 if role == "rank" or found["sub"] else 0
    return found.end() - spaces + own


def _mpi(found: re.Match[str], state: _State) -> int:
    state.task_rank = int(found["rank"])
    state.host = state.host or found["host"] or found["algo"]
    if found["month"] and state.time is None:
        state.time = _named_time(found)
    return found.end() - len(found["space"]) + len(found["space"]) % 2


def _named_time(found: re.Match[str]) -> float | None:
    return time_at(f"{found['month']} {int(found['day']):2d} {found['clock']}")


def _system_log(line: str, start: int, state: _State) -> int:
    """syslog and the journal; also mpirun's time before its mark. What the kernel says keeps its `kernel: `."""
    found = _SYSLOG.match(line, start)
    if found:
        state.host = state.host or found["host"]
        state.time = state.time or _named_time(found)
        return found.start("program") if found["program"] == "kernel" else found.end()
    found = _MPI.match(line, start)
    return _mpi(found, state) if found else start


_INTERFACE = re.compile(r"[\w.@-]+: <")


def _interface(line: str, start: int) -> bool:
    """`2: eth0: <BROADCAST,...`: a row of `ip a`, not a line of task 2."""
    return _INTERFACE.match(line, start) is not None


@cache
def _cautious() -> Callable[[str], Prefix]:
    return Splitter().split


def split_prefix(line: str) -> Prefix:
    """Splits the marks off a line that stands alone. Host and rank are None where no mark names them."""
    return _cautious()(line)


__all__ = ["LOGGY", "Prefix", "Splitter", "host_of_name", "rank_of_name", "split_prefix"]
