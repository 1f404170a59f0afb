r"""Where processes, memory and interrupts of a host sit: CPU sets of ranks and containers, `numastat -p`, interrupts of NICs, bindings in wrapper scripts.

cpu-bind=MASK - n1, task  4  4 [22114]: mask 0xff00000000 set
40121 (python)                  61877.12           12.40        61889.52
166:   91823011          0          0   PCI-MSI mlx5_comp0@pci:0000:98:00.0
  0|1|2|3) NODE=0 ;;
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from assistant.facts import Fact, Subject
from assistant.intake.document import Document
from assistant.parsers._device import host_subject, hosts_by_line
from assistant.parsers._lines import lines_with, with_next

NAME = "placement on the host"
TRIGGERS = ("cpu-bind", "cpuset.cpus", "Per-node process memory", "/proc/interrupts", "mlx5_comp", "numactl", "cpunodebind", "topologyManagerPolicy", "numa_node",
            "affinity list", "Cpus_allowed_list", "Node 0 ")  # fmt: skip
VERSIONS = "/sys NUMA nodes of devices, irqbalance and interrupts, kubelet's topology policies, numa_maps"

_LOCAL = r"SLURM_LOCALID|OMPI_COMM_WORLD_LOCAL_RANK|MPI_LOCALRANKID|PMI_LOCAL_RANK|MV2_COMM_WORLD_LOCAL_RANK|LOCAL_RANK"
_LIST = r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*"


def cpu_set(text: str) -> frozenset[int]:
    """The CPUs of a list ('0-3,8') or of a hexadecimal mask ('0xff')."""
    text = text.strip()
    if text.startswith("0x"):
        mask = int(text.replace(",", ""), 16)
        return frozenset(n for n in range(mask.bit_length()) if mask >> n & 1)
    cpus: set[int] = set()
    for part in text.split(","):
        low, _, high = part.partition("-")
        if low.isdecimal() and int(high or low) < 8192:
            cpus.update(range(int(low), int(high or low) + 1))
    return frozenset(cpus)


def cpu_list(cpus: Iterable[int]) -> str:
    """CPUs as a list of ranges: {0, 1, 2, 8} -> '0-2,8'."""
    ranges: list[list[int]] = []
    for cpu in sorted(cpus):
        if ranges and cpu == ranges[-1][1] + 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(f"{a}-{b}" if b > a else f"{a}" for a, b in ranges)


def parse(document: Document) -> Iterable[Fact]:
    yield from _cpu_sets(document)
    yield from _process_memory(document)
    yield from _interrupts(document)
    yield from _script(document)


def _cpu_sets(document: Document) -> Iterator[Fact]:
    hosts = hosts_by_line(document)
    allowed = False
    asking = ("cpuset",)
    for index in with_next(
        document, lines_with(document, (*asking, "cpu-bind=MASK", "topologyManagerPolicy")), asking, 1
    ):
        line = document.lines[index].strip()
        if not line or len(line) > 600:
            continue
        found = re.search(
            r"cpu-bind=MASK - (?P<host>[\w.-]+), task +\d+ +(?P<local>\d+) \[\d+\]: mask (?P<mask>0x[0-9A-Fa-f]+)", line
        )
        if found:
            cpus = cpu_set(found["mask"])
            if cpus:
                yield Fact(
                    "cpu.local_rank_cpus",
                    cpu_list(cpus),
                    document.origin(index, "tool"),
                    Subject("rank", found["local"]),
                )
            continue
        if allowed and re.fullmatch(_LIST, line):
            yield Fact("cpu.allowed_list", line, document.origin(index, "tool"), host_subject(hosts[index]))
        allowed = bool(re.search(r"\bcat \S*cpuset(?:\.effective_cpus|\.cpus(?:\.effective)?|/cpuset\.cpus)$", line))
        found = re.match(rf"^(?:\S*/)?cpuset\.cpus(?:\.effective)?\s*[:=]\s*(?P<list>{_LIST})$", line)
        if found:
            yield Fact("cpu.allowed_list", found["list"], document.origin(index, "tool"), host_subject(hosts[index]))
        found = re.search(r"\btopologyManagerPolicy:\s*\"?(?P<policy>[a-z-]+)", line)
        if found:
            yield Fact(
                "numa.kubelet_policy", found["policy"], document.origin(index, "config"), host_subject(hosts[index])
            )


def _process_memory(document: Document) -> Iterator[Fact]:
    """`numastat -p`: the memory of several processes, all of it on one node."""
    if "Node 0" not in document.text:
        return
    hosts = hosts_by_line(document)
    nodes, first = 0, 0
    homes: list[int] = []
    for index, text in enumerate(document.lines):
        if re.match(r"^PID\s+Node 0", text):
            nodes, homes, first = len(re.findall(r"\bNode \d+", text)), [], index
            continue
        found = (
            re.match(r"^\d+ \([^)]+\)\s+(?P<cells>\d+(?:\.\d+)?(?:\s+\d+(?:\.\d+)?)+)\s*$", text) if nodes > 1 else None
        )
        if not found:
            continue
        cells = [float(c) for c in found["cells"].split()][:nodes]
        if sum(cells) > 256:
            homes.append(cells.index(max(cells)) if max(cells) > 0.8 * sum(cells) else -1)
    if len(homes) >= 3 and len(set(homes)) == 1 and homes[0] >= 0:
        yield Fact("numa.memory_one_node", homes[0], document.origin(first, "tool"), host_subject(hosts[first]))


def _interrupts(document: Document) -> Iterator[Fact]:
    """Interrupts of a NIC that are served by cores of another NUMA node than the NIC's."""
    if "numa_node" not in document.text:
        return
    nodes = {int(m[1]): cpu_set(m[2]) for m in re.finditer(rf"NUMA node(\d+) CPU\(s\):\s+({_LIST})", document.text)}
    home = re.search(r"/(?:net|infiniband|devices)/\S*numa_node\s*:?\s*(?P<node>\d+)\s*(?:\n|$)", document.text)
    if len(nodes) < 2 or not home or int(home["node"]) not in nodes:
        return
    columns: list[int] = []
    far, near, where = 0, 0, 0
    for index, text in enumerate(document.lines):
        header = re.findall(r"\bCPU(\d+)\b", text)
        if len(header) >= 2 and not re.match(r"^\s*\d+:", text):
            columns = [int(n) for n in header]
            continue
        row = re.match(
            r"^\s*\d+:\s+(?P<cells>\d+(?:\s+\d+)*)\s+\S.{0,300}?(?:mlx|eth|ens|enp|eno|bond|ib|i40e|ice|bnxt|efa)", text
        )
        if row and columns:
            cells = [int(c) for c in row["cells"].split()][: len(columns)]
            if max(cells) > 10000:
                inside = columns[cells.index(max(cells))] in nodes[int(home["node"])]
                near, far, where = near + inside, far + (not inside), where or index
    if far > near:
        yield Fact("numa.irq_far", True, document.origin(where, "tool"), host_subject(document.host))


def _script(document: Document) -> Iterator[Fact]:
    """A launch line or wrapper that gives every local rank the same NUMA node."""
    if "numactl" not in document.text:
        return
    for index in lines_with(document, ("numactl",)):
        text = document.lines[index]
        if text.lstrip().startswith("#"):
            continue
        whole = re.search(
            r"\bnumactl\b(?P<options>(?:\s+-\S+(?:[ =]\d[\d,-]*)?)+)\s+(?:\S*/)?(?:torchrun|deepspeed|accelerate|mpirun|mpiexec|horovodrun|python3? -m torch\.distributed)\b.{0,500}?(?:nproc|num_gpus|num_processes|-np?|--)",
            text,
        )
        node = (
            re.search(r"(?:--cpunodebind|--membind|-N|-m)[= ](?P<node>\d)(?![\d,-])", whole["options"])
            if whole
            else None
        )
        count = re.search(r"(?:nproc[_-]per[_-]node|num_gpus|num_processes|-np?)[= ](?P<n>\d+)", text)
        if node and count and int(count["n"]) >= 2:
            yield Fact("numa.script_one_node", node["node"], document.origin(index, "config"))
            return
    if not re.search(_LOCAL, document.text):
        return
    arms: list[tuple[str, int]] = []
    for index in lines_with(document, ("numactl", ")")):
        text = document.lines[index]
        arm = re.match(
            r"^\s*(?P<ranks>[\d|, ]+)\)\s*(?:export )?\w*(?:NODE|NUMA|SOCK|MEM|CPU|BIND)\w*=[\"']?(?P<node>\d+(?:-\d+)?)\b",
            text,
            re.IGNORECASE,
        )
        if arm and len(re.findall(r"\d+", arm["ranks"])) >= 1:
            arms.append((arm["node"], index))
        fixed = re.search(r"\bnumactl\b(?:\s+-\S+){0,12}?\s+(?:--cpunodebind|--membind|-N|-m)[= ]?(?P<node>\d)\b", text)
        if fixed and not text.lstrip().startswith("#") and not re.match(r"^\s*[\d|]+\)", text):
            arms += [(fixed["node"], index)] * 2
    if len(arms) >= 2 and len({node for node, _ in arms}) == 1:
        yield Fact("numa.script_one_node", arms[0][0], document.origin(arms[0][1], "config"))
