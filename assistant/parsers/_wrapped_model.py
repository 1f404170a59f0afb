"""Where a program runs a model that is wrapped for several ranks (DDP, FSDP, ZeRO) on one rank only.

The forward pass of such a wrapper is itself a collective (it synchronises buffers or gathers weights):

    model = DistributedDataParallel(model, device_ids=[rank])
    if rank == 0:
        validate(model, loader)
"""

from __future__ import annotations

import re
from functools import cache

from assistant.parsers._python_code import CodeLine

_WRAPPED = re.compile(
    r"^\s*(?P<name>(?:self\.)?\w+)(?:\s*,\s*[\w.]+)*\s*=\s*(?:(?:[\w]+\.)*(?:DistributedDataParallel|DDP|FSDP|FullyShardedDataParallel|fully_shard)\(|deepspeed\.initialize\(|(?:self\.)?(?:accelerator|fabric)\.(?:prepare|setup)\()"
)
_DEF = re.compile(r"^\s*(?:async )?def (?P<name>\w+)\((?P<params>[^)]*)")
_CALL = re.compile(r"(?<![\w.])(?:self\.)?(?P<name>[A-Za-z_]\w*)\((?P<args>[^\n]*)")


@cache
def _used(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.]){re.escape(name)}\(")


def _bodies(program: list[CodeLine]) -> dict[str, tuple[set[str], list[CodeLine]]]:
    """The parameters and lines of each function by its name."""
    result: dict[str, tuple[set[str], list[CodeLine]]] = {}
    for position, line in enumerate(program):
        found = _DEF.match(line.text)
        if found is None:
            continue
        body: list[CodeLine] = []
        for inner in program[position + 1 :]:
            if inner.indent <= line.indent:
                break
            body.append(inner)
        result[found["name"]] = set(re.findall(r"\w+", found["params"])), body
    return result


def runs_on_one_rank(program: list[CodeLine]) -> CodeLine | None:
    """The line under a condition on the rank that runs the wrapped model: itself, or in the function that it calls."""
    names = {m["name"] for line in program if (m := _WRAPPED.match(line.text))}
    if not names:
        return None
    bodies = _bodies(program)
    for line in program:
        if not line.in_rank_test or _WRAPPED.match(line.text):
            continue
        if any(_used(name).search(line.text) for name in names):
            return line
        for call in _CALL.finditer(line.text):
            if call["name"] not in bodies:
                continue
            params, body = bodies[call["name"]]
            handed_over = any(re.search(rf"(?<![\w.]){re.escape(name)}\s*[,)]", call["args"]) for name in names)
            inside = any(_used(name).search(b.text) for name in names - params for b in body)
            if inside or (
                handed_over
                and any(re.search(r"(?<![\w.])(?:model|net|network|encoder|module)\(", b.text) for b in body)
            ):
                return line
    return None
