"""Configuration of training frameworks (DeepSpeed JSON, accelerate and axolotl YAML, TOML, command lines) -> strategy and sizes.

Samples:

    "zero_optimization": {"stage": 3, "overlap_comm": true, "reduce_bucket_size": 5e8}
    fsdp_sharding_strategy: FULL_SHARD
    --tensor-model-parallel-size 16 --micro-batch-size 1 --global-batch-size 16
    [val]
    interval = 100
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from assistant.facts import Fact, Value
from assistant.intake.document import Document
from assistant.parsers._lines import indices_of
from assistant.parsers._training_keys import keys_of

NAME = "training configuration"
TRIGGERS = (
    "zero_optimization",
    "zero_stage",
    "batch_size",
    "batch-size",
    "fsdp_",
    "sharding_strategy",
    *(
        f"{what}{sep}{how}"
        for what in ("parallel", "tp", "pp", "ep", "cp")
        for sep in "_-"
        for how in ("size", "degree")
    ),
    "parallel_shard_degree",
    "parallel_replicate_degree",
    "gradient_accumulation",
    "gradient-accumulation",
    "grad_accum",
    "num_workers",
    "_interval",
    "-interval",
    "interval =",
    "interval:",
    "save_steps",
    "eval_steps",
    "logging_steps",
    "accumulation_steps",
    "every_n_",
    "num_experts",
    "lora_",
    "use_lora",
    "qlora",
    ": lora",
    "packing",
    "_timeout",
    "-timeout",
    "timeout_",
    "bucket_size",
    "bucket-size",
    "bucket_cap_mb",
    "ddp_",
    "latency_hiding",
    "mixed_precision",
    "hpz",
    "offload_",
    "_backend",
    "-backend",
    "sync_b",
    "_checkpointing",
    "pin_memory",
)
VERSIONS = "DeepSpeed 0.5 to 0.17 JSON, accelerate, axolotl, LLaMA-Factory YAML, torchtitan TOML, command lines"

_ZERO_BLOCK = re.compile(r"zero_optimization[\"']?\s*:\s*\{?.{0,1500}?[\"']?\bstage[\"']?\s*:\s*(\d)", re.DOTALL)
_OFFLOAD_BLOCK = re.compile(
    r"offload_(optimizer|param)(?:s|eter|eters)?[\"']?\s*:\s*\{[^}]{0,600}[\"']?device[\"']?\s*:\s*[\"']?(\w+)|offload_(optimizer|param)\w*_device[\"']?\s*:\s*[\"']?(\w+)"
)
_SECTION = re.compile(
    r"^\s*\[(?:val|validation|eval|evaluation)(?:\.\w+)?\]\s*$|^\s*(?:val|validation|evaluation)(?:_data)?\s*:\s*$",
    re.MULTILINE,
)
_CONFIG_NAME = (".json", ".yaml", ".yml", ".toml", ".cfg", ".conf", ".ini", ".sh", ".slurm", ".sbatch", ".py", ".args")
_LINES = 3000


def parse(document: Document) -> Iterable[Fact]:
    facts: list[Fact] = []
    seen: set[tuple[str, Value]] = set()

    def add(key: str, value: Value | None, index: int) -> None:
        if value is not None and (key, value) not in seen and len(seen) < 200:
            seen.add((key, value))
            facts.append(Fact(key, value, document.origin(index, "config")))

    lines = document.lines[:_LINES]
    folded_text = "\n".join(lines).lower()
    keys = keys_of(folded_text)
    hints = sorted({hint for key in keys for hint in key.hints})
    for index in indices_of(folded_text, hints):
        line = lines[index]
        if len(line) > 3000 or ("=" not in line and ":" not in line and "--" not in line):
            continue
        folded = line.lower()
        if "watchdog" in folded or line.lstrip().startswith(("#", "//")):
            continue
        for key in keys:
            if any(h in folded for h in key.hints):
                found = key.pattern.search(line)
                if found is not None:
                    add(key.fact, key.read(found["v"]), index)
    text = document.text[:200_000]
    stage = _ZERO_BLOCK.search(text)
    if stage is not None:
        add("config.zero_stage", int(stage[1]), text.count("\n", 0, stage.end()))
    for found in _OFFLOAD_BLOCK.finditer(text):
        device = (found[2] or found[4] or "").lower()
        if device in ("cpu", "nvme"):
            add(
                "config.offload",
                "params" if (found[1] or found[3]) == "param" else "optimizer",
                text.count("\n", 0, found.start()),
            )
    section = _SECTION.search(text)
    if section is not None and document.name.endswith(_CONFIG_NAME):
        add("config.validation", True, text.count("\n", 0, section.start() + 1))
    for fact in list(facts):
        if fact.key == "config.zero_stage" and fact.value in (1, 2, 3):
            facts.append(Fact("sharding", f"zero{fact.value}", fact.origin))
        elif fact.key == "sharding" and fact.value == "hybrid":
            facts.append(Fact("config.hybrid_shard", True, fact.origin))
    return facts
