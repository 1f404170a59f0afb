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
from collections.abc import Callable, Iterable
from functools import cache

from assistant.facts import Fact, Value
from assistant.intake.document import Document

NAME = "training configuration"
TRIGGERS = (
    "zero_optimization",
    "zero_stage",
    "batch_size",
    "batch-size",
    "fsdp",
    "sharding",
    "parallel",
    "gradient_accumulation",
    "num_workers",
    "interval",
    "_steps",
    "num_experts",
    "lora",
    "packing",
    "timeout",
    "bucket",
    "ddp_",
    "latency_hiding",
    "mixed_precision",
    "hpz",
    "offload",
)

_SHARDING = {
    "full_shard": "fsdp",
    "1": "fsdp",
    "shard_grad_op": "zero2",
    "2": "zero2",
    "no_shard": "none",
    "3": "none",
    "hybrid_shard": "hybrid",
    "4": "hybrid",
    "_hybrid_shard_zero2": "hybrid",
    "5": "hybrid",
    "hybrid_shard_zero2": "hybrid",
}


def _integer(text: str) -> Value | None:
    try:
        value = float(text.replace("_", ""))
    except ValueError:
        return None
    return int(value) if value.is_integer() and 0 <= value < 1e15 else None


def _number(text: str) -> Value | None:
    try:
        value = float(text.replace("_", ""))
    except ValueError:
        return None
    return value if abs(value) < 1e15 else None


def _flag(text: str) -> Value | None:
    return {"true": True, "false": False, "yes": True, "no": False, "1": True, "0": False}.get(text.lower())


def _positive(text: str) -> Value | None:
    value = _integer(text)
    return value if isinstance(value, int) and value > 1 else None


def _bucket(text: str) -> Value | None:
    value = _number(text)
    return round(value / 1e6, 1) if isinstance(value, float) and value >= 1e5 else value


def _strategy(text: str) -> Value | None:
    return _SHARDING.get(text.lower().rsplit(".", 1)[-1])


def _offload(text: str) -> Value | None:
    return (
        None if text.lower() in ("none", "null", "false", "no") else "both" if text.lower() == "true" else text.lower()
    )


def _yes(text: str) -> Value | None:
    return True if text.lower() not in ("false", "none", "null", "0", "no", "-1", "off") else None


def _minutes(text: str) -> Value | None:
    value = _number(text)
    return 60 * value if isinstance(value, float) else None


def _several(text: str) -> Value | None:
    return True if _positive(text) is not None else None


def _adapter(text: str) -> Value | None:
    return True if text.lower() in ("lora", "qlora", "dora", "adalora", "ia3") else None


def _precision(text: str) -> Value | None:
    name = text.lower()
    for kind in ("bf16", "fp16", "fp8", "fp32"):
        if name.startswith(kind):
            return kind
    return {"no": "fp32", "32": "fp32", "16-mixed": "fp16"}.get(name)


@cache
def _keys() -> tuple[tuple[re.Pattern[str], str, Callable[[str], Value | None]], ...]:
    """Name of the setting, the fact it gives, how its value is read."""
    value = r"[\"']?\s*(?::|=|\s)\s*[\"']?(?P<v>[\w.+-]+)"
    return tuple(
        (re.compile(rf"(?<![\w])(?:{name}){value}", re.IGNORECASE), key, read)
        for name, key, read in (
            (r"zero_stage|zero[_-]optimization[_.]stage", "config.zero_stage", _integer),
            (
                r"(?:(?:per_device_)?train_)?micro_?batch_size(?:_per_gpu)?|micro-batch-size|per_device_train_batch_size|batch_size_per_gpu|local_batch_size|per_gpu_(?:train_)?batch_size",
                "batch_per_gpu",
                _integer,
            ),
            (
                r"gradient[_-]accumulation[_-]steps|accumulate_grad_batches|grad(?:ient)?_accum(?:ulation)?(?:_steps)?|accum_freq|update_freq",
                "accumulation",
                _integer,
            ),
            (r"(?:fsdp_)?sharding_strategy", "sharding", _strategy),
            (r"tensor[_-](?:model[_-])?parallel[_-](?:size|degree)|tp[_-](?:size|degree)", "config.tp", _positive),
            (r"pipeline[_-](?:model[_-])?parallel[_-](?:size|degree)|pp[_-](?:size|degree)", "config.pp", _positive),
            (r"expert[_-](?:model[_-])?parallel[_-](?:size|degree)|ep[_-](?:size|degree)", "config.ep", _positive),
            (r"num[_-](?:local_|moe_)?experts|n_routed_experts", "config.experts", _positive),
            (r"global[_-]batch[_-]size|(?<!micro_)train_batch_size", "config.global_batch", _integer),
            (
                r"(?:dataloader_)?num_workers|dataloader_num_workers|preprocessing_num_workers_per_rank",
                "dataloader_workers",
                _integer,
            ),
            (
                r"ddp_timeout|dist_timeout(?:_seconds)?|timeout_s(?:econds)?|init_timeout_seconds|train_timeout_seconds|nccl_timeout|distributed[_-]timeout[_-]seconds",
                "config.timeout_s",
                _number,
            ),
            (r"distributed[_-]timeout[_-]minutes", "config.timeout_s", _minutes),
            (
                r"save_steps|save[_-]interval|checkpoint_interval|every_n_train_steps|save_freq",
                "config.save_steps",
                _integer,
            ),
            (r"eval_steps|eval[_-]interval|val_check_interval|val_freq", "config.eval_steps", _integer),
            (r"logging_steps|log[_-]interval|log_every_n_steps|log_freq", "config.logging_steps", _integer),
            (r"(?:ddp_)?find_unused_parameters", "config.find_unused", _flag),
            (r"overlap_comm|overlap[_-]grad[_-]reduce", "config.overlap", _flag),
            (r"xla_gpu_enable_latency_hiding_scheduler", "config.overlap", _flag),
            (
                r"reduce_bucket_size|bucket_cap_mb|ddp[_-]bucket[_-]size|allreduce_bucket_size",
                "config.bucket_mb",
                _bucket,
            ),
            (r"mixed_precision|precision", "precision", _precision),
            (r"lora_(?:rank|r|alpha|target)|use_lora|use_peft|lora_target_modules", "config.lora", _yes),
            (r"finetuning_type|adapter|peft_method", "config.lora", _adapter),
            (r"packing|sample_packing|pack_sequences|neat_packing", "config.packing", _yes),
            (r"pack_function", "config.packing", _yes),
            (r"eval_strategy|evaluation_strategy|eval_on_start|do_eval", "config.validation", _yes),
            (r"(?:zero_)?hpz_partition_size|mics_shard_size", "config.hybrid_shard", _several),
        )
    )


_ZERO_BLOCK = re.compile(r"zero_optimization[\"']?\s*:\s*\{?.{0,1500}?[\"']?\bstage[\"']?\s*:\s*(\d)", re.DOTALL)
_OFFLOAD_BLOCK = re.compile(
    r"offload_(optimizer|param)(?:s|eter|eters)?[\"']?\s*:\s*\{[^}]*[\"']?device[\"']?\s*:\s*[\"']?(\w+)|offload_(optimizer|param)\w*_device[\"']?\s*:\s*[\"']?(\w+)"
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

    hints = (
        "batch",
        "stage",
        "shard",
        "parallel",
        "accum",
        "worker",
        "timeout",
        "steps",
        "interval",
        "unused",
        "overlap",
        "hiding",
        "bucket",
        "precision",
        "lora",
        "pack",
        "eval",
        "expert",
        "freq",
        "hpz",
        "mics",
        "adapter",
        "finetuning",
        "every_n",
        "size",
        "degree",
        "peft",
    )
    for index, line in enumerate(document.lines[:_LINES]):
        if len(line) > 3000 or ("=" not in line and ":" not in line and "--" not in line):
            continue
        folded = line.lower()
        if "watchdog" in folded or not any(h in folded for h in hints) or line.lstrip().startswith(("#", "//")):
            continue
        for pattern, key, read in _keys():
            found = pattern.search(line)
            if found is not None:
                add(key, read(found["v"]), index)
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
