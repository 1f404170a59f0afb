"""Reports of NCCL's RAS subsystem (ncclras): text of NCCL 2.24 and later, JSON of 2.28.7 and later, monitor mode of 2.29 and later.

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         4         8        32        32   RUNNING  MISMATCH

#0-0 (27a079b828ff1a75) MISMATCH
  Communicator ranks have different AllReduce operation counts
  31 ranks have launched up to operation 6650
  Rank 5 has launched up to operation 6601 -- GPU 5 managed by process 483077 on node 172.16.64.210

[2025-12-19 13:07:07] PEER_DEAD: Process 1524345 on node 172.16.64.245 managing GPU 1
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from assistant.facts import Fact
from assistant.intake.document import Document
from assistant.parsers._ras_json import read_json
from assistant.parsers._ras_report import NAMED, Counts, Place, Report

NAME = "NCCL RAS report (ncclras)"
TRIGGERS = (
    "considered dead (unreachable via the RAS network)",
    "Missing communicator data from ",
    "ranks have different ",
    " in group  per comm  per node  per comm ",
    "] PEER_",
    '"PEER_',
    '"missing_ranks_count"',
)
VERSIONS = "NCCL 2.24 and later as text, 2.28.7 and later as JSON, monitor mode of 2.29 and later"


@cache
def _re(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


_STATUS = r"(NOCOMM|UNKNOWN|INIT|RUNNING|FINALIZE|ABORT)"
_ROW = rf"\s*\d+\s+(\d+)\s+(\d+)\s+(\d+(?:-\d+)?)\s+(\d+)\s+(\d+)\s+{_STATUS}\s+((?:OK|MISMATCH|ERROR|INCOMPLETE)[A-Z,]*)\s*$"
_BLOCK = r"#(\d+)-(\d+) \(([0-9a-f]{1,16})\) (INCOMPLETE|ERROR|MISMATCH)"
_PROCESS = r"Process (\d+) on node (\S+) managing (GPUs? [\d,]+(?: \(NVML [\d,]+\))?)"
_RANK = (
    r"Rank (\d+) (.*?)-- (?:GPU (\S+(?: \(NVML \d+\))?) managed by process (\d+) on node (\S+)|\[process information)"
)
_EVENT = r"\[([\d-]+ [\d:]+)\] (PEER_[A-Z_]+): (.*)$"
#: Columns of the job summary under "(total)": with nodes that are alike and with others.
_JOB = {"(total)   per node  per process    (total)  (total)": (0, 3, 4), "(total)    (total)      (total)": (0, 1, 2)}


def parse(document: Document) -> Iterable[Fact]:
    out = Report(document)
    text = document.text
    if '"missing_ranks_count"' in text or '"PEER_' in text:
        read_json(document, out)
    if any(trigger in text for trigger in TRIGGERS[:5]):
        _Text(document, out).read()
    return out.facts()


class _Text:
    """The text form: what a line means depends on the heading above it."""

    def __init__(self, document: Document, out: Report) -> None:
        self.document = document
        self.out = out
        self.section = ""
        self.comm = ""
        self.counts: Counts | None = None
        self.value: int | None = None
        self.state = ""
        self.columns: tuple[int, int, int] | None = None

    def read(self) -> None:
        messages = self.document.messages
        for index, line in enumerate(messages):
            text = line.strip()
            if not text:
                continue
            first = text[0]
            if first == "R" and text.startswith("Rank "):
                self._rank(text, index)
            elif first.isdecimal():
                self._numbers(text, index)
            elif first == "#":
                self._block(text)
            elif first == "[":
                if "] PEER_" in text:
                    self._event(text, index)
            elif first == "P" and text.startswith("Process ") and self.section:
                self._process(text, index)
            elif first in "ACDIETMN":
                self._heading(text, index)
            elif first == "(" and text in _JOB:
                self.columns = _JOB[text]

    def _heading(self, text: str, index: int) -> None:
        if text == "DEAD":
            self.section = "dead"
        elif text == "INCOMPLETE":
            self.section, self.comm = "missing", ""
        elif text == "TIMEOUT" or text.startswith("Communicators..."):
            self.section = ""
        elif text.startswith("Communicator ranks have different "):
            found = _re(r"different (\w+) operation counts").search(text)
            self.section, self.value, self.counts = "status", None, None
            if found:
                self.section = "counts"
                self.counts = Counts(self.comm or "communicator", found[1], index)
                self.out.counts.append(self.counts)
        elif text.startswith("Encountered ") and "communication timeout" in text:
            self.out.add("ras.timeouts", int(text.split()[1]) if text.split()[1].isdecimal() else 1, index)
        elif text.startswith("Missing communicator data from "):
            found = _re(r"from (\d+) (job process|rank)").match(text[len("Missing communicator data ") :])
            if found:
                self.out.add(f"ras.missing_{'ranks' if found[2] == 'rank' else 'processes'}", int(found[1]), index)
        elif text.startswith("Node ") and " running process" in text:
            node, _, pids = text[5:].partition(" running process")
            self.out.process("ras.outlier_node", f"process{pids}", index, node)
        elif text.startswith(("Initialization error", "Asynchronous error")):
            self.section, self.state = "error", "asynchronous" if text[0] == "A" else "initialization"
        elif text.startswith("The missing rank"):
            self._listed(text, index)

    def _block(self, text: str) -> None:
        found = _re(_BLOCK).match(text)
        if found:
            self.comm = found[3]
            self.section = {"INCOMPLETE": "missing", "ERROR": "error", "MISMATCH": "status"}[found[4]]
            self.counts, self.value, self.state = None, None, ""

    def _numbers(self, text: str, index: int) -> None:
        """A line that begins with a number: a row of a table, or the size of a group of ranks."""
        words = text.split()
        if self.columns is not None:
            columns, self.columns = self.columns, None
            if len(words) > columns[-1] and all(word.isdecimal() for word in words):
                for key, column in zip(("ras.nodes", "ras.processes", "ras.gpus"), columns, strict=True):
                    self.out.add(key, int(words[column]), index)
            return
        if len(words) >= 8 and words[-1].isupper():
            row = _re(_ROW).match(text)
            if row:
                self.out.add("ras.status", row[6], index)
                self.out.add("ras.result", row[7], index)
                return
        if "job process" in text and "considered dead" in text:
            self.section = "dead"
            self.out.add("ras.dead_processes", int(words[0]), index)
        elif len(words) > 2 and words[1] == "ranks" and words[0].isdecimal():
            number = int(words[0])
            if words[2] == "reported":
                self.state = " ".join(words[3:])
            elif "have status" in text:
                self.state = words[-1]
            elif self.counts is not None:
                launched = _re(r"launched up to operation (\d+)").search(text)
                self.value = int(launched[1]) if launched else 0
                self.counts.ranks[self.value] += number

    def _rank(self, text: str, index: int) -> None:
        found = _re(_RANK).match(text)
        if not found:
            return
        place = Place(int(found[1]), found[5], found[4], found[3])
        what = found[2]
        if "reported " in what:
            self.out.rank("ras.error", what.partition("reported ")[2].strip(), index, place)
        elif "has status " in what:
            self.out.rank("ras.odd_status", what.split()[-1], index, place)
        elif "launched" in what and self.counts is not None:
            launched = _re(r"operation (\d+)").search(what)
            self.counts.add(int(launched[1]) if launched else 0, place)
        elif self.section == "counts" and self.counts is not None and self.value is not None:
            self.counts.name(self.value, place)
        elif self.section == "error" and self.state:
            self.out.rank("ras.error", self.state, index, place)
        elif self.section == "status" and self.state:
            self.out.rank("ras.odd_status", self.state, index, place)
        elif self.section == "missing":
            self.out.rank("ras.missing_rank", "no data", index, place)

    def _listed(self, text: str, index: int) -> None:
        """The missing ranks: 3,21 (before 2.26)."""
        found = _re(r"The missing ranks?: ([\d,]+)").match(text)
        if found and self.section == "missing":
            for rank in found[1].split(",")[:NAMED]:
                if rank:
                    self.out.rank("ras.missing_rank", "no data", index, Place(int(rank)))

    def _process(self, text: str, index: int) -> None:
        found = _re(_PROCESS).match(text)
        if found and self.section in ("dead", "missing"):
            key = "ras.dead_process" if self.section == "dead" else "ras.missing_process"
            self.out.process(key, f"process {found[1]}, {found[3]}", index, found[2])

    def _event(self, text: str, index: int) -> None:
        found = _re(_EVENT).match(text)
        if not found:
            return
        process = _re(_PROCESS).match(found[3])
        node = process[2] if process else found[3].split("<")[0].split()[0] if found[3].split() else None
        self.out.process("ras.event", found[2], index, node)
        if found[2] in ("PEER_DEAD", "PEER_TIMEOUT_DEAD") and process:
            self.out.process("ras.dead_process", f"process {process[1]}, {process[3]}", index, node)
