"""Marks before lines: what launchers, schedulers and loggers print, and text that only looks like it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.intake.names import host_of_name, rank_of_name
from assistant.intake.prefix import Splitter, split_prefix
from assistant.intake.times import DAY, scale

NCCL = "gpu-a07:184233:184310 [3] NCCL INFO Using network IB"


@pytest.mark.parametrize(
    ("line", "message", "host", "rank"),
    [
        (f"12: {NCCL}", NCCL, "gpu-a07", 12),
        (f" 3: {NCCL}", NCCL, "gpu-a07", 3),
        ("[default3]:Traceback (most recent call last):", "Traceback (most recent call last):", None, 3),
        ('[rank3]:   File "a.py", line 1', '  File "a.py", line 1', None, 3),
        ("[rank0]:  return x", "  return x", None, 0),
        ("[default0]:[rank12]: out of memory", "out of memory", None, 12),
        ("[trainer0|2]:RuntimeError: x", "RuntimeError: x", None, 2),
        (f"[1,3]<stdout>:{NCCL}", NCCL, "gpu-a07", 3),
        ("[1,3]<stderr>: text", "text", None, 3),
        ("[1]<stderr>:Iter #0", "Iter #0", None, 1),
        ("[1,mpirank:8,algo-2]<stdout>:text", "text", "algo-2", 8),
        ("[prterun-head-77@1,5][gpu-b2:991]<stdout>: text", "text", "gpu-b2", 5),
        ("Sat Mar  4 04:25:12 2023[1,0]<stdout>:text", "text", None, 0),
        (f"node7: {NCCL}", NCCL, "gpu-a07", None),
        ("node7: [2023-08-30 10:02:41,118] [INFO] x", "[2023-08-30 10:02:41,118] [INFO] x", "node7", None),
        ("10.0.0.4: [2023-08-30 10:02:41,118] [INFO] x", "[2023-08-30 10:02:41,118] [INFO] x", "10.0.0.4", None),
        ("(RayTrainWorker pid=123, ip=10.0.0.2) out of memory", "out of memory", "10.0.0.2", None),
        ("(RayWorkerWrapper rank=2 pid=12, ip=10.0.0.3) x", "x", "10.0.0.3", 2),
        ("(raylet, ip=10.0.0.9) worker died", "worker died", "10.0.0.9", None),
        ("(pid=9) text", "text", None, None),
        ("[pod/train-worker-1/pytorch] text", "text", "train-worker-1", None),
        ("[pod/train-worker-1/pytorch] 2024-01-01T00:00:01.5Z [rank9]: x", "x", "train-worker-1", 9),
        ("2024-01-01T00:00:01.5Z stderr F [default3]:[rank11]: x", "x", None, 11),
        ("2024-01-01T00:00:01.5+00:00 gpu3 slurmd[12]: error: x", "error: x", "gpu3", None),
        ("Mar  4 04:25:12 gpu1 python[123]: Traceback", "Traceback", "gpu1", None),
        ("Mar  4 04:25:12 gpu1 kernel: [12.5] NVRM: Xid", "kernel: [12.5] NVRM: Xid", "gpu1", None),
        ("[rank: 6] Seed set to 0", "Seed set to 0", None, 6),
        ("[E ProcessGroupNCCL.cpp:587] [Rank 3] x", "[E ProcessGroupNCCL.cpp:587] [Rank 3] x", None, 3),
        (
            "[2025-11-04 09:12:33] h1:1:2 [0] misc/socket.cc:5 NCCL WARN x",
            "[2025-11-04 09:12:33] h1:1:2 [0] misc/socket.cc:5 NCCL WARN x",
            "h1",
            None,
        ),
        (
            "[1724752871.402213] [gpu-a07:41817:0] ucp.c:1 UCX ERROR x",
            "[1724752871.402213] [gpu-a07:41817:0] ucp.c:1 UCX ERROR x",
            "gpu-a07",
            None,
        ),
    ],
)
def test_marks(line: str, message: str, host: str | None, rank: int | None) -> None:
    found = split_prefix(line)
    assert (found.message, found.host, found.rank) == (message, host, rank)


@pytest.mark.parametrize(
    "line",
    [
        "ValueError: x", "train: 3", "3: foo", "2: eth0: <BROADCAST,MULTICAST> mtu 9000", "[0] NCCL INFO Using network Socket",
        "[  3]  0.0-10.0 sec   113 MBytes", "loss: 2.1", "GPU0: busy", "worker | x", "epoch3: [2023-08-30 10:02:41] x", "[3] text",
        "[node1]:29500", "(see below) text", "10: ", "[1,3] is a list", "", " ", "[", "(", "2024", "kernel: x", "mlx5_0: [2023-08-30 10:02:41] x",
    ],
)  # fmt: skip
def test_ordinary_text_is_left_alone(line: str) -> None:
    found = split_prefix(line)
    assert (found.message, found.host, found.rank) == (line, None, None)


@pytest.mark.parametrize(
    ("line", "month", "day", "seconds"),
    [
        ("[2025-11-04 09:12:33] h1:1:2 [0] misc/socket.cc:5 NCCL WARN x", 11, 4, 33153),
        ("[rank1]:[W423 11:58:45.5 TCPStore.cpp:125] x", 4, 23, 43125.5),
        ("[rank4]:[E1129 11:56:57.25 ProcessGroupNCCL.cpp:616] x", 11, 29, 43017.25),
        ("E0813 05:53:02.104000 1209 torch/x.py:826] failed", 8, 13, 21182.104),
        ("0: I0707 10:02:11.400121 3120011 distributed.py:172] x", 7, 7, 36131.400121),
        ("[Sat Mar  4 04:25:12 2023] INFO: task python blocked", 3, 4, 15912),
        ("Mar  4 04:25:12 gpu1 kernel: x", 3, 4, 15912),
        ("2024-01-01T00:00:01.5Z stderr F x", 1, 1, 1.5),
        ("[2024-01-11 10:22:31,402] torch.distributed: [ERROR] x", 1, 11, 37351.402),
        ("07/10/2023 12:00:00 - INFO - x", 7, 10, 43200),
        ("INFO 08-14 09:30:41 [core.py:96] x", 8, 14, 34241),
        ("[INFO|2025-01-22 19:41:07] x", 1, 22, 70867),
        ("23/03/04 04:25:12 INFO x", 3, 4, 15912),
        ("  time      : 2023-05-10_10:33:06", 5, 10, 37986),
        ("slurmstepd: error: *** JOB 30871 ON gpu-a07 CANCELLED AT 2022-10-04T11:20:44 ***", 10, 4, 40844),
        ("2024-07-29 17:14:59.25: E external/xla/x.cc:38] x", 7, 29, 62099.25),
    ],
)
def test_times_are_on_one_scale(line: str, month: int, day: int, seconds: float) -> None:
    midnight = scale(month, day, 0, 0, 0)
    assert midnight is not None
    assert split_prefix(line).time == pytest.approx(midnight + seconds)


def test_uptime_and_bare_clock_only_without_dates() -> None:
    assert split_prefix("[12345.678901] NVRM: Xid").time == pytest.approx(12345.678901)
    mixed = Splitter.of("[12345.678901] NVRM: Xid\n[2025-11-04 09:12:33] h1:1:2 [0] NCCL INFO x\n")
    assert mixed.split("[12345.678901] NVRM: Xid").time is None
    assert split_prefix("no time here").time is None
    assert DAY == 86400


def test_impossible_dates_have_no_time() -> None:
    assert split_prefix("2024-13-45 99:99:99 x").time is None


def test_srun_labels_are_taken_where_they_repeat() -> None:
    labelled = Splitter.of("0: start\n1: start\n0: step 1\n1: step 1\n1: ValueError: x\n")
    assert labelled.split("1: step 1")[:3] == ("step 1", None, 1)
    assert labelled.split("0:   return x").message == "  return x"
    numbered = Splitter.of("1: first thing\n2: second thing\n3: third thing\n")
    assert numbered.split("2: second thing")[:3] == ("2: second thing", None, None)
    addresses = "1: lo: <LOOPBACK,UP> mtu 65536\n    inet 127.0.0.1/8\n2: eth0: <UP> mtu 1500\n"
    assert Splitter.of(addresses * 2).split("2: eth0: <UP> mtu 1500").rank is None


def test_srun_label_is_the_node_where_processes_share_it() -> None:
    text = "\n".join(
        f"{node}: n{node}:{10 + gpu}:{10 + gpu} [{gpu}] NCCL INFO x" for node in range(2) for gpu in range(4)
    )
    assert Splitter.of(text).split("1: ValueError: x").rank is None
    assert Splitter.of(text).split("1: ValueError: x").message == "ValueError: x"


def test_local_rank_is_the_rank_only_on_one_node() -> None:
    one = Splitter.of("[default0]:a\n[default1]:b\n[default1]:c\n")
    assert one.split("[default1]:b").rank == 1
    two = Splitter.of("torchrun --nnodes=2 --nproc_per_node=8 t.py\n[default0]:a\n[default1]:b\n")
    assert (two.split("[default1]:b").rank, two.split("[default1]:b").local_rank) == (None, 1)
    last_only = Splitter.of("[default7]: iteration 1\n[default7]: iteration 2\n")
    assert last_only.split("[default7]: iteration 1").rank is None


def test_pdsh_hosts_are_learned_from_the_text() -> None:
    text = "worker-1: [2023-08-30 10:02:41,118] [INFO] [launch.py:145:main] x\nworker-2: ValueError: x\nworker-1: y\nworker-2: [2023-08-30 10:02:41,118] z\n"
    splitter = Splitter.of(text)
    assert splitter.split("worker-2: ValueError: x")[:2] == ("ValueError: x", "worker-2")
    table = Splitter.of("layer1: Conv2d\nlayer2: Linear\nlayer3: Linear\nloss: 2\n")
    assert table.split("layer1: Conv2d").host is None


def test_docker_compose_and_stern() -> None:
    compose = Splitter.of(
        "worker_1  | Traceback (most recent call last):\nworker_2  | step 1\nworker_1  | ValueError: x\nworker_2  | INFO x\n"
    )
    assert compose.split("worker_1  | ValueError: x")[:2] == ("ValueError: x", "worker_1")
    line = "train-worker-0 pytorch Traceback (most recent call last):"
    stern = Splitter.of("\n".join([line, "train-worker-1 pytorch step 1", line, "train-worker-0 pytorch step 2"] * 3))
    assert stern.split("train-worker-1 pytorch step 1")[:2] == ("step 1", "train-worker-1")


@pytest.mark.parametrize(
    ("name", "rank", "host"),
    [
        ("rank0.log", 0, None), ("logs/rank_12.err", 12, None), ("worker-1.log", None, "worker-1"), ("node06.txt", None, "node06"),
        ("slurm-123-4.out", 4, None), ("slurm-214.out", None, None), ("gpu-07.nccl.log", None, "gpu-07"), ("node0", None, "node0"),
        ("nccl.gpu-07.4211.log", None, "gpu-07"), ("standalone-1.log", None, None), ("run2.log", None, None), ("a.tar.gz/rank3.log.gz", 3, None),
        ("/tmp/torchelastic_x/none_y/attempt_0/3/stderr.log", 3, None), ("captures/gpu-3/dmesg", None, "gpu-3"),
        ("node07/train.log", None, "node07"), ("10.0.0.7.log", None, "10.0.0.7"), ("frank3.log", None, None), ("fr/_dump_12", 12, None), ("nccl_trace_rank_7", 7, None),
    ],
)  # fmt: skip
def test_file_names(name: str, rank: int | None, host: str | None) -> None:
    assert (rank_of_name(name), host_of_name(name)) == (rank, host)


_MARKS = st.sampled_from(
    [
        "12: ",
        "[default3]:",
        "[rank3]:",
        "[1,3]<stdout>:",
        "node7: ",
        "(W pid=1, ip=10.0.0.2) ",
        "[pod/x/y] ",
        "2024-01-01T00:00:00Z stderr F ",
        "Mar  4 04:25:12 h k[1]: ",
        "x | ",
    ]
)


@given(st.lists(st.one_of(_MARKS, st.text(max_size=30)), max_size=6))
def test_any_text_is_split_to_a_suffix(parts: list[str]) -> None:
    line = "".join(parts).replace("\n", " ")
    for splitter in (Splitter(), Splitter.of(f"{line}\n{line}\n")):
        found = splitter.split(line)
        assert line.endswith(found.message)
        assert found.rank is None or 0 <= found.rank < 10**9
        assert splitter.split(line) == found


@given(
    st.lists(_MARKS.filter(lambda m: not m.startswith(("12:", "node7", "x |"))), max_size=4),
    st.sampled_from(["", "12: ", "node7: "]),
)
def test_nested_marks_come_off(marks: list[str], last: str) -> None:
    assert split_prefix("".join(marks) + last + NCCL).message == NCCL


def test_speed() -> None:
    lines = [
        f"12: gpu-a07:184233:{184310 + i % 8} [3] NCCL INFO Channel {i}/32 : 3[3] -> 4[4] via P2P/IPC"
        for i in range(20_000)
    ]
    best = 1.0
    for _ in range(3):
        splitter = Splitter()
        start = time.perf_counter()
        for line in lines:
            splitter.split(line)
        best = min(best, (time.perf_counter() - start) / len(lines))
    assert best < 10e-6  # 1 us where nothing else runs
