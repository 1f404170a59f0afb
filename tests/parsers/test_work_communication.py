"""Summaries of communication, placement of ranks, and how code exchanges gradients."""

from __future__ import annotations

from assistant.intake.document import Document
from assistant.parsers import comm_profile, horovod_stall, rank_placement, training_code

NSYS = """\
 Time (%)  Total Time (ns)  Instances  Avg (ns)   Med (ns)   Min (ns)  Max (ns)   Name
 --------  ---------------  ---------  ---------  ---------  --------  ---------  ----------------------------
     61.4    9,812,334,120     184,320   53,235.3   48,127.0    31,007    912,411  ncclDevKernel_AllReduce_Sum_f32_TREE_LL(ncclDevComm *)
     12.9    2,061,012,330      40,960   50,317.7   44,031.0    12,320    310,222  ampere_bf16_s16816gemm_bf16_128x128
"""
DEEPSPEED = """\
Comm. Op            Message Size        Count               Total Latency(ms)   Avg Latency(ms)     tput_avg (Gbps)     busbw_avg (Gbps)
all_reduce
                    4.0 KB              61440               9216.00             0.15                0.22                0.42
                    2.0 MB              96                  41.20               0.43                39.02               37.80
"""
LARGE = DEEPSPEED.replace("4.0 KB", "4.0 MB")


def _values(parser: object, text: str, name: str = "run.log") -> dict[str, object]:
    return {f.key: f.value for f in parser.parse(Document(name, text))}  # type: ignore[attr-defined]


def test_kernel_summary_of_nsight() -> None:
    assert _values(comm_profile, NSYS) == {"trace.comm_share": 0.614, "trace.small_kernels": True}
    long = NSYS.replace("53,235.3", "453,235.3")
    assert _values(comm_profile, long) == {"trace.comm_share": 0.614}


def test_message_sizes_of_deepspeed() -> None:
    assert _values(comm_profile, DEEPSPEED) == {"comm.small_messages": True}
    assert _values(comm_profile, LARGE) == {}


def test_wall_clock_breakdown() -> None:
    line = "[Rank 0] time (ms) | fwd_microstep: 38.12 | bwd_microstep: 341.80 | bwd_inner_microstep: 71.44 | bwd_allreduce_microstep: 270.21 | step_microstep: 48.11"
    assert _values(comm_profile, line) == {"trace.comm_share": 0.711}


def test_overlap_of_hta() -> None:
    text = "rank  idle_time(%)  compute_time(%)  non_compute_time(%)  comp_comm_overlap_pctg\n0 6.1 48.9 45.0 4.2\n1 6.0 49.0 45.0 4.2\n"
    assert _values(comm_profile, text) == {"trace.overlap": 0.042}


def test_ranks_dealt_in_turn() -> None:
    turn = "\n".join(f"[Rank {r}] host node-{'ab'[r % 2]} local_rank {r // 2}" for r in range(8))
    block = "\n".join(f"[Rank {r}] host node-{'ab'[r // 4]} local_rank {r % 4}" for r in range(8))
    assert _values(rank_placement, turn) == {"launch.cyclic": True}
    assert _values(rank_placement, block) == {}


def test_one_rank_a_host_is_no_cycle() -> None:
    assert _values(rank_placement, "\n".join(f"[Rank {r}] host n{r} local_rank 0" for r in range(8))) == {}


def test_horovod_ranks_that_lack_different_tensors() -> None:
    head = "[1,0]<stderr>:[2021-08-19 11:02:33.401222: W horovod/common/stall_inspector.cc:105] One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks\n[1,0]<stderr>:Missing ranks:\n"
    rows = "[1,0]<stderr>:0: [allreduce.val_loss]\n[1,0]<stderr>:1: [allreduce.aux.weight]\n"
    found = _values(horovod_stall, head + rows)
    assert found["horovod.tensors_differ"] is True
    assert found["horovod.missing_ranks"] == "0,1"
    assert "horovod.tensors_differ" not in _values(horovod_stall, head + rows.replace("aux.weight", "val_loss"))


def test_exchange_habits_of_code() -> None:
    reduced = "loss.backward()\ngrads = [p.grad for p in model.parameters()]\nreduced = hvd.grouped_allreduce(grads, op=hvd.Average)\noptimizer.step()\n"
    assert _values(training_code, reduced, "train.py").get("code.reduces_after_backward") is True
    step = "class M(pl.LightningModule):\n    def training_step(self, batch, i):\n        self.log('loss', loss, sync_dist=True)\n        return loss\n"
    assert _values(training_code, step, "m.py").get("code.local_metrics_synced") is True
    validation = step.replace("training_step", "validation_step")
    assert "code.local_metrics_synced" not in _values(training_code, validation, "m.py")
    mesh = 'mesh = init_device_mesh("cuda", (8, 16), mesh_dim_names=("replicate", "shard"))\nmodel = FSDP(model, device_mesh=mesh, sharding_strategy=ShardingStrategy.HYBRID_SHARD)\n'
    assert _values(training_code, mesh, "t.py").get("config.shard_group") == 16
