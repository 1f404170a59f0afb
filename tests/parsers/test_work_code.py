"""Training code and configurations."""

from __future__ import annotations

import pytest

from assistant.intake.document import Document
from assistant.parsers import training_code, training_config


def code(text: str) -> dict[str, object]:
    return {f.key: f.value for f in training_code.parse(Document("train.py", text))}


def config(text: str, name: str = "config.yaml") -> dict[str, object]:
    return {f.key: f.value for f in training_config.parse(Document(name, text))}


DDP = "import torch\nimport torch.distributed as dist\nfrom torch.utils.data import DataLoader\ndist.init_process_group('nccl')\n"


def test_data_parallel_is_not_its_distributed_sister() -> None:
    assert code("import torch\nmodel = torch.nn.DataParallel(model)\n")["code.uses_dataparallel"] is True
    assert "code.uses_dataparallel" not in code(
        DDP + "model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[local_rank])\n"
    )


def test_missing_sampler_and_device() -> None:
    got = code(DDP + "model = DDP(model.cuda())\nloader = DataLoader(ds, batch_size=8, shuffle=True)\n")
    assert got["code.no_sampler"] is True
    assert got["code.no_set_device"] is True
    assert got["dataloader_workers"] == 0
    good = code(
        DDP
        + "torch.cuda.set_device(local_rank)\nloader = DataLoader(ds, num_workers=8, sampler=DistributedSampler(ds))\n"
    )
    assert not {"code.no_sampler", "code.no_set_device"} & set(good)
    assert good["dataloader_workers"] == 8


def test_collective_under_a_condition_on_the_rank() -> None:
    assert (
        code(DDP + "for b in loader:\n    if rank == 0:\n        dist.barrier()\n")["code.rank_conditional_collective"]
        is True
    )
    assert "code.rank_conditional_collective" not in code(
        DDP + "for b in loader:\n    if rank == 0:\n        print(1)\n    dist.barrier()\n"
    )


def test_work_of_rank_zero() -> None:
    assert code(DDP + "if dist.get_rank() == 0:\n    evaluate(model)\ndist.barrier()\n")["code.rank0_phase"] == "eval"


def test_decisions_that_each_rank_takes_by_itself() -> None:
    loop = DDP + "for step, batch in enumerate(loader):\n    loss = model(batch)\n"
    assert (
        code(loop + "    if time.time() - last > 600:\n        save_checkpoint(model)\n")["code.local_clock_decision"]
        is True
    )
    assert code(loop + "    if torch.isnan(loss):\n        continue\n")["code.skips_step"] is True


def test_synchronisation_in_every_step() -> None:
    loop = DDP + "for step, batch in enumerate(loader):\n    loss = model(batch)\n    loss.backward()\n"
    assert code(loop + "    total += loss.item()\n")["code.item_per_step"] is True
    assert "code.item_per_step" not in code(loop + "    if step % 50 == 0:\n        print(loss.item())\n")
    assert code(loop + "    dist.all_reduce(acc)\n")["code.metric_reduce_per_step"] is True


def test_reduction_parameter_by_parameter() -> None:
    assert (
        code(DDP + "for p in model.parameters():\n    dist.all_reduce(p.grad)\n")["code.param_loop_collective"] is True
    )


def test_accumulation_without_no_sync() -> None:
    body = (
        DDP
        + "model = DDP(model)\nfor i, b in enumerate(loader):\n    (model(b) / accum_steps).backward()\n    if (i + 1) % accum_steps == 0:\n        opt.step()\n"
    )
    assert code(body)["code.accumulates_without_no_sync"] is True
    assert "code.accumulates_without_no_sync" not in code(body + "with model.no_sync():\n    pass\n")


def test_horovod_data() -> None:
    head = "import horovod.tensorflow as hvd\nimport tensorflow as tf\nhvd.init()\n"
    assert (
        code(head + "files = [f for i, f in enumerate(fs) if i % hvd.size() == hvd.rank()]\n")["code.split_by_modulo"]
        is True
    )
    got = code(
        head + "ds = tf.data.TFRecordDataset(files).batch(256)\nfor x in ds.take(n_images // hvd.size()):\n    pass\n"
    )
    assert got["code.take_counts_batches"] is True


@pytest.mark.parametrize(
    ("argument", "seconds"),
    [("minutes=100", 6000.0), ("seconds=60", 60.0), ("hours=3", 10800.0), ("seconds=60*60", 3600.0)],
)
def test_timeout_of_the_process_group(argument: str, seconds: float) -> None:
    assert (
        code(DDP + f"dist.init_process_group('nccl', timeout=datetime.timedelta({argument}))\n")["config.timeout_s"]
        == seconds
    )


def test_logs_are_no_code() -> None:
    log = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n    torch.distributed.all_reduce(x)\nRuntimeError: NCCL\n'
    assert list(training_code.parse(Document("run.log", log))) == []


def test_deepspeed_json() -> None:
    got = config(
        '{\n "train_micro_batch_size_per_gpu": 2,\n "gradient_accumulation_steps": 4,\n "zero_optimization": {\n  "stage": 3,\n'
        '  "overlap_comm": true,\n  "reduce_bucket_size": 5e8,\n  "offload_optimizer": {"device": "cpu"}\n },\n "bf16": {"enabled": true}\n}\n',
        "ds.json",
    )
    assert got["config.zero_stage"] == 3
    assert got["sharding"] == "zero3"
    assert got["batch_per_gpu"] == 2
    assert got["accumulation"] == 4
    assert got["config.overlap"] is True
    assert got["config.bucket_mb"] == 500.0
    assert got["config.offload"] == "optimizer"


def test_fsdp_yaml_and_megatron_command() -> None:
    assert config("fsdp_config:\n  fsdp_sharding_strategy: HYBRID_SHARD\nmixed_precision: bf16\n") == {
        "sharding": "hybrid",
        "config.hybrid_shard": True,
        "precision": "bf16",
    }
    got = config(
        "torchrun pretrain_gpt.py --tensor-model-parallel-size 16 --pipeline-model-parallel-size 4 --micro-batch-size 1 --global-batch-size 16\n",
        "run.sh",
    )
    assert (got["config.tp"], got["config.pp"], got["batch_per_gpu"], got["config.global_batch"]) == (16, 4, 1, 16)


def test_toml_with_a_validation_section() -> None:
    got = config(
        'dist_timeout_seconds = 60\n\n[val]\ninterval = 100\n\n[val.data]\nmicro_batch_size = 1\npack_function = "cat"\n',
        "sft.toml",
    )
    assert got["config.timeout_s"] == 60.0
    assert got["config.validation"] is True
    assert got["config.packing"] is True


@pytest.mark.parametrize("module", [training_code, training_config])
@pytest.mark.parametrize(
    "text",
    ["", "{", "import torch\nif", '"zero_optimization": {', "batch_size:", "for x in", "\tdef", "save_steps = 1e999"],
)
def test_damaged_text_is_no_error(module: object, text: str) -> None:
    for name in ("x.py", "x.json", "x.log"):
        list(module.parse(Document(name, text)))  # type: ignore[attr-defined]
