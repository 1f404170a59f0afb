"""NCCL's bootstrap network against the one by which the launcher reaches the hosts."""

from __future__ import annotations

from assistant.derive.n23_bootstrap_network import derive
from assistant.facts import JOB, CaseFile, Fact, Origin, Subject


def _case(bootstrap: str, *others: Fact) -> CaseFile:
    case = CaseFile()
    log = Origin("log", file="train.log", line=3, host="n1")
    case.add(
        [
            Fact("nccl.bootstrap_addr", bootstrap, log, Subject("host", "n1")),
            Fact("nccl.bootstrap_ifname", "sdp0", log, Subject("host", "n1")),
            *others,
        ]
    )
    return case


MASTER = Fact("launch.master_addr", "10.1.0.4", Origin("config"), JOB)


def test_another_network_than_the_master() -> None:
    (fact,) = derive(_case("172.31.0.2", MASTER))
    assert fact.key == "nccl.bootstrap_elsewhere"
    assert str(fact.value) == "sdp0 (172.31.0.2), while the hosts are reached as 10.1.0.4"
    assert (fact.origin.file, fact.origin.line) == ("train.log", 3)


def test_the_same_network() -> None:
    assert list(derive(_case("10.1.3.9", MASTER))) == []


def test_one_wide_network_of_an_interface() -> None:
    wide = Fact("nic.address", "10.1.0.4/8", Origin("tool"), Subject("nic", "eth0"))
    assert list(derive(_case("10.77.3.9", MASTER, wide))) == []


def test_loopback_names_and_missing_figures_tell_nothing() -> None:
    assert list(derive(_case("172.31.0.2"))) == []
    assert list(derive(_case("172.31.0.2", Fact("launch.master_addr", "node-1", Origin("config"), JOB)))) == []
    assert list(derive(_case("172.31.0.2", Fact("launch.master_addr", "127.0.0.1", Origin("config"), JOB)))) == []
    assert list(derive(CaseFile())) == []
