"""Facts about the launch that follow from several lines or files together."""

from __future__ import annotations

import importlib

import pytest

from assistant.facts import CaseFile, Fact, Origin, Subject, Value
from assistant.intake.document import Document
from assistant.parsers import launch_command, launch_env, launch_script, rendezvous

n60 = importlib.import_module("assistant.derive.n60_launch")
n05 = importlib.import_module("assistant.derive.n05_said_launch")


def case_of(*texts: str, **stated: Value) -> CaseFile:
    case = CaseFile()
    for number, text in enumerate(texts):
        document = Document(f"file{number}.sh", text)
        for module in (launch_command, launch_env, launch_script, rendezvous):
            case.add(module.parse(document))
    case.add(Fact(k, v, Origin("stated")) for k, v in stated.items())
    return case


def derived(case: CaseFile, key: str) -> list[Value]:
    return [f.value for f in n60.derive(case) if f.key == key]


def test_standalone_for_several_nodes() -> None:
    two = "torchrun --standalone --nnodes=2 --nproc_per_node=8 train.py"
    assert derived(case_of(two), "launch.standalone_multi_node") == [True]
    assert derived(
        case_of("torchrun --standalone --nproc_per_node=8 train.py", nodes=2), "launch.standalone_multi_node"
    ) == [True]
    assert not derived(
        case_of("torchrun --standalone --nnodes=1 --nproc_per_node=8 train.py"), "launch.standalone_multi_node"
    )


@pytest.mark.parametrize(
    ("host", "kind"),
    [
        ("localhost", "loopback"),
        ("127.0.1.1", "loopback"),
        ("10.96.41.7", "service"),
        ("master.ml.svc.cluster.local", "service"),
        ("10.0.0.4", "address"),
        ("gpu-a07", "name"),
        ("$MASTER_ADDR", "variable"),
    ],
)
def test_kinds_of_addresses(host: str, kind: str) -> None:
    assert n60.kind_of_address(host) == kind


def test_loopback_only_matters_for_several_nodes() -> None:
    assert derived(
        case_of("torchrun --nnodes=2 --master_addr=localhost --nproc_per_node=4 t.py"), "launch.loopback_multi_node"
    ) == [True]
    assert not derived(
        case_of("torchrun --nnodes=1 --master_addr=localhost --nproc_per_node=4 t.py"), "launch.loopback_multi_node"
    )


def test_started_ranks_are_summed_over_files() -> None:
    logs = [
        "\n".join(f"Initializing distributed: GLOBAL_RANK: {r}, MEMBER: {r + 1}/4" for r in ranks)
        for ranks in ((0, 1), (2, 3))
    ]
    assert derived(case_of(logs[0]), "launch.missing_ranks") == ["2/4"]
    assert not derived(case_of(*logs), "launch.missing_ranks")


def test_joined_clients() -> None:
    text = "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 8/16 clients joined."
    assert derived(case_of(text), "launch.missing_ranks") == ["8/16"]


def test_commands_that_disagree() -> None:
    one = "torchrun --nnodes=2 --node_rank={} --nproc_per_node=8 --master_addr=10.0.0.4 --master_port={} train.py"
    assert derived(case_of(one.format(0, 29501), one.format(1, 29511)), "launch.endpoint_differs") == ["port"]
    assert not derived(case_of(one.format(0, 29501), one.format(1, 29501)), "launch.endpoint_differs")
    assert derived(case_of(one.format(0, 29501), one.format(0, 29501)), "launch.same_node_rank") == ["0"]


def test_exports_that_mpirun_does_not_pass() -> None:
    script = "export NCCL_SOCKET_IFNAME=ens5\nmpirun -np 16 -H n1:8,n2:8 {} python train.py"
    assert derived(case_of(script.format("")), "launch.env_not_exported") == ["NCCL_SOCKET_IFNAME"]
    assert not derived(case_of(script.format("-x NCCL_SOCKET_IFNAME")), "launch.env_not_exported")


def version(host: str, value: str, key: str = "torch_version") -> Fact:
    return Fact(key, value, Origin("tool", "all.txt"), Subject("host", host))


def test_versions_differ_between_hosts_only() -> None:
    assert derived(CaseFile([version("a", "2.3.1"), version("b", "2.1.0")]), "versions.differ") == ["torch"]
    assert not derived(CaseFile([version("a", "2.3.1+cu121"), version("b", "2.3.1")]), "versions.differ")
    assert not derived(CaseFile([version("a", "2.3.1"), version("a", "2.1.0")]), "versions.differ")
    packages = [version("a", "numpy 1.26.4", "package.version"), version("b", "numpy 2.0.1", "package.version")]
    assert derived(CaseFile(packages), "versions.differ") == ["numpy"]


def test_commands_in_sentences() -> None:
    case = CaseFile(says=["I start torchrun --nnodes=2 --nproc_per_node=8 train.py and set NCCL_P2P_DISABLE=1."])
    got = {f.key: f.value for f in n05.derive(case)}
    assert got["launch.nnodes"] == 2
    assert got["env.NCCL_P2P_DISABLE"] in ("1", "1.")
    assert {f.origin.kind for f in n05.derive(case)} == {"say"}
