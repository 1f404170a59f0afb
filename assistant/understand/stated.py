"""Stated facts, KEY=VALUE: typed where the key is known, free text otherwise."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from assistant.facts import Fact, Origin, Value
from assistant.understand.hardware import gpus, machine
from assistant.understand.job import FRAMEWORKS, read_job
from assistant.understand.machines import read_machines
from assistant.understand.network import read_network
from assistant.understand.performance import BUSY_FROM, IDLE_BELOW, by_nodes, read_performance
from assistant.understand.text import COUNT, decimal, mentioned, number, regex

Found = tuple[str, Value]

#: Other names that people give to facts.
_SAME_AS = {
    "torch": "torch_version",
    "pytorch": "torch_version",
    "nccl": "nccl_version",
    "cuda": "cuda_version",
    "driver": "driver_version",
    "num_nodes": "nodes",
    "nnodes": "nodes",
    "hosts": "nodes",
    "machines": "nodes",
    "gpus_total": "world_size",
    "total_gpus": "world_size",
    "processes": "world_size",
    "ranks": "world_size",
    "gpu_model": "gpu",
    "nproc_per_node": "gpus_per_node",
    "per_gpu_batch": "batch_per_gpu",
    "batch_size_per_gpu": "batch_per_gpu",
    "micro_batch": "batch_per_gpu",
    "micro_batch_size": "batch_per_gpu",
    "per_device_train_batch_size": "batch_per_gpu",
    "gradient_accumulation": "accumulation",
    "gradient_accumulation_steps": "accumulation",
    "grad_accum": "accumulation",
    "num_workers": "dataloader_workers",
    "global_batch": "batch_global",
    "global_batch_size": "batch_global",
    "cpus": "cpu.count",
    "gpu_utilization": "gpu_util_pct",
    "gpu_util": "gpu_util_pct",
}
_COUNTS = {"nodes", "gpus_per_node", "world_size"}
_STRICT = {"nodes", "gpus_per_node"}
_NAMED = {"launcher", "scheduler", "container", "sharding", "cloud", "precision", "backend"}
"""Keys whose value is one of a few names; what is said beside the name is read as well."""
_STATES = ("busy", "idle", "mixed", "unknown")
_RATES = regex(
    r"(?:samples?|images?|img|tokens?|it|iter\w*|steps?|seq\w*|epochs?)_?(?:per_s|/s|per_sec\w*|_s)$|throughput|it_per_s|samples_per_s"
)


#: Characters of a value that are read.
LONGEST = 4000


def read_stated(key: str, value: str) -> tuple[list[Fact], str]:
    """Facts of KEY=VALUE, and what is left as free text.

    Raises ValueError where the key's meaning is fixed and the value cannot be right, as in nodes=abc."""
    key, value = key.strip()[:200], value.strip()[:LONGEST]
    origin = Origin("stated", quote=f"{key}={value}"[:240])
    inferred = Origin("derived", quote=origin.quote)
    name = _SAME_AS.get(key.lower().replace("-", "_"), key.lower().replace("-", "_"))
    reader = _READERS.get(name)
    free = f"{key}: {value}"
    if reader is not None:
        facts = [Fact(k, v, origin) for k, v in reader(name, value)]
        return facts, free if name not in _COUNTS and _worth_reading(name, value) else ""
    if name in _NAMED:
        named = [
            Fact(k, v, origin) for k, v, _ in _understood(name, value) if k in (name, "framework", "scheduler", "cloud")
        ]
        return named or ([Fact(name, value, origin)] if value else []), free
    typed = _typed(name, value)
    if typed is not None:
        return [Fact(name, typed, origin)], free
    if _RATES.search(name):
        return [Fact(k, v, origin) for k, v in _rates(name, value)], free
    return [Fact(k, v, inferred if assumed else origin) for k, v, assumed in _understood(name, value)], free


def _worth_reading(name: str, value: str) -> bool:
    """Whether the words of a typed value say more than the value: "ethernet-10g, docker swarm overlay"."""
    return not (name == "gpu_state" and value.lower() in _STATES) and not (
        name == "framework" and value.lower() in dict(FRAMEWORKS)
    )


#: Answers that are no number and not wrong either; they stay as words.
VAGUE = r"\b(?:several|many|multiple|various|few|some|dozens?|hundreds?|thousands?|unknown|varies|any|all|more than|depends|not (?:sure|known))\b"


def _count(name: str, value: str) -> Iterator[Found]:
    counts = [n for n in (number(m) for m in regex(rf"(?<![\w.-]){COUNT}(?![\w.]*\d)").findall(value)) if n is not None]
    if not counts or max(counts) < 1:
        if name in _STRICT and not regex(VAGUE).search(value):
            raise ValueError(f"{name} is a whole number of 1 or more, as in {name}=2; {value!r} is not one")
        return
    yield name, max(counts)


def _framework(_: str, value: str) -> Iterator[Found]:
    if not value:
        raise ValueError(
            "framework is a name: pytorch, tensorflow, jax, horovod, deepspeed, megatron, lightning, accelerate, ray, mpi or other"
        )
    known = next((name for name, pattern in FRAMEWORKS if value.lower() == name or mentioned(value, pattern)), None)
    yield "framework", known or "other"


def _gpu(_: str, value: str) -> Iterator[Found]:
    if not value:
        raise ValueError("gpu is a model, as in gpu=A100-SXM4-80GB")
    yield "gpu", value
    found = gpus(value.replace("_", " "))
    known = machine(value)
    if found:
        yield "gpu_family", found[0].family
        yield "gpu_class", found[0].kind
        if len({g.family for g in found}) > 1:
            yield "gpu_mixed", ", ".join(sorted({g.family for g in found}))
    elif known is not None:
        yield "gpu_family", known[0].family
        yield "gpu_class", "datacenter"


def _network(_: str, value: str) -> Iterator[Found]:
    if not value:
        raise ValueError("network is a kind and rate, as in network=infiniband-hdr-200 or network=ethernet-25")
    yield "network", value
    found = list(read_network(value.replace("_", " ")))
    yield from ((k, v) for k, v, _ in found)
    if not any(k == "network_gbps" for k, _, _ in found):
        rate = regex(r"(?<![\d.])(\d{1,3}(?:\.\d)?)(?![\d.])").findall(value)
        usual = [float(r) for r in rate if float(r) in (1, 2.5, 5, 10, 25, 40, 50, 56, 100, 200, 400, 800)]
        if usual and any(k == "network_kind" for k, _, _ in found) and not regex(r"\d ?x\b").search(value):
            yield "network_gbps", max(usual)


def _gpu_state(_: str, value: str) -> Iterator[Found]:
    if not value:
        raise ValueError("gpu_state is busy, idle, mixed or unknown")
    word = value.lower()
    if word in _STATES:
        yield "gpu_state", word
        return
    percent = [float(n) for n in regex(r"(\d{1,3}(?:\.\d+)?)").findall(value) if float(n) <= 100]
    if percent:
        mean = sum(percent) / len(percent)
        yield "gpu_util_pct", mean
        yield "gpu_state", "idle" if mean <= IDLE_BELOW else "busy" if mean >= BUSY_FROM else "mixed"
        return
    yield from ((k, v) for k, v, _ in read_performance(f"gpus {value}") if k == "gpu_state")


def _version(name: str, value: str) -> Iterator[Found]:
    match = regex(r"\d+(?:\.\d+)+(?:[+-]\w+)?|\d{3}\b").search(value)
    if match:
        yield name, match[0].split("+cuda")[0]


def _plain_number(name: str, value: str) -> Iterator[Found]:
    match = regex(r"-?\d+(?:,\d{3})*(?:\.\d+)?").search(value)
    if match:
        amount = decimal(match[0])
        yield name, int(amount) if amount == int(amount) and name != "gpu_util_pct" else amount


def _symptom(_: str, value: str) -> Iterator[Found]:
    if value.lower() not in ("slow", "hang", "crash", "jitter", "question"):
        raise ValueError(f"symptom is slow, hang, crash, jitter or question; {value!r} is none of them")
    yield "symptom", value.lower()


_READERS: dict[str, Callable[[str, str], Iterator[Found]]] = {
    "nodes": _count,
    "gpus_per_node": _count,
    "world_size": _count,
    "framework": _framework,
    "gpu": _gpu,
    "network": _network,
    "gpu_state": _gpu_state,
    "symptom": _symptom,
    "torch_version": _version,
    "nccl_version": _version,
    "cuda_version": _version,
    "driver_version": _version,
    "batch_per_gpu": _plain_number,
    "batch_global": _plain_number,
    "accumulation": _plain_number,
    "dataloader_workers": _plain_number,
    "cpu.count": _plain_number,
    "gpu_util_pct": _plain_number,
}


def _typed(name: str, value: str) -> Value | None:
    """The value of a key of the vocabulary in its type; None where the key is unknown or the value does not fit."""
    from knowledge.load import knowledge

    entry = knowledge().vocabulary.get(name)
    if entry is None or not value:
        return None
    try:
        return _convert(entry["type"], value)
    except ValueError:
        return None


def _convert(kind: str, value: str) -> Value | None:
    if kind == "boolean":
        word = value.lower()
        if word in ("true", "yes", "on", "1"):
            return True
        return False if word in ("false", "no", "off", "0") else None
    if kind == "integer":
        return int(value.replace(",", ""))
    return decimal(value) if kind == "number" else value


def _rates(name: str, value: str) -> Iterator[Found]:
    """Throughput at several counts: {'1 node': 23.9, '2 nodes': 18.7}, or "1 node 23.9, 2 nodes 18.7"."""
    pairs: dict[int, float] = {}
    try:
        table = ast.literal_eval(value[:4000])
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        table = None
    if isinstance(table, dict):
        items = [(str(k), v) for k, v in table.items() if isinstance(v, int | float)]
    else:
        items = [
            (m[1], float(m[2]))
            for m in regex(
                r"((?:\d+|one|two|four|eight) ?(?:nodes?|gpus?|machines?)?) ?[:=]? (\d+(?:\.\d+)?)"
            ).finditer(value)
        ]
    for label, rate in items:
        match = regex(rf"(?<!\w)({COUNT})(?!\w)").search(label)
        count = number(match[1]) if match else None
        if count:
            per_rank = name.startswith(("it", "step"))
            pairs.setdefault(count, float(rate) * (count if per_rank else 1))
    yield from ((k, v) for k, v, _ in by_nodes(pairs))


def _understood(name: str, value: str) -> Iterator[tuple[str, Value, bool]]:
    """What the words of a free fact state, apart from the kind of trouble."""
    text = value
    yield from read_job(
        f"{name.replace('_', ' ')} {text}"
        if name in ("multi_gpu", "model", "container", "backend", "launch", "launcher", "sharding")
        else text
    )
    if (
        name == "container"
        and not regex(r"\bno(?:ne)?\b|\bfalse\b").search(text)
        and not any(k == "container" for k, _, _ in read_job(text))
    ):
        yield "container", "yes", False
    if name == "gpus" and value.isdecimal():
        yield "world_size", int(value), False
    yield from (f for f in read_network(text) if name not in ("storage", "disk", "model") and f[0] != "network_gbps")
    yield from (
        f
        for f in read_machines(text)
        if f[0] in ("nodes", "gpu", "gpu_family", "gpu_class") and name not in ("model", "cpu")
    )
    yield from (f for f in read_performance(f"{text}") if f[0] != "gpu_state" or "gpu" in name)
