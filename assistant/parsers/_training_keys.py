"""The settings of training frameworks that are read: how each is written, the fact it gives, how its value is read."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from assistant.facts import Value

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


def _unused_strategy(text: str) -> Value | None:
    return True if text.lower().startswith("ddp") and "find_unused_parameters_true" in text.lower() else None


def _backend(text: str) -> Value | None:
    return text.lower() if text.lower() in ("nccl", "gloo", "mpi", "ucc") else None


def _precision(text: str) -> Value | None:
    name = text.lower()
    for kind in ("bf16", "fp16", "fp8", "fp32"):
        if name.startswith(kind):
            return kind
    return {"no": "fp32", "32": "fp32", "16-mixed": "fp16"}.get(name)


class _Key(NamedTuple):
    fact: str
    hints: tuple[str, ...]
    """Words of which one stands, in small letters, in every line that has the setting."""
    names: str
    read: Callable[[str], Value | None]


_KEYS = (
    _Key("config.zero_stage", ("zero_", "zero-"), r"zero_stage|zero[_-]optimization[_.]stage", _integer),
    _Key(
        "batch_per_gpu",
        ("batch_size", "batch-size", "batchsize"),
        r"(?:(?:per_device_)?train_)?micro_?batch_size(?:_per_gpu)?|micro-batch-size|per_device_train_batch_size|batch_size_per_gpu|local_batch_size|per_gpu_(?:train_)?batch_size",
        _integer,
    ),
    _Key(
        "accumulation",
        ("accum", "update_freq"),
        r"gradient[_-]accumulation[_-]steps|accumulate_grad_batches|grad(?:ient)?_accum(?:ulation)?(?:_steps)?|accum_freq|update_freq",
        _integer,
    ),
    _Key("sharding", ("sharding_strategy",), r"(?:fsdp_)?sharding_strategy", _strategy),
    _Key(
        "config.tp",
        ("tensor_", "tensor-", "tp_", "tp-"),
        r"tensor[_-](?:model[_-])?parallel[_-](?:size|degree)|tp[_-](?:size|degree)",
        _positive,
    ),
    _Key(
        "config.pp",
        ("pipeline_", "pipeline-", "pp_", "pp-"),
        r"pipeline[_-](?:model[_-])?parallel[_-](?:size|degree)|pp[_-](?:size|degree)",
        _positive,
    ),
    _Key(
        "config.ep",
        ("expert_", "expert-", "ep_", "ep-"),
        r"expert[_-](?:model[_-])?parallel[_-](?:size|degree)|ep[_-](?:size|degree)",
        _positive,
    ),
    _Key("config.experts", ("experts",), r"num[_-](?:local_|moe_)?experts|n_routed_experts", _positive),
    _Key(
        "config.global_batch",
        ("batch_size", "batch-size"),
        r"global[_-]batch[_-]size|(?<!micro_)train_batch_size",
        _integer,
    ),
    _Key(
        "dataloader_workers",
        ("num_workers",),
        r"(?:dataloader_)?num_workers|dataloader_num_workers|preprocessing_num_workers_per_rank",
        _integer,
    ),
    _Key(
        "config.timeout_s",
        ("timeout",),
        r"ddp_timeout|dist_timeout(?:_seconds)?|timeout_s(?:econds)?|init_timeout_seconds|train_timeout_seconds|nccl_timeout|distributed[_-]timeout[_-]seconds",
        _number,
    ),
    _Key("config.timeout_s", ("timeout",), r"distributed[_-]timeout[_-]minutes", _minutes),
    _Key(
        "config.save_steps",
        ("save_", "save-", "checkpoint_interval", "every_n"),
        r"save_steps|save[_-]interval|checkpoint_interval|every_n_train_steps|save_freq",
        _integer,
    ),
    _Key(
        "config.eval_steps",
        ("eval_", "eval-", "val_"),
        r"eval_steps|eval[_-]interval|val_check_interval|val_freq",
        _integer,
    ),
    _Key(
        "config.logging_steps",
        ("logging_steps", "log_", "log-"),
        r"logging_steps|log[_-]interval|log_every_n_steps|log_freq",
        _integer,
    ),
    _Key("config.find_unused", ("unused",), r"(?:ddp_)?find_unused_parameters", _flag),
    _Key("config.overlap", ("overlap", "hiding"), r"overlap_comm|overlap[_-]grad[_-]reduce", _flag),
    _Key("config.overlap", ("overlap", "hiding"), r"xla_gpu_enable_latency_hiding_scheduler", _flag),
    _Key(
        "config.bucket_mb",
        ("bucket",),
        r"reduce_bucket_size|bucket_cap_mb|ddp[_-]bucket[_-]size|allreduce_bucket_size",
        _bucket,
    ),
    _Key("precision", ("precision",), r"mixed_precision|precision", _precision),
    _Key(
        "config.lora",
        ("lora", "peft", "adapter", "finetuning"),
        r"lora_(?:rank|r|alpha|target)|use_lora|use_peft|lora_target_modules",
        _yes,
    ),
    _Key("config.lora", ("lora", "peft", "adapter", "finetuning"), r"finetuning_type|adapter|peft_method", _adapter),
    _Key("config.packing", ("pack",), r"packing|sample_packing|pack_sequences|neat_packing", _yes),
    _Key("config.packing", ("pack",), r"pack_function", _yes),
    _Key(
        "config.validation",
        ("eval_", "evaluation_", "do_eval"),
        r"eval_strategy|evaluation_strategy|eval_on_start|do_eval",
        _yes,
    ),
    _Key("config.hybrid_shard", ("hpz", "mics"), r"(?:zero_)?hpz_partition_size|mics_shard_size", _several),
    _Key(
        "config.cp",
        ("context_", "context-", "cp_", "cp-"),
        r"context[_-]parallel[_-](?:size|degree)|cp[_-](?:size|degree)",
        _positive,
    ),
    _Key("config.dp_replicate", ("replicate",), r"data[_-]parallel[_-]replicate[_-]degree|dp[_-]replicate", _integer),
    _Key(
        "config.dp_shard",
        ("shard_degree", "shard-degree", "dp_shard", "dp-shard"),
        r"data[_-]parallel[_-]shard[_-]degree|dp[_-]shard",
        _integer,
    ),
    _Key("config.gather_bucket_mb", ("bucket",), r"allgather_bucket_size", _bucket),
    _Key("config.find_unused", ("find_unused",), r"(?<![\w.])strategy", _unused_strategy),
    _Key("config.pin_memory", ("pin_memory",), r"(?:dataloader_)?pin_memory", _flag),
    _Key("config.sync_bn", ("sync_b",), r"sync_batchnorm|sync_bn|use_sync_bn", _flag),
    _Key(
        "config.checkpointing", ("checkpointing",), r"(?:use_)?gradient_checkpointing|activation_checkpointing", _flag
    ),
    _Key(
        "launch.backend_arg", ("backend",), r"(?:distributed|dist|ddp|process[_-]group)[_-]backend|--backend", _backend
    ),
    _Key("config.devices", ("devices",), r"(?<![\w.])devices", _positive),
    _Key("config.num_nodes", ("num_nodes",), r"(?<![\w.-])num_nodes", _positive),
)


class Key(NamedTuple):
    """One setting, ready to be searched for."""

    fact: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    read: Callable[[str], Value | None]


@cache
def _compiled(names: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w])(?:{names})[\"']?\s*(?::|=|\s)\s*[\"']?(?P<v>[\w.+-]+)", re.IGNORECASE)


def keys_of(folded: str) -> list[Key]:
    """The settings that may stand in a text, given in small letters."""
    return [Key(k.fact, k.hints, _compiled(k.names), k.read) for k in _KEYS if any(h in folded for h in k.hints)]
