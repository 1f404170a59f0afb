"""How a text is marked as a whole: what a single line can't tell.

`3: text` is a line of task 3 under `srun -l`, and the third item in a list; `node1: text` is pdsh's mark, and `loss: 2.1`
is not. A number that comes back on many lines, or a name that does before lines that look like a log, is a mark.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from assistant.intake.times import dated

HEAD = 192 * 1024
TAIL = 32 * 1024
LATER = 32 * 1024
"""Of a part of a file whose beginning has been seen."""


@dataclass(frozen=True, slots=True)
class Marks:
    numbered: bool = False
    number_is_node: bool = False
    """The number is that of a node, since several processes stand under one."""
    one_node: bool = True
    """Nothing shows several nodes, so that a local rank is the rank."""
    hosts: frozenset[str] = frozenset()
    services: frozenset[str] = frozenset()
    pods: frozenset[str] = frozenset()
    dated: bool = False


CAUTIOUS = Marks()

_LOGGY = re.compile(
    r"(?:\[[^\]]{8,40}\] )?[A-Za-z0-9][\w.-]*:\d+:\d+ \[-?\d+\]|Traceback \(most|  File \"|\[(?:rank|default)\d+\]"
    r"|\[?[VIWEFC]\d{3,4} \d\d:|\[?20\d\d-\d\d-\d\d[ T]|\[[EWIF] \w|NCCL |\[?(?:INFO|WARNING|WARN|ERROR|DEBUG)\b|srun: |torch\.|\w*Error: "
)
_NUMBERED = re.compile(r" {0,5}(\d{1,6}): (?![\w.@-]+: <| *\d)(.{0,80})")
_HOSTED = re.compile(r"([A-Za-z0-9][\w.-]{0,62}): (.{0,80})")
_SERVICE = re.compile(r"([A-Za-z][\w.-]*) *\| (.{0,80})")
_POD = re.compile(r"([a-z0-9](?:[-a-z0-9.]*[a-z0-9])?) ([a-z0-9](?:[-a-z0-9]*[a-z0-9])?) (.{0,80})")
_NCCL = re.compile(r"[A-Za-z0-9][\w.-]*:(\d+):\d+ \[(\d+)\]")
_NCCL_PROCESS = re.compile(r":\d+:\d+ \[\d+\] ")
_NAME_BEFORE = re.compile(r"(?<![\w.-])[A-Za-z0-9][\w.-]*$")
_ELASTIC = re.compile(r"torch\.distributed\.(?:run\b|elastic|launcher)|\btorchrun\b|local_rank: \d|\[default\d+\]:")
_NODES = re.compile(
    r"--?nnodes[= ](?!1\b|1:1\b)\S|\bnnodes[\"']?\s*[:=]\s*[\"']?(?:[2-9]|\d\d)|\bnNodes (?:[2-9]|\d\d)|\bgroup_world_size=(?:[2-9]|\d\d)"
    r"|\bgroup_rank=[1-9]|SLURM_(?:J?O?B?_?)N(?:UM_)?NODES=(?:[2-9]|\d\d)|--nodes[= ](?:[2-9]|\d\d)|\bnum_machines:? *(?:[2-9]|\d\d)|--node[_-]rank[= ][1-9]"
)
_NODE_WORDS = ("nodes", "Nodes", "NODES", "node_rank", "node-rank", "group_rank", "group_world_size", "num_machines")
#: Characters before and after one of these words in which the number of nodes stands.
_NEAR = 24
_RANKS = (re.compile(r"\[rank(\d+)\]"), re.compile(r"\[Rank (\d+)\]"), re.compile(r"rank (\d+) nranks \d"))
_LOCAL_RANK = re.compile(r"default(\d+)\]")

_NO_HOST = re.compile(
    r"(?:\w*(?:Error|Exception|Warning|Interrupt|Exit|Failure)|srun|sbatch|salloc|slurm\w*|scancel|mpirun|mpiexec|prterun|orted|bash|sh|zsh|line|python[\d.]*"
    r"|rank[-_]?\d+|gpu\d|cuda\d*|device\d*|eth\d.*|en[ops]\w+|ib\d+|mlx\d.*|bond\d+|lo|docker\d+|veth\w+|nvme\w+|sd[a-z]\d*|cpu\d+|node|host|[vhd]?ram\d*|ps|pid\d*"
    r"|(?:epoch|step|iter|iteration|layer|stage|batch|loss|lr|acc\w*|group|param\w*|train\w*|test\w*|val\w*|eval\w*|block|conv|bn|fc|top|task|model|phase|run|trial|seed|channel|ring|tree"
    r"|port|lane|link|fan|bus|slot|dimm|numa|sha\d+|md5|py\d+|cu\d+|fp\d+|bf\d+|int\d+|float\d+|utf|ipv\d|inet\d|h\d|v\d[\w.]*)[-_.]?\d*"
    r"|\w+\.(?:py|cc|cpp|cu|c|h|sh|so|ya?ml|json|txt|log|out|err|md)|info|debug|warn|warning|error|fatal|note|hint|usage|time|total)",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"(?:\d{1,3}\.){3}\d{1,3}")
_HOST_SHAPE = re.compile(
    r"(?=[\w.-]*[A-Za-z])(?=[\w.-]*\d)[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.(?!\d+(?:\.|$))[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*"
)


@lru_cache(maxsize=8192)
def host_like(name: str) -> bool:
    """Whether this can be the name of a machine: `gpu-07`, `ip-10-0-0-1.ec2.internal`, `10.0.0.1`; not `ValueError`, `loss`.

    >>> [host_like(n) for n in ("node12", "10.0.0.4", "loss", "layer3", "model.layers.0.attn", "ValueError")]
    [True, True, False, False, False, False]
    """
    if _ADDRESS.fullmatch(name):
        return True
    return name == "localhost" or (_HOST_SHAPE.fullmatch(name) is not None and _NO_HOST.fullmatch(name) is None)


def marks_of(text: str, before: Marks | None = None) -> Marks:
    """How this text is marked; what was seen in the part `before` it still holds."""
    head = HEAD if before is None else LATER
    sample = text if len(text) <= head + TAIL else text[:head] + text[text.rfind("\n", 0, len(text) - TAIL) :]
    lines = [line for line in sample.split("\n") if line and not line.isspace()]
    numbered, number_is_node = _number_marks(lines)
    services = _services(lines) if " | " in sample else frozenset()
    marks = Marks(numbered, number_is_node, _single(sample), _hosts(lines), services, _pods(lines), dated(sample))
    if before is None:
        return marks
    return Marks(
        marks.numbered or before.numbered,
        marks.number_is_node or before.number_is_node,
        marks.one_node and before.one_node,
        marks.hosts | before.hosts,
        marks.services | before.services,
        marks.pods | before.pods,
        marks.dated or before.dated,
    )


def _rows(pattern: re.Pattern[str], lines: Iterable[str]) -> list[tuple[str, ...]]:
    return [found.groups() for found in map(pattern.match, lines) if found is not None]


def _number_marks(lines: list[str]) -> tuple[bool, bool]:
    rows = _rows(_NUMBERED, (line for line in lines if line[0] in " 0123456789"))
    if len(rows) < 2:
        return False, False
    often = Counter(n for n, _ in rows)
    loggy = sum(_LOGGY.match(rest) is not None for _, rest in rows)
    repeated = len(often) < len(rows)
    numbered = repeated and (loggy > 0 or len(rows) >= max(4, 0.5 * len(lines)))
    numbered = numbered or (loggy >= 2 and loggy >= 0.5 * len(rows))
    if not numbered:
        return False, False
    processes: dict[str, set[tuple[str, str]]] = {}
    for number, rest in rows:
        found = _NCCL.search(rest)
        if found:
            processes.setdefault(number, set()).add((found[1], found[2]))
    shared = any(len({p for p, _ in x}) > 1 and len({d for _, d in x}) > 1 for x in processes.values())
    return True, shared or any(_ELASTIC.search(rest) for _, rest in rows)


def _single(text: str) -> bool:
    if _several_nodes(text) or _several_hosts(text):
        return False
    ranks = {int(n) for pattern in _RANKS for n in pattern.findall(text)}
    local = {int(n) for n in _LOCAL_RANK.findall(text)}
    if len(local) == 1 and local != {0}:
        return False  # only one of the local ranks prints: the last of all, on the last of the nodes
    return not (local and ranks and max(ranks) > max(7, max(local)))


def _several_nodes(text: str) -> bool:
    for word in _NODE_WORDS:
        at = text.find(word)
        while at != -1:
            if _NODES.search(text, max(0, at - _NEAR), at + len(word) + _NEAR):
                return True
            at = text.find(word, at + len(word))
    return False


def _several_hosts(text: str) -> bool:
    """Whether NCCL's lines name two hosts."""
    first = ""
    for found in _NCCL_PROCESS.finditer(text):
        start = text.rfind("\n", 0, found.start()) + 1
        named = (
            _NAME_BEFORE.search(text[start : min(found.start(), start + 124)]) if found.start() - start <= 124 else None
        )
        if named is not None and named.start() <= 60:
            if first and named[0] != first:
                return True
            first = named[0]
    return False


def _hosts(lines: list[str]) -> frozenset[str]:
    rows = _rows(_HOSTED, (line for line in lines if ": " in line[:65]))
    if not rows:
        return frozenset()
    often: Counter[str] = Counter()
    loggy: Counter[str] = Counter()
    twice: set[str] = set()
    for name, rest in rows:
        often[name] += 1
        loggy[name] += _LOGGY.match(rest) is not None
        if rest.startswith(name + ":"):
            twice.add(name)
    named = [n for n in often if host_like(n)]
    plain = [
        n for n in often if n not in named and _NO_HOST.fullmatch(n) is None and not n.isdigit() and n[0].isalpha()
    ]
    count = len(lines)
    share = sum(often[n] for n in named)
    good = set(twice)
    if share >= max(3, 0.5 * count) and len(named) < share:
        good.update(named)
    good.update(n for n in named if often[n] >= 2 and loggy[n])
    good.update(n for n in plain if loggy[n] >= 2 and often[n] >= 0.3 * count)
    return frozenset(good)


def _services(lines: list[str]) -> frozenset[str]:
    rows = _rows(_SERVICE, lines)
    often = Counter(n for n, _ in rows)
    loggy = any(_LOGGY.match(rest.lstrip()) for _, rest in rows)
    if len(rows) < 2 or len(often) == len(rows) or not loggy or len(rows) < 0.6 * len(lines):
        return frozenset()
    return frozenset(often)


def _pods(lines: list[str]) -> frozenset[str]:
    rows = _rows(_POD, lines)
    if len(rows) < 3:
        return frozenset()
    often = Counter((pod, container) for pod, container, _ in rows if "-" in pod and any(c.isdigit() for c in pod))
    loggy = any(_LOGGY.match(rest) for _, _, rest in rows)
    kept = sum(often.values())
    if not loggy or kept < 0.6 * len(lines) or len(often) > kept / 2:
        return frozenset()
    return frozenset(pod for pod, _ in often)
