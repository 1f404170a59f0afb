"""How processes found each other, or did not: torchrun's rendezvous, the TCP store, Lightning, DeepSpeed, MPI.

[W socket.cpp:601] [c10d] The client socket has failed to connect to [node1]:29500 (errno: 111 - Connection refused).
torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 8/16 clients joined.
Initializing distributed: GLOBAL_RANK: 3, MEMBER: 4/32
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from assistant.facts import Fact, Value
from assistant.intake.document import Document
from assistant.parsers._lines import lines_with

NAME = "rendezvous"
TRIGGERS = (
    "Rendezvous", "rdzv_endpoint", "client socket", "clients joined", "server socket", "store based barrier", "GLOBAL_RANK:", "MEMBER:", "dist_world_size", "WORLD INFO DICT",
    "EADDRINUSE", "ddress already in use", "min_nodes", "init_method", "onnection refused", "cannot be retrieved (gai", "global_world_size", "distributed init (rank", "world size",
    "Distributed environment:", "All distributed processes registered", "Process rank:", "connectFullMesh", "init_process_group", "using world size", "distributed_backend=",
    "with backend", "backend=", "backend:", "command not found", "No such file or directory", "Controller started", "TCPStore",
)  # fmt: skip
VERSIONS = "PyTorch 1.9 to 2.9 (c10d, etcd and static rendezvous, TCPStore), Lightning 1 to 2, DeepSpeed, fairseq, MPI"


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """(pattern with the group `v`, key)."""
    c = re.compile
    return (
        (
            c(
                r"client socket has (?:failed to connect to|timed out .* connect to) (?:any network address of )?[\[(]?(?P<v>[^\],)\s]+(?:\]:|, |:)\d+)"
            ),
            "store.waiting_for",
        ),
        (c(r"(?:IPv[46]|IPv4/IPv6)[\w ]*addresses of \((?P<v>[^,]+, \d+)\) cannot be retrieved"), "store.waiting_for"),
        (c(r"TCP client failed to connect/validate to host (?P<v>\S+:\d+)"), "store.waiting_for"),
        (c(r"server socket has failed to bind to \S+?:(?P<v>\d+) \(errno: 98"), "rdzv.port_taken"),
        (
            c(r"server socket has failed to listen on any local network address\. port: (?P<v>\d+).*EADDRINUSE"),
            "rdzv.port_taken",
        ),
        (c(r"(?:distributed init \(rank \d+\): )(?P<v>\S+)"), "launch.rdzv_endpoint"),
        (c(r"^\s*rdzv_endpoint\s+: (?P<v>\S+:\d*)\s*$"), "launch.rdzv_endpoint"),
        (c(r"^\s*rdzv_backend\s+: (?P<v>\w+)\s*$"), "launch.rdzv_backend"),
        (c(r"^\s*run_id\s+: (?P<v>\S+)\s*$"), "launch.rdzv_id"),
        (
            c(
                r"(?:backend nccl|distributed_backend=|with backend |Backend: |init_process_group\(\s*(?:backend\s*=\s*)?[\"']|(?:\b|_)(?:dist[_-])?backend\s*[=:]\s*[\"']?|--(?:dist|ddp)[-_]backend[= ]|process_group_backend\s*[=:]\s*[\"']?)(?P<v>nccl|gloo|mpi|ucc|hccl|xla|cpu:gloo,cuda:nccl)\b"
            ),
            "launch.backend_arg",
        ),
        (
            c(
                r"(?:bash|sh|zsh|env|ksh|csh|tcsh|pdsh@\S+|srun|execve\(\)|slurmstepd)[^:]*:(?: error:)?(?: line \d+:)?(?: \S+:)? ?(?P<v>[\w./+-]+): (?:command not found|[Nn]o such file or directory|not found)"
            ),
            "command_missing",
        ),
        (c(r"(?:execve\(\)|exec): (?P<v>[\w./-]+): No such file or directory"), "command_missing"),
        (c(r"(?P<v>\bmodule): command not found"), "command_missing"),
    )


@cache
def _numbers() -> tuple[tuple[re.Pattern[str], str], ...]:
    c = re.compile
    return (
        (c(r"Timed out after (?P<v>\d+) seconds waiting for clients"), "rdzv.wait_s"),
        (c(r"(?P<v>\d+)/\d+ clients joined"), "rdzv.joined"),
        (c(r"\d+/(?P<v>\d+) clients joined"), "rdzv.expected"),
        (c(r"^\s*min_nodes\s+: (?P<v>\d+)"), "launch.nnodes"),
        (c(r"^\s*nproc_per_node\s+: (?P<v>\d+)"), "launch.nproc"),
        (c(r"GLOBAL_RANK: \d+, MEMBER: \d+/(?P<v>\d+)"), "launch.world_size_config"),
        (c(r"dist_world_size=(?P<v>\d+)"), "launch.world_size_config"),
        (c(r"store based barrier .*world_size=(?P<v>\d+)"), "launch.world_size_config"),
        (c(r"store based barrier .*(?:worker_count|num_workers_joined)=(?P<v>\d+)"), "rdzv.joined"),
        (c(r"store based barrier .*world_size=(?P<v>\d+), (?:worker_count|num_workers_joined)="), "rdzv.expected"),
        (c(r"global_world_sizes=\[(?P<v>\d+)"), "launch.world_size_config"),
        (
            c(r"(?:using world size: |world_size[ =:]+|World size: |Num processes: )(?P<v>\d+)\b"),
            "launch.world_size_config",
        ),
        (c(r"nnodes=(?P<v>\d+), num_local_procs"), "launch.nnodes"),
        (c(r"num_local_procs=(?P<v>\d+)"), "launch.nproc"),
    )


_ERRORS = (
    ("RendezvousTimeoutError", "timeout"),
    ("RendezvousClosedError", "closed"),
    ("RendezvousConnectionError", "connection"),
    ("clients joined", "missing"),
    ("client socket has timed out", "timeout"),
    ("Timed out initializing process group in store based barrier", "missing"),
    ("cannot be retrieved (gai", "resolve"),
)


@cache
def _member() -> re.Pattern[str]:
    return re.compile(
        r"GLOBAL_RANK: (\d+), MEMBER: \d+/(\d+)|distributed init \(rank (\d+)\)|Process rank: (\d+)|[Ii]nitialized? (?:host \S+ as )?rank[: ]+(\d+)\b|\[Rank (\d+)\] (?:initializ|start)"
    )


#: Of these one stands in every line that is read.
_HINTS = (
    "client socket", "clients joined", "waiting for clients", "server socket", "addresses of", "TCP client failed", "distributed init", "rdzv_", "run_id", "min_nodes", "nproc_per_node",
    "backend", "Backend", "ommand not found", "o such file", ": not found", "GLOBAL_RANK", "world_size=", "world_size:", "world_size ", "world size", "World size", "Num processes",
    "num_workers_joined=", "worker_count=", "world_sizes=", "local_procs", "endezvous", "store based barrier", "onnection refused", "nitialize", "Process rank: ", "[Rank ",
)  # fmt: skip


def parse(document: Document) -> Iterable[Fact]:
    facts: list[Fact] = []
    seen: set[tuple[str, Value]] = set()
    members: dict[int, int] = {}
    twice: tuple[int, int] | None = None
    alone: list[int] = []
    expected = 0
    for index in lines_with(document, _HINTS):
        message = document.messages[index]
        if len(message) > 4000:
            continue
        for key, value in _read(message):
            if (key, value) not in seen:
                seen.add((key, value))
                facts.append(Fact(key, value, document.origin(index)))
        member = _member().search(message)
        if member:
            if member[2] == "1":
                alone.append(index)
            rank = int(next(g for g in (member[1], *member.groups()[2:]) if g))
            expected = max(expected, int(member[2] or 0))
            if rank in members and member[1] and twice is None:
                twice = (rank, index)
            members.setdefault(rank, index)
    if members:
        facts.append(Fact("launch.world_size_started", len(members), document.origin(max(members.values()))))
    if len(alone) > 1:
        facts.append(Fact("launch.rank_unset", True, document.origin(alone[1])))
    if twice is not None and expected > len(members):
        facts.append(Fact("launch.duplicate_rank", str(twice[0]), document.origin(twice[1])))
    return facts


def _read(message: str) -> Iterator[tuple[str, Value]]:
    for pattern, key in _patterns():
        found = pattern.search(message)
        if found:
            value = found["v"]
            yield key, (value.replace("]:", ":").replace(", ", ":") if key == "store.waiting_for" else value)
    for pattern, key in _numbers():
        found = pattern.search(message)
        if found:
            yield key, int(found["v"])
    for text, name in _ERRORS:
        if text in message:
            yield "rdzv.error", name
    if re.search(r"Connection refused", message) and re.search(
        r"store|c10d|socket\.cpp|init_process_group|RuntimeError|TCPStore", message
    ):
        yield "rdzv.error", "refused"
