"""Larger NCCL jobs in a model: tensor, pipeline, expert and data parallel groups that overlap, one or two faults."""

from __future__ import annotations

import pickle
import random
from collections import Counter

from dump_sets import guilty
from simulate import Simulation

LAYOUTS = [(2, 4, 2), (2, 2, 2), (1, 4, 2), (4, 2, 1), (2, 1, 4), (1, 1, 8), (2, 2, 4), (1, 2, 4)]


def run(seed: int, kind: str, faults: int) -> tuple[set[int], dict[int, str]]:
    """Guilty ranks whose fault took effect, and those that are named."""
    chance = random.Random(seed)
    tp, pp, dp = chance.choice(LAYOUTS)
    job = Simulation(tp, pp, dp, chance, moe=chance.random() < 0.7, micro=chance.choice([2, 4]), steps=2)
    failed = set(chance.sample(range(job.world), faults))
    for rank in failed:
        job.fail(rank, kind)
    job.run()
    took = {rank for rank in failed if job.took_effect(rank)}
    for rank in failed - took:
        job.states[rank].dumps = True
    dumps = {
        f"_dump_{rank}": pickle.dumps(content, 2) for rank, content in job.dumps(active=chance.random() < 0.5).items()
    }
    return took, guilty(dumps)


def test_one_fault() -> None:
    right: Counter[str] = Counter()
    for kind in ("cpu", "kill", "gpu"):
        for seed in range(40):
            truth, named = run(seed, kind, 1)
            assert set(named) <= truth, (kind, seed)
            right[kind] += set(named) == truth
    assert min(right.values()) >= 39


def test_two_faults() -> None:
    total = hit = 0
    for kind in ("cpu", "kill", "gpu"):
        for seed in range(40):
            truth, named = run(seed, kind, 2)
            assert set(named) <= truth, (kind, seed)
            assert not truth or named or kind == "gpu", (kind, seed)
            total, hit = total + len(truth), hit + len(truth & set(named))
    assert hit >= 0.9 * total
