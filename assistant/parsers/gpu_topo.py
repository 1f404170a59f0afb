r"""`nvidia-smi topo -m` and `topo -p2p`: how GPUs and NICs of a host are connected.

 GPU0 GPU1 NIC0 CPU Affinity NUMA Affinity GPU NUMA ID
GPU0  X  NV18 PXB 0-55,112-167 0  N/A
GPU1 NV18  X  SYS 56-111,168-223 1  N/A
NIC0 PXB SYS  X
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from assistant.facts import Fact, Origin
from assistant.intake.document import Document
from assistant.parsers._device import gpu_subject, host_subject, hosts_by_line

NAME = "nvidia-smi topo"
TRIGGERS = ("GPU0", "GPU1")
VERSIONS = "nvidia-smi topo -m and -p2p of drivers 410 to 580, with and without NICs and NUMA columns"

#: From near to far.
ORDER = ("NV", "PIX", "PSB", "PXB", "PHB", "NODE", "SOC", "SYS")
P2P_ORDER = ("OK", "U", "TNS", "GNS", "CNS", "NS", "DR")


def kind_of(cell: str) -> str:
    return "NV" if re.fullmatch(r"NV\d+", cell) else cell


def rank_of(cell: str) -> int:
    kind = kind_of(cell)
    return ORDER.index(kind) if kind in ORDER else -1


@dataclass
class Matrix:
    """One matrix: rows by name, cells by (row, column)."""

    host: str | None
    line: int
    columns: list[str]
    cells: dict[tuple[str, str], str] = field(default_factory=dict)
    numa: dict[str, str] = field(default_factory=dict)
    cpus: dict[str, str] = field(default_factory=dict)

    @property
    def gpus(self) -> list[str]:
        return [c for c in self.columns if c.startswith("GPU")]

    @property
    def nics(self) -> list[str]:
        return [c for c in self.columns if not c.startswith("GPU")]

    def pairs(self) -> Iterator[tuple[str, str, str]]:
        for i, a in enumerate(self.gpus):
            for b in self.gpus[i + 1 :]:
                cell = self.cells.get((a, b)) or self.cells.get((b, a))
                if cell:
                    yield a, b, cell


def matrices(document: Document) -> list[Matrix]:
    hosts = hosts_by_line(document)
    found: list[Matrix] = []
    current: Matrix | None = None
    for index, text in enumerate(document.lines):
        if current is None and "GPU0" not in text:
            continue
        line = re.sub(r"\x1b\[[\d;]*m", "", text) if "\x1b" in text else text
        words = line.split()
        if not words:
            continue
        if words[0] == "GPU0" and (len(words) == 1 or re.fullmatch(r"GPU\d+|NIC\d+|[a-z][\w-]+\d\w*|CPU", words[1])):
            columns = []
            for word in words:
                if word in ("CPU", "NUMA", "GPU"):
                    break
                columns.append(word)
            current = Matrix(hosts[index], index, columns)
            found.append(current)
        elif current is not None and words[0] in current.columns:
            _row(current, words)
        elif current is not None and words[0].lower().startswith("legend"):
            current = None
    return [m for m in found if m.cells]


def _row(matrix: Matrix, words: list[str]) -> None:
    name, rest = words[0], words[1:]
    for column, cell in zip(matrix.columns, rest, strict=False):
        if not re.fullmatch(r"X|NV\d+|SYS|NODE|PHB|PXB|PIX|PSB|SOC|OK|CNS|GNS|TNS|NS|DR|U|N/A", cell):
            break
        matrix.cells[name, column] = cell
    tail = rest[len(matrix.columns) :]
    if tail and re.match(r"\d", tail[0]):
        matrix.cpus[name] = tail[0]
        if len(tail) > 1:
            matrix.numa[name] = tail[1]


def parse(document: Document) -> Iterable[Fact]:
    for matrix in matrices(document):
        values = {cell for cell in matrix.cells.values() if cell != "X"}
        if values and values <= {*P2P_ORDER, "N/A"}:
            worst = max((c for c in values if c in P2P_ORDER), key=P2P_ORDER.index, default=None)
            if worst:
                yield Fact("gpu.p2p_status", worst, document.origin(matrix.line, "tool"), host_subject(matrix.host))
        else:
            yield from _distances(matrix, document)


def _origin_of_row(matrix: Matrix, device: str, document: Document) -> Origin:
    """Origin of the row of a device, or of the heading where it can't be found."""
    for index in range(matrix.line, min(matrix.line + 80, len(document.lines))):
        if document.messages[index].split()[:1] == [device]:
            return document.origin(index, "tool")
    return document.origin(matrix.line, "tool")


def _distances(matrix: Matrix, document: Document) -> Iterator[Fact]:
    origin = document.origin(matrix.line, "tool")
    subject = host_subject(matrix.host)
    pairs = [(a, b, c) for a, b, c in matrix.pairs() if rank_of(c) >= 0]
    if pairs:
        worst = max(pairs, key=lambda p: rank_of(p[2]))
        yield Fact("topo.gpu_gpu", kind_of(worst[2]), _origin_of_row(matrix, worst[0], document), subject)
        linked = {g for a, b, c in pairs if kind_of(c) == "NV" for g in (a, b)}
        missing = [(a, b, c) for a, b, c in pairs if kind_of(c) != "NV"]
        mostly = missing and 2 * len(missing) < len(pairs)
        if mostly and (len(linked) < len(matrix.gpus) or 4 * len(missing) <= len(pairs)):
            a, b, c = missing[0]
            yield Fact("topo.nvlink_missing_pair", f"{a}-{b} ({c})", origin, subject)
        counts = sorted({int(c[2:]) for _, _, c in pairs if kind_of(c) == "NV"})
        most = max((sum(c == f"NV{n}" for _, _, c in pairs), n) for n in counts)[1] if counts else 0
        weak = [(a, b, c) for a, b, c in pairs if kind_of(c) == "NV" and int(c[2:]) < most]
        if weak and len(pairs) > 3 and 2 * len(weak) < len(pairs) and most > 4:
            a, b, c = weak[0]
            yield Fact("topo.nvlink_missing_pair", f"{a}-{b} ({c} where others have NV{most})", origin, subject)
    best = [
        min((matrix.cells.get((g, n), "") for n in matrix.nics), key=lambda c: rank_of(c) if rank_of(c) >= 0 else 99)
        for g in matrix.gpus
        if matrix.nics
    ]
    good = [kind_of(c) for c in best if rank_of(c) >= 0]
    if good:
        yield Fact("topo.gpu_nic", max(good, key=rank_of), origin, subject)
    for gpu, node in matrix.numa.items():
        if gpu.startswith("GPU") and node.isdecimal():
            yield Fact("gpu.numa_node", int(node), origin, gpu_subject(matrix.host, gpu[3:]))
    for gpu, cpus in matrix.cpus.items():
        if gpu.startswith("GPU"):
            yield Fact("gpu.cpu_affinity", cpus, origin, gpu_subject(matrix.host, gpu[3:]))
