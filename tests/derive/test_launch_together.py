"""Launch facts put side by side: ids, ports, pods, settings of some hosts, errors of one host."""

from __future__ import annotations

from assistant.facts import Value
from assistant.intake.document import Document
from assistant.triage import build
from knowledge.load import knowledge


def fact(key: str, *texts: str, says: str = "", **stated: str) -> Value | None:
    documents = [Document(f"file{i}.txt", text) for i, text in enumerate(texts)]
    return build(knowledge(), says=[says] if says else [], stated=list(stated.items()), documents=documents).value(key)


def test_id_drawn_on_each_node() -> None:
    command = (
        "torchrun --nnodes=2 --nproc_per_node=4 --rdzv_id=$RANDOM --rdzv_backend=c10d --rdzv_endpoint=n1:29400 t.py\n"
    )
    assert fact("launch.random_id", command) == "$RANDOM"
    assert fact("launch.random_id", "#SBATCH --nodes=2\nsrun " + command) is None


def test_run_ids_of_two_agents_differ() -> None:
    agent = (
        "  min_nodes        : 2\n  run_id           : {}\n  rdzv_backend     : c10d\n  rdzv_endpoint    : n1:29400\n"
    )
    assert fact("launch.endpoint_differs", agent.format(101), agent.format(202)) == "run id"
    assert fact("launch.endpoint_differs", agent.format(101), agent.format(101)) is None


def test_port_of_the_launch_is_held() -> None:
    listing = 'LISTEN 0 2048 *:29511 *:* users:(("python",pid=883,fd=11))\n'
    assert fact("launch.port_held", listing, "torchrun --nproc_per_node 8 --master_port 29511 t.py\n") == "29511 python"
    assert fact("launch.port_held", listing, "torchrun --nproc_per_node 8 --master_port 29512 t.py\n") is None


def test_more_processes_than_gpus() -> None:
    assert (
        fact("launch.too_many_processes", "torchrun --standalone --nproc_per_node=8 t.py\n", gpus_per_node="4") == "8/4"
    )
    assert (
        fact("launch.too_many_processes", "torchrun --standalone --nproc_per_node=4 t.py\n", gpus_per_node="4") is None
    )


def test_pod_of_the_first_rank_is_missing() -> None:
    pods = "NAME          READY   STATUS    RESTARTS   AGE\nft-master-0   0/1     {}   0          9m\nft-worker-0   1/1     Running   0          9m\n"
    assert fact("launch.master_pod_missing", pods.format("Pending")) == "ft-master-0"
    assert fact("launch.master_pod_missing", pods.format("Running")) is None


def test_variable_on_some_hosts_only() -> None:
    first = "n1:5:5 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to ens3\nn1:5:5 [0] NCCL INFO Bootstrap : Using ens3:10.0.0.5<0>\n"
    second = "n2:7:7 [0] NCCL INFO Bootstrap : Using ens4:10.0.1.6<0>\n"
    assert fact("launch.env_on_some_hosts", first + second) == "NCCL_SOCKET_IFNAME"


def test_error_of_one_host() -> None:
    trace = 'node2: [rank2]: Traceback (most recent call last):\nnode2: [rank2]:   File "t.py", line 7, in main\nnode2: [rank2]: {}\nnode1: [rank0]: INFO waiting for the others\n'
    assert fact("python.one_host", trace.format("ImportError: cannot import name 'a' from 'b'")) == "node2"
    assert fact("python.one_host", trace.format("KeyError: 'a'")) is None


def test_told_bandwidth_against_the_link() -> None:
    share = fact("said.busbw_share", says="NCCL reports 23.9 GB/s busbw here.", nodes="2", network="infiniband-hdr-200")
    assert isinstance(share, float) and 0.9 < share < 1.0


def test_an_exception_without_words_is_a_crash() -> None:
    trace = "Traceback (most recent call last):\n  File \"t.py\", line 7, in main\nKeyError: 'a'\n"
    assert fact("symptom", trace, says="Two cards, my first try.") == "crash"
