"""Where the ranks of a configuration are to meet: ports that cannot be used, addresses and ranks that each node must have of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from assistant.derive._launches import Launches
from assistant.derive._setup import before_the_run, env_text, note, number, several_nodes
from assistant.facts import CaseFile, Fact

#: Linux takes ports of outgoing connections from this range unless told otherwise.
EPHEMERAL = range(32768, 61000)
_PORTS = ("launch.master_port", "env.MASTER_PORT", "launch.rdzv_endpoint", "env.RDZV_ENDPOINT", "env.PET_RDZV_ENDPOINT")


def derive(case: CaseFile) -> Iterable[Fact]:
    if not before_the_run(case):
        return
    yield from _ports(case)
    for key, name in (
        ("launch.shared_port", "setup.port_shared"),
        ("launch.loopback_multi_node", "setup.loopback"),
        ("launch.standalone_multi_node", "setup.standalone"),
        ("launch.endpoint_differs", "setup.meeting_differs"),
        ("launch.same_node_rank", "setup.node_rank_fixed"),
        ("launch.env_not_exported", "setup.exports_stay"),
    ):
        fact = case.best(key)
        if fact is not None and (name != "setup.exports_stay" or _open_mpi(case)):
            yield note(name, fact.value, fact)
    if several_nodes(case):
        yield from _node_rank(case)
        yield from _same_command(case)


def _open_mpi(case: CaseFile) -> bool:
    """Whether the mpirun is Open MPI's, which hands no variable on by itself."""
    return any(f.value == "docker" for f in case.about("launch.kind")) or any(
        word in str(f.value)
        for f in case.about("launch.command")
        for word in (
            "-mca",
            "--mca",
            "-bind-to",
            "--bind-to",
            "-map-by",
            "--map-by",
            "--allow-run-as-root",
            ":",
            "--hostfile",
        )
        if str(f.value).startswith("mpirun")
    )


def _ports(case: CaseFile) -> Iterator[Fact]:
    told: set[int] = set()
    facts = [f for key in _PORTS for f in case.about(key)]
    facts.sort(key=lambda f: str(f.value).rpartition(":")[2] not in (f.origin.quote or ""))
    for fact in facts:
        text = env_text(fact).rpartition(":")[2]
        if not text.isascii() or not text.isdigit() or len(text) > 9 or int(text) in told:
            continue
        if ":" not in str(fact.value) and fact.key.lower().endswith("endpoint"):
            continue
        port = int(text)
        told.add(port)
        if port > 65535:
            yield note("setup.port_impossible", port, fact)
        elif 0 < port < 1024:
            yield note("setup.port_privileged", port, fact)
        elif port in EPHEMERAL:
            yield note("setup.port_ephemeral", port, fact)


def _same_command(case: CaseFile) -> Iterator[Fact]:
    """One and the same command with a literal node rank, written down for each node."""
    launches = Launches(case)
    ranks, nodes = launches.by_place("launch.node_rank"), launches.by_place("launch.nnodes")
    for place, times in launches.by_place("launch.command_times").items():
        rank, wanted = ranks.get(place), number(nodes.get(place))
        if rank is not None and env_text(rank).isdigit() and wanted and wanted > 1 and (number(times) or 0) >= wanted:
            yield note("setup.node_rank_fixed", env_text(rank), rank)


def _node_rank(case: CaseFile) -> Iterator[Fact]:
    """torchrun over several nodes with static rendezvous: without a node rank every node is the first one."""
    if case.about("launch.pods") or any(
        case.about(f"env.PET_{name}") for name in ("NODE_RANK", "RDZV_ENDPOINT", "MASTER_ADDR")
    ):
        return
    launches = Launches(case)
    at = {
        key: launches.by_place(f"launch.{key}")
        for key in ("nnodes", "node_rank", "rdzv_backend", "rdzv_endpoint", "master_addr")
    }
    for place, command in launches.by_place("launch.command").items():
        if str(command.value).split(" ", 1)[0] not in ("torchrun", "torch.distributed.launch"):
            continue
        nodes = at["nnodes"].get(place)
        if nodes is None or (number(nodes) or 1) < 2 or place in at["rdzv_backend"]:
            continue
        if place not in at["node_rank"] and place in at["master_addr"]:
            yield note("setup.node_rank_missing", f"{nodes.value} nodes and no node rank", nodes)
        elif place not in at["master_addr"] and place not in at["rdzv_endpoint"]:
            yield note("setup.no_meeting_point", f"{nodes.value} nodes and no address to meet at", nodes)
