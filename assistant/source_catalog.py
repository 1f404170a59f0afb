"""Which sources are read, in which versions, and which facts come of them: a table made from the parsers and signatures themselves.

Parsers are read as syntax trees and not run: a string in a module that is a key of the vocabulary is a fact of that source.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from knowledge.load import ROOT

PARSERS = Path(__file__).parent / "parsers"

#: Groups in the order in which they are shown, each with the beginnings of the names of its modules; the first that fits counts.
GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("NCCL and its plugins", ("nccl_", "ofi_plugin", "setting_runs", "pair_table")),
    (
        "PyTorch",
        (
            "flight_recorder",
            "watchdog",
            "collective_",
            "ddp_",
            "torch_",
            "kineto_",
            "profile_table",
            "comm_profile",
            "stack_dump",
            "python_traceback",
            "torchrun_block",
            "rendezvous",
        ),
    ),
    (
        "Frameworks and training programs",
        (
            "jax_",
            "tensorflow_",
            "tf_config",
            "ray_",
            "horovod_",
            "megatron_",
            "straggler_",
            "training_progress",
            "progress_",
            "throughput",
            "rank_work",
            "rank_table",
            "rank_devices",
            "data_shards",
            "cuda_arch",
            "run_end",
            "training_code",
            "timing_code",
            "step_",
        ),
    ),
    (
        "Launchers and schedulers",
        (
            "launch_command",
            "launch_env",
            "mpi_",
            "rank_bindings",
            "rank_placement",
            "slurm_messages",
            "slurm_tables",
            "kubernetes_",
            "pod_images",
            "node_placement",
            "master_address",
        ),
    ),
    ("GPUs", ("gpu_", "dcgm_", "gds_check")),
    (
        "Hosts",
        (
            "host_bench",
            "host_cpu",
            "host_dmesg",
            "host_driver",
            "host_limits",
            "host_lspci",
            "host_memory",
            "host_placement",
            "host_proc",
            "io_statistics",
            "os_noise",
            "package_versions",
            "code_revisions",
        ),
    ),
    (
        "Networks",
        (
            "ib",
            "mlxlink",
            "gid_table",
            "ethtool",
            "fi_info",
            "libfabric_",
            "ucx_",
            "perftest",
            "iperf",
            "ping",
            "latency_",
            "ip_",
            "interface_",
            "network_",
            "name_resolution",
            "port_test",
            "security_",
            "tcp_",
            "traffic_",
            "listening_",
            "conntrack",
            "switch_",
            "bonding",
        ),
    ),
    (
        "Configurations",
        (
            "accelerate_",
            "training_config",
            "launch_",
            "compose_",
            "slurm_conf",
            "pbs_",
            "hostfile",
            "limits_conf",
            "cluster_",
        ),
    ),
)
OTHERS = "Other sources"


@dataclass(slots=True)
class Source:
    """One parser: what it reads and which facts it can give."""

    module: str
    name: str
    versions: str
    group: str
    facts: list[str] = field(default_factory=list)
    summary: str = ""


def constants(path: Path) -> dict[str, object]:
    """NAME and VERSIONS of a module, whether it has TRIGGERS, and how many arguments `parse` takes, without running it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: dict[str, object] = {"__doc__": ast.get_docstring(tree) or ""}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            names, value = [t.id for t in node.targets if isinstance(t, ast.Name)], node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            names, value = [node.target.id], node.value
        else:
            names, value = [], ast.Constant(None)
        for name in names:
            if name in ("NAME", "VERSIONS"):
                found[name] = ast.literal_eval(value)
            elif name == "TRIGGERS":
                found[name] = True
        if isinstance(node, ast.FunctionDef) and node.name == "parse":
            found["parse"] = len(node.args.args)
    return found


def _strings(path: Path, seen: set[Path]) -> Iterator[str]:
    """Strings of a module and of the helpers beside it that it imports."""
    if path in seen or not path.exists():
        return
    seen.add(path)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("assistant.parsers._"):
            yield from _strings(path.parent / f"{(node.module or '').rsplit('.', 1)[-1]}.py", seen)


def vocabulary(folder: Path = ROOT / "vocabulary") -> frozenset[str]:
    """All keys of facts."""
    files = sorted(folder.glob("*.yaml"))
    return frozenset(row["key"] for file in files for row in yaml.load(file.read_bytes(), yaml.CSafeLoader))


def group_of(module: str) -> str:
    return next((name for name, starts in GROUPS if module.startswith(starts)), OTHERS)


def sources() -> list[Source]:
    """Every parser, by group and name."""
    known = vocabulary()
    found: list[Source] = []
    for path in sorted(PARSERS.glob("[a-z]*.py")):
        own = constants(path)
        texts = set(_strings(path, set()))
        keys = sorted(s for s in texts if s in known and ("." in s or "_" in s or len(s) > 4))
        if "env." in texts:
            keys.append("env.<name of a variable>")
        summary = str(own["__doc__"]).split("\n", 1)[0]
        found.append(
            Source(
                path.stem,
                str(own.get("NAME", path.stem)),
                str(own.get("VERSIONS", "")),
                group_of(path.stem),
                keys,
                summary.rstrip(":."),
            )
        )
    order = {name: n for n, (name, _) in enumerate(GROUPS)}
    return sorted(found, key=lambda s: (order.get(s.group, len(order)), s.name.lower(), s.module))


def areas(signatures: Path = ROOT / "signatures") -> list[tuple[str, int]]:
    """Areas of messages that are known one by one, with the number of messages."""
    return [
        (folder.name, len(list(folder.rglob("*.yaml")))) for folder in sorted(signatures.iterdir()) if folder.is_dir()
    ]
