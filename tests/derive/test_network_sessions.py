"""Network causes on whole little sessions: what comes first, and what must not."""

from __future__ import annotations

import pytest

from assistant.diagnosis.rank import rank
from assistant.intake.document import Document
from assistant.triage import build
from knowledge.load import knowledge

SESSIONS = [
    ("net.bandwidth-low", "Two PCs joined by gigabit ethernet are slower than one.", {"nodes": "2"}, ""),
    (
        "net.link-degraded",
        "Slow since yesterday.",
        {"nodes": "4", "network": "infiniband-hdr-200"},
        "CA 'mlx5_0'\n\tPort 1:\n\t\tState: Active\n\t\tRate: 200\nCA 'mlx5_1'\n\tPort 1:\n\t\tState: Active\n\t\tRate: 50\n",
    ),
    (
        "net.mtu-mismatch",
        "The first all-reduce hangs.",
        {"nodes": "2"},
        "PING 10.0.0.2 (10.0.0.2) 56(84) bytes of data.\n3 packets transmitted, 3 received, 0% packet loss, time 2ms\n"
        "PING 10.0.0.2 (10.0.0.2) 8972(9000) bytes of data.\n3 packets transmitted, 0 received, 100% packet loss\n",
    ),
    (
        "net.firewall-blocked",
        "Init hangs.",
        {"nodes": "2"},
        "n1:1:2 [0] misc/socket.cc:483 NCCL WARN socketStartConnect: Connect to 10.0.1.7<41891> failed : No route to host\n",
    ),
    (
        "net.hostname-resolution",
        "Gloo fails at the start on two nodes.",
        {"nodes": "2"},
        "RuntimeError: Gloo connectFullMesh failed with [gloo/transport/tcp/pair.cc:144] no error, remote=[127.0.1.1]:43127\n",
    ),
    (
        "net.routing",
        "NCCL names the fast card, yet traffic leaves by eno1.",
        {"nodes": "2"},
        "10.20.0.0/20 dev eno1 proto kernel scope link src 10.20.3.12 metric 100\n"
        "10.20.0.0/20 dev ens1 proto kernel scope link src 10.20.5.12 metric 100\n",
    ),
    ("net.proxy-intercept", "http_proxy is set and the Ray workers cannot join the head node.", {"nodes": "2"}, ""),
    ("net.placement", "Jobs spread over several racks are 30 % slower than jobs in one rack.", {"nodes": "8"}, ""),
    ("net.congestion", "Our job is twice as slow whenever another team's job runs on the fabric.", {"nodes": "8"}, ""),
    ("net.latency-high", "Ping between the two sites is 24 ms and each step takes seconds.", {"nodes": "2"}, ""),
    ("net.packet-loss", "netstat shows many retransmitted segments, throughput swings.", {"nodes": "2"}, ""),
    ("net.roce-misconfig", "RoCE collapses under load; PFC is not configured on the switches.", {"nodes": "8"}, ""),
]


@pytest.mark.parametrize(("cause", "say", "facts", "log"), SESSIONS, ids=[s[0] for s in SESSIONS])
def test_first_cause(cause: str, say: str, facts: dict[str, str], log: str) -> None:
    kb = knowledge()
    documents = [Document("out.txt", log)] if log else []
    ranked = rank(build(kb, says=[say], stated=facts.items(), documents=documents), kb)
    assert ranked[0].id == cause


@pytest.mark.parametrize(
    "say",
    [
        "GPU 3 runs at 900 MHz while the others run at 1400 and all ranks wait for it.",
        "The data loader has no workers and one GPU is at 30 %.",
        "CUDA out of memory on rank 3 after 200 steps.",
    ],
)
def test_no_network_cause_without_a_network(say: str) -> None:
    kb = knowledge()
    ranked = rank(build(kb, says=[say], stated=[("nodes", "1")]), kb)
    assert not ranked[0].id.startswith("net.")
