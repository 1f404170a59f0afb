"""Scaling, volume and stacks side by side."""

from __future__ import annotations

import pytest

from assistant.derive import n50_workload, n53_step_volume
from assistant.derive._stated_rates import stated_rates
from assistant.facts import CaseFile, Fact, Origin


def case(*says: str, **stated: str | int | float | bool) -> CaseFile:
    result = CaseFile(says=list(says))
    result.add(Fact(k.replace("__", "."), v, Origin("stated")) for k, v in stated.items())
    return result


def facts(c: CaseFile) -> dict[str, object]:
    return {f.key: f.value for f in [*n50_workload.derive(c), *n53_step_volume.derive(c)]}


@pytest.mark.parametrize(
    ("sentence", "efficiency", "unit"),
    [
        ("Llama gives 23.9 samples/s on one node and 18.7 samples/s on two nodes.", 0.391, "total"),
        ("samples_per_s: {'1 node': 23.9, '2 nodes': 18.7}", 0.391, "total"),
        ("One machine needs 4 seconds an iteration, two machines need 90!", 0.044, "steps"),
        ("An epoch takes 10 seconds on one server with four GPUs and 60 on two.", 0.083, "epoch"),
        ("with one device I get 3.95 it/s, with four and DDP 3.8 it/s", None, None),
        ("it_per_s: {'1 GPU': 3.95, '4 GPUs DDP': 3.8}", 0.962, "steps"),
        ("step time is 0.3 s on a single node and 1.9 s on four nodes", 0.158, "steps"),
        ("ResNet50: 1 GPU 390 img/s, 2 GPUs 700 img/s, 4 GPUs 1200 img/s", 0.769, "total"),
    ],
)
def test_efficiency_from_words(sentence: str, efficiency: float | None, unit: str | None) -> None:
    got = facts(case(sentence))
    if efficiency is None:
        assert "scaling.efficiency" not in got
    else:
        assert got["scaling.efficiency"] == pytest.approx(efficiency, abs=0.001)
        assert got["scaling.unit"] == unit


def test_numbers_that_are_no_throughput() -> None:
    assert (
        list(stated_rates(["Two nodes with eight A100 and a 10 Gbit network, NCCL 2.18.5, it hangs after 30 minutes."]))
        == []
    )


def test_steps_that_stay_the_same_are_good() -> None:
    got = facts(case("it_per_s: {'1 GPU': 3.95, '4 GPUs': 3.8}"))
    assert got["scaling.steps_unchanged"] is True
    assert "scaling.negative" not in got


def test_logs_outrank_words() -> None:
    c = case("1 GPU gives 100 images/s, 8 GPUs give 800 images/s")
    c.add(
        Fact("throughput.at", v, Origin("log", f))
        for v, f in (("4 gpus=608.38 total", "a"), ("8 gpus=300.18 total", "b"))
    )
    got = facts(c)
    assert got["scaling.efficiency"] == pytest.approx(0.247, abs=0.001)
    assert got["scaling.negative"] is True


def test_volume_of_a_step_against_the_link() -> None:
    got = facts(case("ResNet-50 in fp32", nodes=2, network_gbps=1.0, precision="fp32"))
    assert got["model_params"] == pytest.approx(25.6e6)
    assert got["comm.gradient_gb"] == pytest.approx(0.1024)
    assert got["comm.min_step_s"] == pytest.approx(0.819, abs=0.001)


def test_full_sharding_sends_the_model_three_times_a_micro_batch() -> None:
    plain = facts(case(nodes=2, model_params=8e9, precision="bf16", network_gbps=10.0))
    sharded = facts(
        case(nodes=2, model_params=8e9, precision="bf16", network_gbps=10.0, sharding="zero3", accumulation=2)
    )
    assert plain["comm.step_gb"] == pytest.approx(16.0)
    assert sharded["comm.step_gb"] == pytest.approx(48.0)


def test_the_odd_one_out_among_stacks() -> None:
    c = case()
    c.add(Fact("stack.where", w, Origin("tool")) for w in ("collective", "collective", "dataloader"))
    assert facts(c)["stack.odd_where"] == "dataloader"
    together = case()
    together.add(Fact("stack.where", "collective", Origin("tool")) for _ in range(3))
    together.add(Fact("stack.function", f, Origin("tool")) for f in ("broadcast", "all_reduce"))
    got = facts(together)
    assert got["stack.all_in_collective"] is True
    assert got["stack.collectives_differ"] is True


def test_tensor_parallel_wider_than_a_node() -> None:
    assert facts(case(config__tp=16, gpus_per_node=8, nodes=2))["config.tp_spans_nodes"] is True
    assert "config.tp_spans_nodes" not in facts(case(config__tp=8, gpus_per_node=8, nodes=2))


def test_place_and_numbers_in_words() -> None:
    assert facts(case("It freezes at batch 1249 of 1250."))["progress.said_at_end"] is True
    assert "progress.said_at_end" not in facts(case("It freezes at batch 12 of 1250."))
    assert facts(case("1003 samples on 8 GPUs"))["input.indivisible"] is True
    assert "input.indivisible" not in facts(case("1200000 images on 8 GPUs"))
