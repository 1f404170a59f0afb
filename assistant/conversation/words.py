"""How facts and steps are said in a conversation."""

from __future__ import annotations

from collections.abc import Iterable

from assistant.conversation.answers import UNKNOWN_MARK, marks
from assistant.diagnosis.next_step import NextStep
from assistant.facts import Fact, Value
from assistant.report.words import Block
from knowledge.load import Knowledge

_SYMPTOMS = {
    "slow": "it is slow",
    "hang": "it hangs",
    "crash": "it fails",
    "jitter": "some steps are slow",
    "question": "a question, no failure",
}
_PLAIN: dict[str, str] = {
    "framework": "framework {}",
    "nodes": "{} node",
    "gpus_per_node": "{} GPU per node",
    "world_size": "{} GPUs in all",
    "gpu_family": "{}",
    "network_kind": "network: {}",
    "network_gbps": "{:g} Gbit/s per port",
    "network_nics": "{} network port per node",
    "gpu_state": "GPUs {}",
    "gpu_util_pct": "GPUs at {:g} %",
    "launcher": "started with {}",
    "scheduler": "scheduler {}",
    "container": "container: {}",
    "cloud": "cloud: {}",
    "precision": "{}",
    "model_params": "model of {} parameters",
    "batch_per_gpu": "batch {:g} per GPU",
    "accumulation": "accumulation {}",
    "sharding": "sharding: {}",
    "slowdown_factor": "{:g} times slower than it should be",
    "throughput.by_nodes": "throughput by size: {}",
    "net.observed_gbps": "{:g} Gbit/s seen on the wire",
    "net.iperf_gbps": "iperf {:g} Gbit/s",
    "what_changed": "changed: {}",
    "torch_version": "PyTorch {}",
    "nccl_version": "NCCL {}",
    "cuda_version": "CUDA {}",
    "driver_version": "driver {}",
    "backend": "backend {}",
    "hang_where": "stands still: {}",
    "crash_when": "fails: {}",
    "exit_code": "exit code {}",
    "dataloader_workers": "{} loader workers",
    "network_unit_meant": "GB/s of the network means {}",
}  # fmt: skip
_COUNTED = {"nodes": "{} nodes", "gpus_per_node": "{} GPUs per node", "network_nics": "{} network ports per node"}
_FLAGS: dict[str, tuple[str, str]] = {
    "single_node_ok": ("one node alone is fine", "one node alone is bad as well"),
    "virtual_machine": ("virtual machines", "bare metal"),
    "p2p_off_helps": ("works with P2P off", "no change with P2P off"),
    "ib_off_helps": ("works with InfiniBand off", "no change with InfiniBand off"),
    "data_free_fast": ("fast without the data pipeline", "slow without the data pipeline too"),
    "no_sync_fast": ("fast without synchronisation", "slow without synchronisation too"),
    "gpu_power_low": ("GPUs draw little power", "GPUs draw their usual power"),
    "all_nodes_alike": ("all nodes alike", "nodes differ"),
    "network_shared": ("network shared with others", "network not shared"),
}
_BEGAN = {
    "always": "from the start",
    "after-change": "since a change",
    "suddenly": "suddenly",
    "over-time": "getting worse over time",
}
_SILENT = frozenset(
    ("network_rdma", "gpu_class", "gpu", "network", "gpu_mixed", "network_unit_doubt", "scaling.efficiency")
)


def fact_words(key: str, value: Value) -> str | None:
    """A fact in a few words, or None where it would not help to say it."""
    if key == "symptom":
        return _SYMPTOMS.get(str(value), str(value))
    if key == "when_began":
        return _BEGAN.get(str(value), str(value))
    if key in _FLAGS and isinstance(value, bool):
        return _FLAGS[key][0 if value else 1]
    if key == "model_params" and isinstance(value, int | float):
        return _PLAIN[key].format(amount(float(value)))
    form = _PLAIN.get(key)
    if form is not None and key in _COUNTED and value != 1:
        form = _COUNTED[key]
    if form is not None:
        try:
            return form.format(value)
        except ValueError:
            return form.replace("{:g}", "{}").format(value)
    if key in _SILENT or "." in key:
        return None
    return f"{key.replace('_', ' ')}: {value}"


def amount(value: float) -> str:
    """1.5e9 -> "1.5 billion"."""
    for size, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"), (1e3, "thousand")):
        if value >= size:
            return f"{value / size:.4g} {word}"
    return f"{value:g}"


def understood(facts: Iterable[Fact]) -> str:
    """The facts of a message in one sentence, or an empty text."""
    words: list[str] = []
    for fact in facts:
        said = fact_words(fact.key, fact.value)
        if said and fact.origin.kind == "derived":
            said += " (by the machine type)"
        if said and said not in words:
            words.append(said)
    return ("Understood: " + ", ".join(words) + ".") if words else ""


def question_blocks(step: NextStep) -> list[Block]:
    """A question with its numbered choices; "I don't know" is always one of them."""
    out = [Block("heading", step.text)]
    lines = [f"{mark}) {choice.label}" for mark, choice in zip(marks(step), step.choices, strict=True)]
    lines.append(f"{UNKNOWN_MARK}) I don't know" if step.kind == "question" else f"{UNKNOWN_MARK}) I can't, or not now")
    out += [Block("text", line) for line in lines]
    return out


def why_asked(step: NextStep, kb: Knowledge) -> list[Block]:
    """Why a question is asked, which causes it tells apart, and how to find the answer."""
    out = [Block("text", step.why)]
    names = [f"{kb.causes[c]['title']} [{c}]" for c in step.between if c in kb.causes]
    if names:
        out.append(Block("text", "It helps to tell apart: " + "; ".join(names) + "."))
    out += [Block("text", f"How to find out: {step.how}")]
    return out
