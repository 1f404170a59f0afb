"""Work per rank, expert, stage and part; evaluations, saves of files, stacks without process headers."""

from __future__ import annotations

import pytest

from assistant.intake.document import Document
from assistant.parsers import io_statistics, rank_work, stack_dump, throughput, training_code

TOKENS = """step 210 rank 0 tokens   800 fwd+bwd 0.41s
step 210 rank 1 tokens  1600 fwd+bwd 0.52s
step 210 rank 2 tokens 16000 fwd+bwd 3.33s
step 211 rank 0 tokens 12000 fwd+bwd 2.70s
step 211 rank 1 tokens   600 fwd+bwd 0.40s
step 211 rank 2 tokens  1000 fwd+bwd 0.44s
"""
EXPERTS = "step 4000 | layer 11 | tokens per expert: [100, 100, 1700, 100] | l_aux 3.8\n"
STAGES = (
    "RANK=0 STAGE=0 LAYERS=9 [0, 9) STAGE_PARAMS=600 (0.0M)\nRANK=1 STAGE=1 LAYERS=9 [9, 18) STAGE_PARAMS=2400 (0.0M)\n"
)
PARTS = "Part 0, Epoch Time(s): 41.1, forward: 71.2, #seeds: 9000\nPart 1, Epoch Time(s): 41.9, forward: 10.8, #seeds: 3000\n"
TRACE = "  rank  idle_time(us)  compute_time(us)  kernel_time(us)\n     0   1000   3000   9000\n     1   1000   6000   9000\n"


def values(parser: object, text: str, name: str = "a.log") -> dict[str, object]:
    return {f.key: f.value for f in parser.parse(Document(name, text))}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "kind", "spread"),
    [
        (TOKENS, "tokens", 20.0),
        (EXPERTS, "expert", 3.4),
        (STAGES, "stage", 4.0),
        (PARTS, "part", 3.0),
        (TRACE, "trace", 2.0),
    ],
)
def test_spread(text: str, kind: str, spread: float) -> None:
    assert values(rank_work, text) == {"work.spread": spread, "work.spread_of": kind}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "rank",
        "step 1 rank 0 tokens 8190\nstep 1 rank 1 tokens 8100\n",
        "tokens per expert: []",
        "rank compute_time(us)\n0",
        "tokens per expert: [10, 11, 9, 10]",
    ],
)
def test_even_work_and_fragments_yield_nothing(text: str) -> None:
    assert values(rank_work, text) == {}


def test_evaluation_and_save_of_a_file() -> None:
    assert values(throughput, "{'eval_loss': 1.3, 'eval_runtime': 341.1, 'epoch': 1.0}")["eval.seconds"] == 341.1
    log = "[2024-03-11 04:10:21,010] [INFO] [Torch] Saving /ckpt/step5/optim.pt...\n[2024-03-11 04:12:01,010] [INFO] [Torch] Saved /ckpt/step5/optim.pt.\n"
    assert values(throughput, log)["checkpoint.seconds"] == 100.0


def test_nfsiostat() -> None:
    text = (
        "read:              ops/s            kB/s           kB/op         retrans    avg RTT (ms)    avg exe (ms)  avg queue (ms)          errors\n"
        "                 301.200       18912.441          62.790        0 (0.0%)          41.770         618.201         205.002        0 (0.0%)\n"
        "write:             ops/s            kB/s           kB/op         retrans    avg RTT (ms)    avg exe (ms)  avg queue (ms)          errors\n"
        "                   0.000           0.000           0.000        0 (0.0%)           0.000           0.000           0.000        0 (0.0%)\n"
    )
    assert values(io_statistics, text) == {"disk.read_ms": 41.77}


def test_stacks_of_two_processes_without_headers() -> None:
    text = (
        '== rank 0 ==\nThread 8120 (active): "MainThread"\n    _save (torch/serialization.py:896)\n    train (engine.py:120)\n'
        '== rank 1 ==\nThread 8121 (active): "MainThread"\n    barrier (torch/distributed/distributed_c10d.py:4164)\n    train (engine.py:120)\n'
    )
    assert [f.value for f in stack_dump.parse(Document("s.txt", text)) if f.key == "stack.where"] == [
        "checkpoint",
        "collective",
    ]


def test_ray_loop_without_a_shard() -> None:
    code = "import ray\nimport torch\ndef loop(config):\n    model = ray.train.torch.prepare_model(build())\n    ds = ray.data.read_parquet(path)\n    for batch in ds.iter_torch_batches(batch_size=8):\n        model(batch)\ntrainer = TorchTrainer(loop)\n"
    assert values(training_code, code, "loop.py").get("code.no_sampler") is True
    assert "code.no_sampler" not in values(
        training_code, code.replace("ray.data.read_parquet(path)", 'ray.train.get_dataset_shard("train")'), "loop.py"
    )
