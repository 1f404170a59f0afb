"""Training programs in Python -> habits that cost time or let ranks run apart.

Sample:

    for step, (x, y) in enumerate(loader):
        loss = model(x).loss / 8
        loss.backward()
        if step % 8 == 0:
            optimizer.step()
        losses.append(loss.item())
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from assistant.facts import Fact, Origin, Value
from assistant.intake.document import Document
from assistant.parsers._exchange_habits import exchange_habits
from assistant.parsers._python_code import CodeLine, looks_like_code, read_code
from assistant.parsers._wrapped_model import runs_on_one_rank

NAME = "Python training code"
TRIGGERS = (
    "import torch",
    "from torch",
    "import jax",
    "from jax",
    "jax.distributed",
    "import tensorflow",
    "from tensorflow",
    "import accelerate",
    "from accelerate",
    "import deepspeed",
    "import lightning",
    "from lightning",
    "mpi4py",
    "hvd.",
    "DataLoader(",
    "tf.data",
    "TorchTrainer",
    "LightningModule",
    ".backward(",
    "dist.all_",
    "dist.barrier(",
    "dist.broadcast",
    "dist.get_rank",
    "dist.reduce",
    "distributed.all_",
    "distributed.barrier(",
    "init_process_group(",
    "init_device_mesh(",
    "Accelerator(",
    "Fabric(",
    "DDP(",
    "FSDP(",
    "DataParallel(",
    "fully_shard(",
    "deepspeed.initialize",
    "MirroredStrategy",
    "NcclCommunicator",
    "sync_dist",
    "HYBRID_SHARD",
    "load_dataset(",
    "WebDataset(",
)
VERSIONS = "Python programs for PyTorch, Lightning, accelerate, Horovod, TensorFlow, JAX, mpi4py, Ray Train"

_COLLECTIVE = r"(?:dist|torch\.distributed|distributed|hvd|accelerator|comm|fabric|self\.fabric|jax\.experimental\.multihost_utils|multihost_utils)\.(?:all_?reduce|all_?gather\w*|reduce_?scatter\w*|reduce|gather\w*|broadcast\w*|barrier|scatter|wait_for_everyone|sync_global_devices|process_allgather)\("
_DISTRIBUTED = r"init_process_group|\bDDP\(|\bFSDP\(|DistributedDataParallel|hvd\.init|FullyShardedDataParallel|fully_shard|Accelerator\(|deepspeed\.initialize|jax\.distributed|MirroredStrategy|Fabric\(|dist\.get_rank"


@cache
def _whole() -> dict[str, re.Pattern[str]]:
    """Patterns that are searched in the whole program."""
    return {
        name: re.compile(pattern)
        for name, pattern in {
            "distributed": _DISTRIBUTED,
            "dp": r"(?<!Distributed)(?<!\w)(?:nn\.)?DataParallel\(|\.data_parallel\(",
            "ddp": r"DistributedDataParallel\(|\bDDP\(|FSDP\(|FullyShardedDataParallel\(|fully_shard\(",
            "device": r"set_device|device_id|cuda:\{|cuda:\W?\s*[+%]|LOCAL_RANK|local_rank\(\)|visible_device_list|set_visible_devices|CUDA_VISIBLE_DEVICES|\.(?:to|cuda)\((?:\w+\.)*(?:local_)?rank\b|torch\.device\((?:[^)]*)rank|accelerator\.(?:device|prepare)|deepspeed\.initialize|fabric\.",
            "fixed": r"set_device\(\s*\d|(?:to|device)\(\s*[\"']cuda:0[\"']|\.cuda\(0\)|device\s*=\s*[\"']cuda:0[\"']",
            "loader": r"DataLoader\(|tf\.data\.|list_files\(|TFRecordDataset|load_dataset\(|wds\.|WebDataset\(|ray\.data\.read_\w+\(",
            "split": r"DistributedSampler|get_dataset_shard\(|streaming_split\(|load_\w+\([^)\n]*\brank\s*,\s*world|sampler\s*=|\.shard\(|split_dataset_by_node|split_by_node|nodesplitter|num_replicas|accelerator\.prepare|prepare_data_loader|setup_dataloaders|process_index|%\s*(?:\w+\.)*(?:hvd\.size\(\)|world_size|size\b|num_(?:tasks|ranks|processes))|experimental_distribute|deepspeed\.initialize|DistributedBatchSampler|data_sharding|:?:\s*(?:hvd\.size|world_size)|(?:idx|range|files|shards|indices)\S*\[\s*(?:\w+\.)*(?:local_)?rank",
            "modulo": r"%\s*(?:\w+\.)*(?:hvd\.size\(\)|get_world_size\(\)|world_size|size\b|n_?ranks|num_(?:tasks|ranks|processes|replicas))\s*==\s*(?:\w+\.)*(?:hvd\.rank\(\)|get_rank\(\)|\w*rank\w*)|\[\s*(?:\w+\.)*(?:hvd\.rank\(\)|get_rank\(\)|\w*rank\w*)\s*::\s*",
            "equal": r"\.repeat\(|drop_last\s*=\s*True|drop_remainder\s*=\s*True|steps_per_epoch|max_steps|itertools\.cycle|resampled\s*=\s*True|with_epoch\(|even_batches|\.join\(\)|\bJoin\(|join_uneven|DistributedSampler",
            "join": r"\bwith .*\.join\(|\bJoin\(|has_data|data_exhausted|is_exhausted|join_uneven_inputs|hvd\.join\(",
            "find_unused": r"find_unused_parameters[\"']?\s*[=:]\s*True",
            "no_sync": r"no_sync\(|set_requires_gradient_sync|require_backward_grad_sync|backward_passes_per_step|accumulate\(|deepspeed|gradient_as_bucket_view_sync",
            "accumulates": r"%\s*(?:\w+\.)*\w*accum\w*|\baccum\w*\s*==|loss\s*/\s*(?:\w+\.)*\w*accum\w*",
        }.items()
    }


_TIMEOUT = re.compile(r"timeout\s*=\s*(?:datetime\.)?timedelta\(\s*(?:(\w+)\s*=\s*)?([\d_]+(?:\.\d+)?(?:\s*\*\s*\d+)*)")
_TIME_UNIT = {"days": 86400.0, "hours": 3600.0, "minutes": 60.0, "seconds": 1.0, "milliseconds": 1e-3, None: 86400.0}
_WORKERS = re.compile(r"num_workers\s*=\s*(\d+)")
_PHASES = (
    (
        "eval",
        re.compile(
            r"\b(?:evaluate|validate|validation|run_eval|do_eval|test|eval_model|generate_samples|compute_metrics)\w*\("
        ),
    ),
    ("checkpoint", re.compile(r"(?:torch\.save|save_checkpoint|save_pretrained|save_model|save_state|\.save)\(")),
    ("preprocess", re.compile(r"(?:preprocess|tokeniz|\.map\(|prepare_data|build_index|build_cache|load_dataset)")),
    ("download", re.compile(r"(?:download|snapshot_download|urlretrieve|hf_hub)\w*\(")),
)
_HOST_READ = re.compile(
    r"\w\.item\(\)|\bfloat\(\s*\w*loss|loss\w*\.(?:cpu|numpy|tolist)\(|\.detach\(\)\.cpu\(\)\.numpy\("
)
_SYNC = re.compile(
    r"torch\.cuda\.(?:synchronize|empty_cache)\(|(?:dist|distributed)\.barrier\(|wait_for_everyone\(|gc\.collect\("
)
_SKIP = re.compile(r"^\s*(?:continue|break|return)\b")
_SKIP_TEST = re.compile(
    r"if\b.{0,300}?(?:isnan|isinf|isfinite|nan|len\(\w+\) ?(?:==|<)|\bNone\b|not \w*(?:batch|data|loss|mask|box|target)\w*|\.numel\(\)|\.sum\(\) ?==|skip|empty|except)",
    re.IGNORECASE,
)
_CLOCK = re.compile(
    r"if\b.{0,300}?(?:time\.(?:time|monotonic|perf_counter)\(\)|\belapsed\b|\blast_\w*time\b|random\.random\(\)|np\.random\.rand|time_limit|datetime\.now)"
)
_ACT = re.compile(r"save|checkpoint|evaluat|validat|break|stop|exit|return")
_PARAM_LOOP = re.compile(r"^\s*for\b.*\b(?:parameters|named_parameters|state_dict|buffers|grads|tensors|params)\b.*:")
_GETITEM = re.compile(r"def (?:__getitem__|collate\w*|\w*collate_fn)\(")
_HEAVY = re.compile(
    r"tokenizer\(|\.encode\(|Image\.open|cv2\.imread|torchaudio\.load|librosa\.load|pd\.read|np\.load\(|json\.load|h5py\.File|open\(|requests\.|boto3|\.get_object\("
)


def parse(document: Document) -> Iterable[Fact]:
    if not looks_like_code(document.name, document.lines):
        return []
    program = read_code(document.lines)
    text = "\n".join(line.text for line in program)
    whole = {name: pattern.search(text) is not None for name, pattern in _whole().items()}
    if not (
        whole["distributed"]
        or whole["dp"]
        or whole["loader"]
        or re.search(r"\b(?:dist|hvd)\.\w+\(|NcclCommunicator|mpi4py|sync_dist|HYBRID_SHARD", text)
    ):
        return []
    facts = list(_facts_of_whole(document, program, text, whole))
    facts += _facts_of_lines(document, program, whole)
    facts += exchange_habits(document, program)
    seen: set[tuple[str, Value]] = set()
    return [f for f in facts if not ((f.key, f.value) in seen or seen.add((f.key, f.value)))]  # type: ignore[func-returns-value]


def _at(document: Document, program: list[CodeLine], pattern: re.Pattern[str]) -> Origin:
    for line in program:
        if pattern.search(line.text):
            return document.origin(line.index, "config")
    return document.origin(program[0].index if program else 0, "config")


def _facts_of_whole(document: Document, program: list[CodeLine], text: str, whole: dict[str, bool]) -> Iterator[Fact]:
    patterns = _whole()
    if whole["dp"] and not whole["ddp"]:
        yield Fact("code.uses_dataparallel", True, _at(document, program, patterns["dp"]))
    if (
        whole["distributed"]
        and re.search(r"cuda|nccl|gpu", text)
        and not whole["device"]
        and re.search(r"init_process_group|hvd\.init", text)
    ):
        yield Fact("code.no_set_device", True, _at(document, program, re.compile(r"init_process_group|hvd\.init")))
    if whole["distributed"] and whole["fixed"]:
        yield Fact("code.fixed_device", True, _at(document, program, patterns["fixed"]))
    by_rank = re.compile(
        r"(?:set_device|Device|\.cuda|\.to|torch\.device|visible_device_list\s*=\s*str|get_device)\(\s*f?[\"']?(?:cuda:)?\{?\s*(?:\w+\.)*(?:get_)?rank(?:\(\))?\s*(?:%\s*\w+(?:\.\w+)*(?:\(\))?)?\s*\}?[\"']?\s*\)"
    )
    if by_rank.search(text):
        yield Fact("code.device_from_global_rank", True, _at(document, program, by_rank))
    if (
        whole["loader"]
        and re.search(
            r"init_process_group|hvd\.init|DistributedDataParallel|dist\.get_rank|train\.torch\.prepare_model|TorchTrainer\(",
            text,
        )
        and not whole["split"]
    ):
        yield Fact("code.no_sampler", True, _at(document, program, patterns["loader"]))
    if whole["modulo"] and not whole["equal"]:
        yield Fact("code.split_by_modulo", True, _at(document, program, patterns["modulo"]))
    if whole["equal"]:
        yield Fact("code.has_repeat", True, _at(document, program, patterns["equal"]))
    if whole["join"]:
        yield Fact("code.uses_join", True, _at(document, program, patterns["join"]))
    if whole["find_unused"]:
        yield Fact("config.find_unused", True, _at(document, program, patterns["find_unused"]))
    if whole["accumulates"] and whole["ddp"] and not whole["no_sync"]:
        yield Fact("code.accumulates_without_no_sync", True, _at(document, program, patterns["accumulates"]))
    timeout = _TIMEOUT.search(text)
    if timeout is not None and timeout[1] in _TIME_UNIT:
        value = 1.0
        for factor in timeout[2].replace("_", "").split("*"):
            value *= float(factor)
        yield Fact("config.timeout_s", value * _TIME_UNIT[timeout[1]], _at(document, program, _TIMEOUT))
    workers = [int(n) for n in _WORKERS.findall(text)]
    if workers:
        yield Fact("dataloader_workers", max(workers), _at(document, program, _WORKERS))
    elif re.search(r"(?<!\w)DataLoader\((?!\))", text) and "num_workers" not in text and "kwargs" not in text:
        yield Fact("dataloader_workers", 0, _at(document, program, re.compile(r"DataLoader\(")))
    alone = runs_on_one_rank(program)
    if alone is not None:
        yield Fact("code.rank0_forward", True, document.origin(alone.index, "config"))
    taken = re.search(r"\.take\(([^)]{0,200}?(?:size\(\)|world_size)[^)]{0,200})", text)
    if taken is not None and ".batch(" in text[: taken.start()] and "batch" not in taken[1]:
        yield Fact("code.take_counts_batches", True, _at(document, program, re.compile(r"\.take\(")))


def _facts_of_lines(document: Document, program: list[CodeLine], whole: dict[str, bool]) -> Iterator[Fact]:
    collective = re.compile(_COLLECTIVE)
    getitem_indent: int | None = None
    for position, line in enumerate(program):
        origin = document.origin(line.index, "config")
        after = program[position + 1 : position + 7]
        inner = [a for a in after if a.indent > line.indent]
        if collective.search(line.text):
            if line.in_rank_test:
                yield Fact("code.rank_conditional_collective", True, origin)
            elif line.in_loop and not line.in_condition and not re.search(r"barrier|grad", line.text):
                yield Fact("code.metric_reduce_per_step", True, origin)
        if line.in_rank_test and whole["distributed"]:
            for phase, pattern in _PHASES:
                if pattern.search(line.text):
                    yield Fact("code.rank0_phase", phase, origin)
        if line.in_loop and not line.in_condition and not line.in_rank_test:
            if _HOST_READ.search(line.text):
                yield Fact("code.item_per_step", True, origin)
            if _SYNC.search(line.text):
                yield Fact("code.sync_per_step", True, origin)
        if line.in_loop and _SKIP_TEST.search(line.text) and inner and _SKIP.match(inner[0].text):
            yield Fact("code.skips_step", True, origin)
        if line.in_loop and _CLOCK.search(line.text) and any(_ACT.search(a.text) for a in [line, *inner]):
            yield Fact("code.local_clock_decision", True, origin)
        if _PARAM_LOOP.match(line.text) and any(
            collective.search(a.text) or re.search(r"\b(?:all_reduce|broadcast|allreduce)\w*\(", a.text) for a in inner
        ):
            yield Fact("code.param_loop_collective", True, origin)
        if _GETITEM.search(line.text):
            getitem_indent = line.indent
        elif getitem_indent is not None and line.indent <= getitem_indent:
            getitem_indent = None
        elif getitem_indent is not None and _HEAVY.search(line.text):
            yield Fact("code.tokenize_in_loader", True, origin)
        if (
            re.search(r"torch\.save\(|save_pretrained\(", line.text)
            and not line.in_rank_test
            and whole["distributed"]
            and "rank" not in line.text
            and line.in_loop
        ):
            yield Fact("code.save_every_rank", True, origin)
