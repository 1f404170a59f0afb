"""What the checks of configurations share: whether there is only a configuration, its nodes and processes, its network."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from assistant.facts import CaseFile, Fact, Value

#: Facts that only a job that ran leaves behind.
_RAN = (
    "python.exception",
    "python.echo",
    "first_failure.kind",
    "watchdog.op",
    "nccl.net",
    "nccl.nranks",
    "nccl_tests.busbw_peak_gbs",
    "step.time_s",
    "exit_code",
    "rdzv.error",
    "run.finished",
    "fr.waiting_ranks",
)


def before_the_run(case: CaseFile) -> bool:
    """Nothing tells of a run: no trouble is described and no log, figure or failure is there."""
    if case.value("symptom") not in (None, "question"):
        return False
    failures = case.value("failures.count")
    return not failures and not any(case.about(key) for key in _RAN)


def note(key: str, value: Value, cause: Fact) -> Fact:
    """A fact that follows from `cause`, shown by its line."""
    o = cause.origin
    return Fact(key, value, o.derived(), cause.subject)


def only(facts: Iterable[Fact]) -> Fact | None:
    """The fact, where all that are whole numbers say the same; one that shows its value in its line before others."""
    numbers = [f for f in facts if isinstance(f.value, int) and not isinstance(f.value, bool)]
    if not numbers or len({f.value for f in numbers}) > 1:
        return None
    return next((f for f in numbers if str(f.value) in (f.origin.quote or "")), numbers[0])


def number(fact: Fact | None) -> int | None:
    return fact.value if fact is not None and isinstance(fact.value, int) and not isinstance(fact.value, bool) else None


@dataclass(frozen=True, slots=True)
class Shape:
    """Nodes of a job and processes on each, with the facts that tell."""

    nodes: Fact | None
    each: Fact | None

    @property
    def world(self) -> int | None:
        nodes, each = number(self.nodes), number(self.each)
        return nodes * each if nodes and each else None


def shape(case: CaseFile) -> Shape:
    """Nodes and processes a node, where the configuration leaves no doubt about them."""
    nodes = next(
        (
            f
            for f in (
                only(case.about(key))
                for key in (
                    "launch.sbatch_nodes",
                    "launch.pods",
                    "launch.nnodes",
                    "hostfile.hosts",
                    "config.num_nodes",
                    "nodes",
                )
            )
            if f
        ),
        None,
    )
    own = only(case.about("launch.nproc"))
    tasks = only(case.about("launch.ntasks_per_node"))
    if own is None and tasks is not None and number(tasks) == 1 and not case.about("launch.nproc"):
        own = only(case.about("launch.sbatch_gpus")) if _one_process_a_gpu(case) else None
    elif own is None and not case.about("launch.nproc"):
        own = tasks or only(case.about("hostfile.slots_max")) or only(case.about("gpus_per_node"))
    if nodes is None and own is not None and case.about("launch.standalone"):
        nodes = note("nodes", 1, own)
    return Shape(nodes, own)


def _one_process_a_gpu(case: CaseFile) -> bool:
    return any(f.value in ("accelerate", "deepspeed") for f in case.about("launch.kind"))


def several_nodes(case: CaseFile) -> bool | None:
    """Whether the job spans nodes; None where nothing tells."""
    found = [
        f.value
        for key in (
            "nodes",
            "launch.nnodes",
            "launch.sbatch_nodes",
            "launch.pods",
            "hostfile.hosts",
            "config.num_nodes",
        )
        for f in case.about(key)
        if isinstance(f.value, int)
    ]
    if found:
        return max(found) > 1
    if case.about("launch.standalone"):
        return False
    world, local = env_number(case, "WORLD_SIZE"), env_number(case, "LOCAL_WORLD_SIZE")
    if world and local:
        return world > local
    hosts = [str(f.value) for f in case.about("launch.hosts")]
    return True if any("," in h for h in hosts) else None


def env_number(case: CaseFile, name: str) -> int | None:
    text = str(case.value(f"env.{name}") or "")
    return int(text) if text.isdigit() and len(text) < 8 else None


def env_text(fact: Fact) -> str:
    return str(fact.value).strip("\"' ")


def fabric(case: CaseFile) -> Fact | None:
    """The network between the nodes: efa, infiniband, roce, rdma (one of the two), gpudirect-tcp, tcp."""
    stated = case.best("network_kind")
    if stated is not None and stated.value in ("efa", "infiniband", "roce"):
        return note("setup.fabric", stated.value, stated)
    denied = case.best("network_rdma")
    if denied is not None and denied.value is False:
        return note("setup.fabric", "tcp", denied)
    if stated is not None and stated.value == "ethernet":
        return note("setup.fabric", "tcp", stated)
    hints = case.about("setup.fabric_hint") + case.about("setup.fabric_said")
    named = [f for f in hints if f.value != "rdma"]
    if named:
        return note("setup.fabric", named[0].value, named[0])
    for key, pattern, kind in _SIGNS:
        for fact in case.about(key):
            if re.match(pattern, env_text(fact), re.IGNORECASE):
                return note("setup.fabric", kind, fact)
    return note("setup.fabric", "rdma", hints[0]) if hints else None


_SIGNS = (
    ("env.FI_PROVIDER", "efa", "efa"),
    ("env.FI_EFA_USE_DEVICE_RDMA", "1", "efa"),
    ("env.NCCL_SOCKET_IFNAME", r"=?ib\w*\d", "infiniband"),
    ("env.NCCL_IB_GID_INDEX", r"\d", "roce"),
    ("env.NCCL_IB_HCA", r"[=^]*(?:mlx|bnxt|irdma|ionic|rocep|ibp)", "rdma"),
)
