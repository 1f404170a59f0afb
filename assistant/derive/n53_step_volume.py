"""How large the model is and how many bytes a step sends, beside the step time that was measured."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from assistant.facts import CaseFile, Fact, Origin

_SIZE = re.compile(
    r"(?<![\w.])(?P<n>\d+(?:\.\d+)?) ?(?P<u>[BM])(?:illion)?\b(?!\w|/)(?! ?(?:tokens?|samples?|rows?|images?|steps?|B/s|bytes?))|(?P<n2>\d+(?:\.\d+)?) (?P<u2>billion|million) (?:param|weight)"
)
_KNOWN = {
    r"resnet-?18\b": 11.7e6,
    r"resnet-?50\b": 25.6e6,
    r"resnet-?101\b": 44.5e6,
    r"resnet-?152\b": 60.2e6,
    r"vgg-?16\b": 138.4e6,
    r"vgg-?19\b": 143.7e6,
    r"alexnet\b": 61.1e6,
    r"inception-?v?3\b": 23.8e6,
    r"bert[- ]large\b": 336e6,
    r"bert(?:[- ]base)?\b": 110e6,
    r"gpt-?2 ?xl\b": 1.56e9,
    r"gpt-?2\b": 124e6,
    r"vit-?b\b": 86e6,
    r"vit-?l\b": 304e6,
    r"mnist\b": 1e6,
}
_BYTES = {"fp32": 4.0, "tf32": 4.0, "fp16": 2.0, "bf16": 2.0, "fp8": 2.0}


def derive(case: CaseFile) -> Iterable[Fact]:
    size = None if case.about("model_params") else _model_size(case)
    if size is not None:
        yield size
    yield from _volume(case, float(size.value) if size is not None else _number(case, "model_params"))


def _number(case: CaseFile, key: str) -> float | None:
    value = case.value(key)
    if isinstance(value, bool) or value is None:
        return None
    try:
        return float(value)
    except ValueError:
        return None


def _model_size(case: CaseFile) -> Fact | None:
    for sentence in case.says:
        found = _SIZE.search(sentence)
        if found is not None:
            number, unit = float(found["n"] or found["n2"]), (found["u"] or found["u2"]).lower()
            value = number * (1e9 if unit.startswith("b") else 1e6)
            if 1e5 <= value <= 3e12:
                return Fact("model_params", value, Origin("derived", quote=found[0]))
    for sentence in case.says:
        for pattern, value in _KNOWN.items():
            named = re.search(pattern, sentence, re.IGNORECASE)
            if named is not None:
                return Fact("model_params", value, Origin("derived", quote=named[0]))
    return None


def _volume(case: CaseFile, params: float | None) -> Iterator[Fact]:
    """Bytes that a node must send each step, and the time that they need at least on the stated link."""
    nodes, gbps = _number(case, "nodes"), _number(case, "network_gbps")
    if params is None:
        return
    trained = params * 0.01 if case.value("config.lora") else params
    size = _BYTES.get(str(case.value("precision")), 4.0 if params < 1e9 else 2.0)
    where = Origin("derived")
    yield Fact("comm.gradient_gb", round(trained * size / 1e9, 4), where)
    if not nodes or nodes < 2:
        return
    accumulation = _number(case, "accumulation") or 1.0
    sharding = str(case.value("sharding") or "none")
    ring = (nodes - 1) / nodes
    if sharding in ("zero3", "fsdp") and not case.value("config.hybrid_shard"):
        sent = (2 * params * min(size, 2.0) + trained * size) * accumulation * ring
    elif sharding == "zero2":
        sent = trained * size * (accumulation + 1) * ring
    else:
        sent = 2 * trained * size * ring
    yield Fact("comm.step_gb", round(sent / 1e9, 4), where)
    if gbps and gbps > 0:
        nics = max(_number(case, "nic_count") or 1.0, 1.0)
        least = sent * 8 / (gbps * 1e9 * nics)
        yield Fact("comm.min_step_s", round(least, 4), where)
        step = _number(case, "step.time_s")
        if step and step > 0:
            yield Fact("comm.share", round(min(least / step, 9.99), 3), where)
