"""What differs between the hosts of one job in NCCL's log: GPUDirect, transport, the GPUs that a process sees."""

from __future__ import annotations

from assistant.derive import n10_nccl
from assistant.facts import CaseFile, Fact
from assistant.intake.document import Document
from assistant.parsers import nccl_channels, nccl_log
from assistant.parsers._net import hosts

STAGED = "n1:21:40 [1] NCCL INFO Channel 00/0 : 3[b3000] -> 8[0f000] [send] via NET/IB/0\n"
DIRECT = "n2:33:51 [2] NCCL INFO Channel 00/0 : 3[b3000] -> 8[0f000] [receive] via NET/IB/1/GDRDMA\n"


def channels(text: str) -> list[Fact]:
    return list(nccl_channels.parse(Document("rank.log", text)))


def about(facts: list[Fact], key: str) -> list[tuple[str, object]]:
    return [(f.subject.name, f.value) for f in facts if f.key == key]


def test_gpudirect_on_one_host_only() -> None:
    assert about(channels(STAGED + DIRECT), "nccl.gdr_missing_here") == [("n1", True)]
    assert about(channels(STAGED + STAGED.replace("n1", "n2")), "nccl.gdr_missing_here") == []
    assert about(channels(DIRECT + DIRECT.replace("n2", "n1")), "nccl.gdr_missing_here") == []


def test_a_host_with_both_kinds_of_channels_has_gpudirect() -> None:
    assert (
        about(channels(STAGED + STAGED.replace("NET/IB/0", "NET/IB/0/GDRDMA") + DIRECT), "nccl.gdr_missing_here") == []
    )


def test_processes_that_see_one_gpu_each() -> None:
    text = (
        "n1:501:561 [0] NCCL INFO Channel 00 : 0[21000] -> 1[22000] via SHM/direct/direct\n"
        "n1:502:568 [0] NCCL INFO Channel 00 : 1[22000] -> 0[21000] via SHM/direct/direct\n"
    )
    assert about(channels(text), "nccl.one_gpu_each") == [("n1", True)]
    assert about(channels(text.replace("568 [0]", "568 [1]")), "nccl.one_gpu_each") == []
    assert about(channels(text.splitlines()[0]), "nccl.one_gpu_each") == []


def derived(text: str) -> dict[str, object]:
    return {f.key: f.value for f in n10_nccl.derive(CaseFile(list(nccl_log.parse(Document("job.log", text)))))}


def test_transports_that_differ() -> None:
    found = derived("n1:1:9 [0] NCCL INFO Using network IBext_v8\nn2:1:9 [0] NCCL INFO Using network IB\n")
    assert found["nccl.net_differs"] == "n1 IBext_v8, n2 IB"
    assert found["nccl.net_differs_kind"] == "plugin"
    found = derived("n1:1:9 [0] NCCL INFO Using network IB\nn2:1:9 [0] NCCL INFO Using network Socket\n")
    assert found["nccl.net_differs_kind"] == "socket"
    assert "nccl.net_differs" not in derived(
        "n1:1:9 [0] NCCL INFO Using network IB\nn2:1:9 [0] NCCL INFO Using network IB\n"
    )


def test_settings_that_take_far_too_much() -> None:
    line = "n1:1:9 [0] NCCL INFO NCCL_BUFFSIZE set by environment to {}.\n"
    assert derived(line.format(1 << 30))["nccl.env_greedy"] == f"NCCL_BUFFSIZE={1 << 30}"
    assert "nccl.env_greedy" not in derived(line.format(8 << 20))


def test_prompts_of_hosts_without_a_number() -> None:
    text = "alpha$ ibv_devinfo -d mlx5_0\nhca_id: mlx5_0\nbravo$ ibv_devinfo -d mlx5_0\nhca_id: mlx5_0\n"
    assert hosts(Document("info.txt", text))[:4] == ["alpha", "alpha", "bravo", "bravo"]
    assert set(hosts(Document("info.txt", "bash$ ls\nsh-4.2# ip a\nroot# ip a\n"))) == {None}
