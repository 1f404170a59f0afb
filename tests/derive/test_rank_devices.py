"""Which GPU and which cores the ranks take, read from logs and tool output."""

from __future__ import annotations

import pytest

from assistant.derive.n45_rank_devices import derive
from assistant.facts import CaseFile, Fact, Origin
from assistant.intake.document import Document
from assistant.parsers import parse


def case_of(text: str) -> CaseFile:
    case = CaseFile()
    case.add(parse(Document("out.txt", text))[0])
    return case


@pytest.mark.parametrize(
    "text",
    [
        "Rank 0 using device cuda:0\nRank 1 using device cuda:0\n",
        "Process rank: 0, device: cuda:0, n_gpu: 1, distributed training: True\nProcess rank: 1, device: cuda:0, n_gpu: 1, distributed training: True\n",
        "Num processes: 2\nProcess index: 0\nLocal process index: 0\nDevice: cuda:0\n\nNum processes: 2\nProcess index: 1\nLocal process index: 1\nDevice: cuda:0\n",
        "| distributed init (rank 0): env://, gpu 0\n| distributed init (rank 1): env://, gpu 0\n",
    ],
)
def test_two_ranks_on_one_device(text: str) -> None:
    assert [f.value for f in derive(case_of(text))] == ["ranks 0, 1 on device 0"]


@pytest.mark.parametrize(
    "text",
    [
        "Rank 0 using device cuda:0\nRank 1 using device cuda:1\n",
        "n1:9:9 [0] NCCL INFO comm 0x55 rank 0 nranks 2 cudaDev 0 busId 1000 - Init COMPLETE\nn1:8:8 [0] NCCL INFO comm 0x56 rank 1 nranks 2 cudaDev 0 busId 2000 - Init COMPLETE\n",
    ],
)
def test_a_device_each(text: str) -> None:
    assert list(derive(case_of(text))) == []


def test_global_ranks_of_several_hosts_are_not_compared() -> None:
    case = case_of("Rank 0 using device cuda:0\nRank 8 using device cuda:0\n")
    case.add([Fact("nodes", 2, Origin("stated"))])
    assert list(derive(case)) == []


def test_all_ranks_bound_to_the_first_socket() -> None:
    case = case_of(
        "[n1:23211] MCW rank 0 bound to socket 0[core 0[hwt 0]]: [B/././.][./././.]\n"
        "[n1:23211] MCW rank 1 bound to socket 0[core 1[hwt 0]]: [./B/./.][./././.]\n"
    )
    assert case.value("cpu.one_socket_only") is True
    assert case.value("cpu.shared_core") is None


def test_processes_on_one_core() -> None:
    case = case_of(
        "pid 4411's current affinity list: 0\npid 4412's current affinity list: 0\npid 4413's current affinity list: 1\n"
    )
    assert case.value("cpu.shared_core") == 2
    apart = case_of("pid 4411's current affinity list: 0-31\npid 4412's current affinity list: 32-63\n")
    assert apart.value("cpu.shared_core") is None


def test_members_of_the_store_based_barrier() -> None:
    case = case_of(
        "INFO:Waiting in store based barrier to initialize process group for rank: 0, key: store_based_barrier_key:1 (world_size=16, worker_count=8, timeout=0:30:00)\n"
    )
    assert (case.value("rdzv.joined"), case.value("rdzv.expected")) == (8, 16)


def test_script_without_cpus() -> None:
    head = "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --gres=gpu:8\n#SBATCH --ntasks-per-node=1\n"
    for extra, expected in (("", True), ("#SBATCH --cpus-per-task=64\n", None), ("#SBATCH --exclusive\n", None)):
        case = CaseFile()
        case.add(parse(Document("job.sbatch", head + extra + "srun torchrun --nproc_per_node=8 train.py\n"))[0])
        assert case.value("launch.no_cpus_asked") is expected
