"""On which line of a command of several lines an option stands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

#: Variables that llamafactory-cli and the like turn into options of torchrun.
SETTINGS = {
    "NNODES": "nnodes",
    "NODE_RANK": "node_rank",
    "NPROC_PER_NODE": "nproc_per_node",
    "MASTER_ADDR": "master_addr",
    "MASTER_PORT": "master_port",
}


@cache
def assigned() -> re.Pattern[str]:
    return re.compile(rf"(?<!\S)({'|'.join(SETTINGS)})=([^\s;]+)")


@cache
def _written() -> dict[str, re.Pattern[str]]:
    """How the option that gives a fact is written, to find its line in a command of several lines."""
    names = {
        "launch.nnodes": r"-{1,2}(?:nnodes?|num[-_](?:nodes|machines)|nodes|N)\b|\bNNODES=",
        "launch.nproc": r"-{1,2}(?:nproc(?:[-_]per[-_]node)?|num[-_]gpus|npernode|ppn|N)\b|NPROC_PER_NODE=",
        "launch.node_rank": r"--(?:node|machine)[-_]rank\b|NODE_RANK=",
        "launch.rdzv_endpoint": r"--rdzv[-_]endpoint\b",
        "launch.rdzv_backend": r"--rdzv[-_]backend\b",
        "launch.rdzv_id": r"--rdzv[-_]id\b",
        "launch.master_addr": r"--(?:master[-_]addr|main[-_]process[-_]ip)\b|MASTER_ADDR=",
        "launch.master_port": r"--(?:master[-_]port|main[-_]process[-_]port)\b|MASTER_PORT=",
        "launch.standalone": r"--standalone\b",
        "launch.num_processes": r"-{1,2}(?:num[-_]processes|np|n|num[-_]proc|ntasks)\b",
        "launch.hosts": r"-{1,2}(?:H|hosts?|hostfile|include)\b",
        "launch.ntasks_per_node": r"--ntasks-per-node\b",
        "launch.shm_size_gb": r"--shm-size\b",
        "launch.cpu_limit": r"--cpus\b",
        "launch.memory_limit_gb": r"(?:--memory|-m)\b",
    }
    return {
        key: re.compile(rf"(?:^|[\s\"']){pattern}" if pattern[0] == "-" else pattern) for key, pattern in names.items()
    }


def line_of(messages: Sequence[str], first: int, last: int, key: str) -> int:
    """Index of the line from `first` to `last` with the option that gives this fact; `first` where none has it."""
    written = _written().get(key)
    if written is None:
        return first
    return next((i for i in range(first, last + 1) if written.search(messages[i])), first)
