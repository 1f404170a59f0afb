"""Real dump sets: guilty ranks are named, by the right rule, and nobody else."""

from __future__ import annotations

from collections import Counter

import pytest
from dump_sets import all_sets, facts, guilty, value

WAITING = {"nothing-pending-while-others-wait", "never-called"}
#: The rules that may name the guilty rank of a fault.
RULES = {
    "sigkill": {"missing-dump"},
    "sigstop": {"missing-dump", *WAITING},
    "exception": WAITING,
    "skip": {"diverged", "behind"},
    "shape": {"mismatched-shape"},
    "dtype": {"mismatched-dtype"},
    "op": {"mismatched-op"},
    "gil": {"missing-dump", *WAITING},
    "loader": {"missing-dump", *WAITING},
    "late": {"arrives-late"},
    "early": WAITING,
    "gpu": {"more-pending-than-peers"},
    "lock": WAITING,
}
#: The last rank of a small job is killed, and no dump tells how many ranks there were.
UNKNOWN = {"sigkill-06"}


def test_there_are_sixty_sets_of_every_kind() -> None:
    kinds = Counter(name.rpartition("-")[0] for name in all_sets())
    assert sum(kinds.values()) >= 62
    assert {
        "sigkill",
        "sigstop",
        "exception",
        "skip",
        "shape",
        "dtype",
        "op",
        "gil",
        "loader",
        "late",
        "early",
        "healthy",
    } <= set(kinds)


@pytest.mark.parametrize("name", sorted(all_sets()))
def test_no_innocent_is_accused_and_the_rule_is_right(name: str) -> None:
    dumps, truth = all_sets()[name]
    named = guilty(dumps)
    assert set(named) <= truth
    if name not in UNKNOWN:
        assert set(named) == truth
    assert set(named.values()) <= RULES.get(name.split("-")[0], set())


def test_at_least_95_percent_of_the_guilty_are_named() -> None:
    total = sum(len(truth) for _, truth in all_sets().values())
    named = sum(len(truth & set(guilty(dumps))) for dumps, truth in all_sets().values())
    assert named >= 0.95 * total


def test_a_stated_number_of_ranks_shows_that_the_last_one_is_missing() -> None:
    dumps, truth = all_sets()["sigkill-06"]
    assert set(guilty(dumps, world_size=4)) == truth


def test_gpu_error_in_a_megatron_job() -> None:
    found = facts(all_sets()["gpu-error"][0])
    assert value(found, "fr.guilty_ranks") == "12,14"
    assert value(found, "fr.rule") == "more-pending-than-peers"
    assert value(found, "fr.world") == 16
    assert value(found, "fr.waiting_ranks") == "0,1,2,3,4,5,6,7,8,9,10,11,13,15"
    assert value(found, "fr.pending", 14) == 43
    assert (
        value(found, "fr.pending_op", 12)
        == "_all_gather_base #42806 of group 41 (TENSOR_MODEL_PARALLEL_GROUP), 4096x1x5120 BFloat16, scheduled"
    )
    assert not [f for f in found if f.key in ("fr.mismatch", "fr.missing_ranks", "fr.wait_cycle")]


def test_held_interpreter_lock_in_a_megatron_job() -> None:
    found = facts(all_sets()["lock-gil"][0])
    assert value(found, "fr.guilty_ranks") == "10,15"
    assert value(found, "fr.rule") == "nothing-pending-while-others-wait"
    assert value(found, "fr.pending", 10) == 0
    assert (
        value(found, "fr.first_divergence")
        == "rank 10 called #20946 of group 73 (EXPERT_MODEL_PARALLEL_GROUP) last, others #20947 (all_to_all)"
    )


def test_mismatch_says_what_each_rank_called() -> None:
    found = facts(all_sets()["shape-00"][0])
    assert value(found, "fr.mismatch_kind") == "shape"
    assert "ranks 0,1,2: all_reduce 1000 Float; rank 3: all_reduce 2005 Float" in str(value(found, "fr.mismatch"))
    assert value(facts(all_sets()["dtype-00"][0]), "fr.mismatch_kind") == "dtype"
    assert "barrier" in str(value(facts(all_sets()["op-00"][0]), "fr.mismatch"))


def test_late_rank_has_the_time_that_others_lost() -> None:
    found = facts(all_sets()["late-01"][0])
    assert 0.3 < float(str(value(found, "fr.late_s", 5))) < 5


def test_call_site_is_a_line_of_the_program() -> None:
    found = facts(all_sets()["exception-00"][0])
    assert str(value(found, "fr.call_site", 0)).startswith("make_dumps.py:")


@pytest.mark.parametrize("name", ["healthy-00", "healthy-01", "healthy-02"])
def test_healthy_job(name: str) -> None:
    found = facts(all_sets()[name][0])
    assert value(found, "fr.nobody_waits") is True
    assert not [f for f in found if f.key in ("fr.mismatch", "fr.guilty_rank", "fr.waiting_ranks")]


def test_two_jobs_in_two_folders_are_kept_apart() -> None:
    both = {f"first/{n}": d for n, d in all_sets()["gpu-error"][0].items()} | {
        f"second/{n}": d for n, d in all_sets()["lock-gil"][0].items()
    }
    assert set(guilty(both)) == {10, 12, 14, 15}


def test_a_lost_dump_of_an_innocent_rank_does_not_blame_it() -> None:
    for name in ("lock-gil", "gpu-error", "exception-02", "loader-01", "early-03"):
        dumps, truth = all_sets()[name]
        for victim in (0, 5):
            if victim not in truth:
                kept = {n: d for n, d in dumps.items() if not n.removesuffix(".json").endswith(f"_{victim}")}
                assert len(kept) == len(dumps) - 1
                assert set(guilty(kept)) == truth, (name, victim)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8, 0.98])
def test_a_torn_dump_of_an_innocent_rank_does_not_blame_it(share: float) -> None:
    for name in ("lock-gil", "gpu-error", "exception-02", "loader-01", "gil-00"):
        dumps, truth = all_sets()[name]
        torn = {n: d[: int(share * len(d))] if n.removesuffix(".json").endswith("_1") else d for n, d in dumps.items()}
        assert set(guilty(torn)) == truth, name
