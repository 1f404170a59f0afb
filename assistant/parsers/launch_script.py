"""Slurm job scripts: what is asked for, and how the program is started on the nodes.

#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gres=gpu:8
srun torchrun --nnodes=$SLURM_NNODES --nproc_per_node=8 ... train.py
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from assistant.facts import Fact, Value
from assistant.intake.document import Document
from assistant.parsers._shell import integer, logical_lines
from assistant.parsers.launch_command import commands

NAME = "Slurm job script"
TRIGGERS = ("#SBATCH ",)
VERSIONS = "sbatch scripts of Slurm 17 to 25, shell scripts"

_SHORT = {"N": "nodes", "n": "ntasks", "c": "cpus-per-task", "G": "gpus", "w": "nodelist", "m": "distribution"}
_OWN_LAUNCHERS = ("torchrun", "torch.distributed.launch", "accelerate", "colossalai")


@cache
def _directive() -> re.Pattern[str]:
    return re.compile(
        r"^\s*#SBATCH\s+(?:--(?P<long>[a-z][\w-]*)(?:[= ]\s*(?P<value>[^\s#]+))?|-(?P<short>[A-Za-z])\s*=?\s*(?P<svalue>[^\s#]+))"
    )


@cache
def _each_node() -> re.Pattern[str]:
    return re.compile(
        r"(?:^|[\s;&|(\"'`])(?:srun|mpirun|mpiexec|pdsh|clush|pbsdsh|ibrun|jsrun|aprun|ssh|parallel-ssh)\s+[-\w$\"'{@]"
    )


#: Lines around the first directive that are read; a job script is short, a log that quotes one is not.
_REACH = 2000


def _script(document: Document) -> Document:
    """The part of a long text in which the job script stands."""
    lines = document.lines
    if len(lines) <= _REACH:
        return document
    first = next((i for i, line in enumerate(lines) if "#SBATCH" in line), 0)
    begin = max(first - 20, 0)
    text = "\n".join(lines[begin : first + _REACH])
    return Document(
        document.name, text, document.first_line + begin, document.host, document.rank, document.origin_kind
    )


def parse(document: Document) -> Iterable[Fact]:
    document = _script(document)
    asked: dict[str, tuple[int, str]] = {}
    for index, line in enumerate(document.messages):
        found = _directive().match(line) if "#SBATCH" in line else None
        if found:
            name = found["long"] or _SHORT.get(found["short"] or "", "")
            asked.setdefault(name, (index, found["value"] or found["svalue"] or ""))
    if not asked:
        return []
    facts: list[Fact] = []

    def say(key: str, value: Value | None, index: int) -> None:
        if value is not None:
            facts.append(Fact(key, value, document.origin(index, "config")))

    def number(name: str) -> tuple[int | None, int]:
        index, text = asked.get(name, (0, ""))
        return integer(text.split("-")[-1]), index

    say("scheduler", "slurm", next(iter(asked.values()))[0])
    nodes, at = number("nodes")
    say("launch.sbatch_nodes", nodes, at)
    tasks, at_tasks = number("ntasks-per-node")
    say("launch.ntasks_per_node", tasks, at_tasks)
    gpus = None
    for name in ("gres", "gpus-per-node"):
        gpus = _gpus(asked[name][1]) if name in asked else None
        if gpus:
            say("launch.sbatch_gpus", gpus, asked[name][0])
            break
    if asked.get("distribution", (0, ""))[1].startswith("cyclic"):
        say("launch.cyclic", True, asked["distribution"][0])
    total, at_total = number("ntasks")
    say("launch.num_processes", total, at_total)
    cpus, at_cpus = number("cpus-per-task")
    say("launch.cpu_limit", float(cpus * (tasks or 1)) if cpus else None, at_cpus)
    if gpus and not any(
        name in asked for name in ("cpus-per-task", "cpus-per-gpu", "exclusive", "mincpus", "cores-per-socket")
    ):
        say("launch.no_cpus_asked", True, at_tasks)
    if "mem" in asked:
        say("launch.memory_limit_gb", _memory(asked["mem"][1]), asked["mem"][0])
    started = list(commands(document))
    on_each = _starts_on_each(document)
    own = next((c for c in started if c[1] in _OWN_LAUNCHERS), None)
    plain = _plain_python(document)
    multi = nodes is not None and nodes > 1
    if on_each is not None:
        say("launch.uses_srun", True, on_each)
    elif own is not None or plain is not None:
        say("launch.uses_srun", False, own[0] if own else plain or 0)
        if multi:
            say("launch.multi_node_without_srun", True, own[0] if own else plain or 0)
    if on_each is not None and own is not None and tasks is not None and tasks > 1 and not _spread(document):
        say("launch.tasks_and_launcher", True, own[0])
    if multi or on_each is not None:
        early = _early(document)
        if early:
            say("launch.early_expansion", early[1], early[0])
    return facts


def _gpus(text: str) -> int | None:
    found = re.search(r"(?:^|:)(\d+)(?:\(|$)", text)
    return int(found[1]) if found else None


def _memory(text: str) -> float | None:
    found = re.fullmatch(r"(\d+)([KMGT]?)B?", text.upper())
    if not found or found[1] == "0":
        return None
    return int(found[1]) * {"": 1e-3, "M": 1e-3, "K": 1e-6, "G": 1.0, "T": 1000.0}[found[2]]


def _starts_on_each(document: Document) -> int | None:
    """Index of the line that starts something on every node, apart from look-ups of host names."""
    for logical in logical_lines(document):
        text = logical.text
        if text.lstrip().startswith("#") or not _each_node().search(text):
            continue
        if re.search(r"\b(?:hostname|scontrol|nvidia-smi|echo|date)\b", text) and not re.search(
            r"python|torchrun|launch|bash|\.sh|\.py|\$", text
        ):
            continue
        if re.match(r"\s*(?:export\s+)?\w+=\(?\s*[$`]\(?.*hostname", text):
            continue
        return logical.index
    return None


def _spread(document: Document) -> bool:
    """The launcher's srun asks for one task a node by itself."""
    return any(
        re.search(
            r"\bsrun\b.{0,600}?(?:--ntasks-per-node[= ]1\b|--ntasks[= ]\"?\$\{?(?:SLURM_(?:JOB_)?(?:NUM_NODES|NNODES)|NNODES))",
            line.text,
        )
        for line in logical_lines(document)
    )


def _plain_python(document: Document) -> int | None:
    for logical in logical_lines(document):
        if re.match(r"\s*(?:exec\s+)?(?:[\w/.${}-]*/)?python3?\s+(?:-u\s+)?\S+\.py\b", logical.text):
            return logical.index
    return None


@cache
def _per_node_variable() -> re.Pattern[str]:
    return re.compile(r"\$\{?(SLURM_NODEID|SLURM_PROCID|SLURM_LOCALID)\b")


def _early(document: Document) -> tuple[int, str] | None:
    """A variable of the task that the batch script expands itself: outside single quotes, without a backslash."""
    quoted = False
    heredoc: str | None = None
    for index, line in enumerate(document.lines):
        if heredoc is not None:
            heredoc = None if line.strip() == heredoc else heredoc
            continue
        if line.lstrip().startswith("#"):
            continue
        opened = re.search(r"<<-?\s*['\"\\](\w+)", line)
        if opened:
            heredoc = opened[1]
            continue
        for found in _per_node_variable().finditer(line):
            before = line[: found.start()]
            inside = quoted ^ (_single_quotes(before) % 2 == 1)
            if not inside and not before.endswith("\\"):
                return index, found[1]
        if _single_quotes(line) % 2:
            quoted = not quoted
    return None


def _single_quotes(text: str) -> int:
    """Single quotes that open or close; those between double quotes of the same line don't."""
    double, count = False, 0
    for position, char in enumerate(text):
        if char == '"' and text[position - 1 : position] != "\\":
            double = not double
        elif char == "'" and not double:
            count += 1
    return count
