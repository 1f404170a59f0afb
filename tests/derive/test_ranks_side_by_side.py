"""Ranks and hosts side by side: what only few have, and what few are without."""

from __future__ import annotations

from assistant.derive import n10_nccl, n15_ranks, n16_odd_ones, n18_pairs, n54_collective_ranks
from assistant.facts import CaseFile, Fact, Input, Origin, Subject, Value
from assistant.intake.document import Document
from assistant.parsers import nccl_init


def on(key: str, value: Value, host: str) -> Fact:
    return Fact(key, value, Origin("log", f"{host}.log", 1, host), Subject("host", host))


def odd(facts: list[Fact]) -> list[tuple[str, str, str]]:
    return [(f.key, str(f.subject), str(f.value)) for f in n16_odd_ones.derive(CaseFile(facts))]


def test_fewer_and_more_are_told_apart() -> None:
    for other, word in ((7, "less"), (9, "more")):
        facts = [on("nccl.hca_count", other if n == 2 else 8, f"n{n}") for n in range(4)]
        text = f"number of HCAs {other}, {word} than usual; 3 others have 8"
        assert odd(facts) == [("odd.nccl.hca_count", "host n2", text)]


def test_a_host_without_what_all_others_have() -> None:
    facts = [on("nccl.net", "IB", f"n{n}") for n in range(4)]
    facts += [on("nccl.dmabuf", True, f"n{n}") for n in (0, 1, 3)]
    assert odd(facts) == [("odd.nccl.dmabuf", "host n2", "DMA-BUF off; 3 others have on")]


def test_a_setting_on_one_host_only_and_on_all_but_one() -> None:
    base = [on("env.NCCL_IB_TIMEOUT", "22", f"n{n}") for n in range(4)]
    assert odd([*base, on("env.NCCL_ALGO", "Tree", "n1")]) == [
        ("odd.env", "host n1", "NCCL_ALGO Tree; 3 others have no setting")
    ]
    missing = [on("env.NCCL_ALGO", "Tree", f"n{n}") for n in (0, 1, 2)]
    assert odd([*base, *missing]) == [("odd.env", "host n3", "NCCL_ALGO no setting; 3 others have Tree")]


def test_halves_are_no_odd_ones() -> None:
    assert odd([on("nccl.hca_count", 4 + 4 * (n % 2), f"n{n}") for n in range(4)]) == []


def test_hosts_on_other_networks_are_the_place() -> None:
    facts = [on("nccl.bootstrap_addr", f"10.20.0.{n}" if n != 2 else "192.168.1.4", f"n{n}") for n in range(4)]
    found = [f for f in n10_nccl.derive(CaseFile(facts)) if f.key == "nccl.ifname_differs"]
    assert [str(f.subject) for f in found] == ["host n2"]
    found = [f for f in n10_nccl.derive(CaseFile(facts[1:3])) if f.key == "nccl.ifname_differs"]
    assert [str(f.subject) for f in found] == ["job"]


def test_more_equal_reports_than_are_kept() -> None:
    """A case file keeps only some of many equal facts; the ranks of all count."""
    facts = [
        Fact(
            "watchdog.work",
            "pg=0 seq=7 op=ALLREDUCE size=8:8",
            Origin("log", "j.log", r, None, r),
            Subject("rank", str(r)),
        )
        for r in range(400)
        if r != 311
    ]
    found = {f.key: str(f.value) for f in n54_collective_ranks.derive(CaseFile(facts))}
    assert found["watchdog.silent_ranks"] == "311"
    assert found["odd.watchdog"] == "reported no timeout; 399 others did"


def test_pairs_by_transport() -> None:
    def pairs(value: str, rank: int, count: int) -> Fact:
        return Fact("nccl.pairs", value, Origin("log", "j.log", 1, "n1", rank), Subject("rank", str(rank)), count)

    rdma, tcp = "between hosts: RDMA with GPUDirect", "between hosts: sockets"
    facts = [pairs(rdma, r, 2) for r in range(20)] + [pairs(tcp, 20, 1)]
    facts.append(Fact("nccl.pair", "20 -> 28 sockets", Origin("log", "j.log", 9), Subject("rank", "20")))
    assert [(f.key, str(f.subject), f.value) for f in n18_pairs.derive(CaseFile(facts))] == [
        ("transport.pairs", "job", f"{rdma} 40"),
        ("transport.pairs", "job", f"{tcp} 1"),
        ("transport.odd_pair", "rank 20", "to rank 28 over sockets"),
    ]


def _announced(name: str, ranks: range, end: str = "START", text: str = "") -> tuple[list[Fact], Input]:
    text += "".join(
        f"n{r // 8}:{r}:9 [0] NCCL INFO ncclCommInitRankConfig comm 0x55d rank {r} nranks 16 cudaDev 0 nvmlDev 0 busId 1b000 "
        f"commId 0x9bb2 - Init {end}\n"
        for r in ranks
    )
    return [*nccl_init.parse(Document(name, text))], Input(name, len(text), 1, "log")


def _waiting(logs: list[tuple[list[Fact], Input]]) -> dict[str, list[str]]:
    case = CaseFile([fact for facts, _ in logs for fact in facts], inputs=[one for _, one in logs])
    found: dict[str, list[str]] = {}
    for fact in n15_ranks.derive(case):
        found.setdefault(fact.key, []).append(f"{fact.subject}: {fact.value}")
    return found


def test_ranks_whose_logs_are_not_there_are_unseen_and_not_missing() -> None:
    found = _waiting([_announced(f"rank_{r}.log", range(r, r + 1)) for r in range(14)])
    assert found["nccl.ranks_unseen"] == ["rank 14: 14,15", "rank 15: 14,15"]
    assert not {"odd.init", "nccl.init_missing_ranks"} & set(found)


def test_a_rank_with_a_log_that_does_not_begin_is_missing() -> None:
    logs = [_announced(f"rank_{r}.log", range(r, r + 1)) for r in range(14)]
    found = _waiting([*logs, _announced("rank_14.log", range(0), text="Traceback\n")])
    assert found["nccl.ranks_unseen"] == ["rank 15: 15"]
    assert found["odd.init"] == ["rank 14: never announced itself; 14 others wait"]


def test_a_rank_absent_from_a_stream_of_many_is_missing() -> None:
    found = _waiting([_announced("train.log", range(14))])
    assert found["nccl.init_missing_ranks"] == ["job: 14,15"]
    assert "nccl.ranks_unseen" not in found


def test_hosts_of_other_jobs_are_not_compared() -> None:
    def job(ident: str, hosts: range, net: str) -> list[Fact]:
        facts = [on("nccl.comm", f"{ident} of {8 * len(hosts)}", f"n{n}") for n in hosts]
        facts += [on("nccl.nranks", 8 * len(hosts), f"n{n}") for n in hosts]
        facts += [on("env.NCCL_DEBUG", "INFO", f"n{n}") for n in hosts]
        return facts + [on("nccl.net", net, f"n{n}") for n in hosts]

    alone = [*job("0x9b", range(4), "IB"), *job("0x99", range(7, 8), "Socket")]
    assert odd([*alone, on("env.NCCL_IB_DISABLE", "1", "n7")]) == [
        ("runs.several", "job", "32 ranks on 4 hosts, 8 ranks on 1 hosts")
    ]
    found = odd([*alone, on("nccl.hca_count", 7, "n2"), *(on("nccl.hca_count", 8, f"n{n}") for n in (0, 1, 3))])
    assert found[1:] == [("odd.nccl.hca_count", "host n2", "number of HCAs 7, less than usual; 3 others have 8")]


def test_hosts_of_one_job_after_another_are_compared() -> None:
    facts = [on("nccl.comm", f"{ident} of 32", f"n{n}") for ident in ("0x9b", "0x9c") for n in range(4)]
    facts += [on("nccl.net", "Socket" if n == 2 else "IB", f"n{n}") for n in range(4)]
    assert [key for key, _, _ in odd(facts)] == ["odd.nccl.net"]
