"""NCCL Inspector's files: format v4.0 of NCCL 2.28 (without comm_name), of 2.30 (with comm_name and point-to-point), metrics of 2.29."""

from __future__ import annotations

import json
import time

import pytest

from assistant.derive import n12_inspector
from assistant.facts import CaseFile, Fact, Value
from assistant.intake.document import Document
from assistant.intake.read import read_text
from assistant.parsers import nccl_inspector

MIB = 1 << 20
#: As the README of NCCL 2.28.3 prints it: over several lines, without the source of the times.
README_2_28 = """\
{
  "header": {
    "id": "0x7f8c496ae9f661",
    "rank": 2,
    "n_ranks": 8,
    "nnodes": 1
  },
  "metadata": {
    "inspector_output_format_version": "v4.0",
    "git_rev": "",
    "rec_mechanism": "profiler_plugin",
    "dump_timestamp_us": 1748030377748202,
    "hostname": "example-hostname",
    "pid": 1639453
  },
  "coll_perf": {
    "coll": "AllReduce",
    "coll_sn": 1407,
    "coll_msg_size_bytes": 17179869184,
    "coll_exec_time_us": 61974,
    "coll_algobw_gbs": 277.210914,
    "coll_busbw_gbs": 485.119099
  }
}
"""
VERBOSE_2_28 = (
    '{"header":{"id":"0xe62dedaa97644a","rank":4,"n_ranks":8,"nnodes":1},"metadata":{"inspector_output_format_version":"v4.0",'
    '"git_rev":"9019a1912-dirty","rec_mechanism":"nccl_profiler_interface","dump_timestamp_us":1752867229276385,'
    '"hostname":"example-hostname","pid":438776},"coll_perf":{"coll":"ReduceScatter","coll_sn":1231,"coll_msg_size_bytes":2147483648,'
    '"coll_exec_time_us":41057,"coll_timing_source":"kernel_gpu","coll_algobw_gbs":418.439467,"coll_busbw_gbs":366.134533,'
    '"event_trace_sn":{"coll_start_sn":1,"coll_stop_sn":2,"kernel_events":[{"channel_id":0,"kernel_start_sn":3,"kernel_stop_sn":48,'
    '"kernel_record_sn":47}]},"event_trace_ts":{"coll_start_ts":1752867229235059,"coll_stop_ts":1752867229235064,"kernel_events":'
    '[{"channel_id":0,"kernel_start_ts":1752867229235181,"kernel_stop_ts":1752867229275811,"kernel_record_ts":1752867229275811}]}}}\n'
)
METRICS_2_29 = """\
nccl_bus_bandwidth_gbs{version="v5.1",slurm_job_id="unknown",node="nvl72004-T01",gpu="GPU0",comm_name="DP Group 0",n_nodes="1",nranks="4",collective="AllReduce",message_size="4-5GB",algo_proto="Ring_ll"} 678.263
nccl_collective_exec_time_microseconds{version="v5.1",slurm_job_id="unknown",node="nvl72004-T01",gpu="GPU0",comm_name="DP Group 0",n_nodes="1",nranks="4",collective="AllReduce",message_size="4-5GB",algo_proto="Ring_ll"} 9498.47
nccl_p2p_bus_bandwidth_gbs{version="v5.1",slurm_job_id="unknown",node="nvl72004-T01",gpu="GPU0",comm_name="DP Group 0",n_nodes="1",nranks="4",p2p_operation="Send",message_size="512-513MB"} 464.9
nccl_p2p_exec_time_microseconds{version="v5.1",slurm_job_id="unknown",node="nvl72004-T01",gpu="GPU0",comm_name="DP Group 0",n_nodes="1",nranks="4",p2p_operation="Send",message_size="512-513MB"} 1154.87
"""


def record(
    rank: int,
    us: int,
    *,
    size: int = 64 * MIB,
    sn: int = 0,
    coll: str = "AllReduce",
    comm: str = "0x7f8c496ae9f661",
    ranks: int = 8,
    nodes: int = 1,
    host: str = "gpu-a07",
    name: str | None = None,
) -> str:
    """One line as NCCL 2.28 to 2.30 write it."""
    algbw = size / us / 1000
    named = "" if name is None else f'"comm_name":"{name}",'
    return (
        f'{{"header":{{"id":"{comm}",{named}"rank":{rank},"n_ranks":{ranks},"nnodes":{nodes}}},"metadata":'
        f'{{"inspector_output_format_version":"v4.0","git_rev":"9019a1912","rec_mechanism":"nccl_profiler_interface",'
        f'"dump_timestamp_us":{1748030377748202 + sn},"hostname":"{host}","pid":{1639453 + rank}}},"coll_perf":'
        f'{{"coll":"{coll}","coll_sn":{sn},"coll_msg_size_bytes":{size},"coll_exec_time_us":{us},"coll_timing_source":"kernel_gpu",'
        f'"coll_algobw_gbs":{algbw:f},"coll_busbw_gbs":{algbw * 2 * (ranks - 1) / ranks:f}}}}}\n'
    )


def send(rank: int, peer: int, us: int, size: int = 8 * MIB) -> str:
    return (
        f'{{"header":{{"id":"0x7f8c496ae9f661","comm_name":"unknown","rank":{rank},"n_ranks":8,"nnodes":2}},"metadata":'
        f'{{"inspector_output_format_version":"v4.0","git_rev":"","rec_mechanism":"nccl_profiler_interface","dump_timestamp_us":1,'
        f'"hostname":"n{rank // 4}","pid":{100 + rank}}},"p2p_perf":{{"p2p":"Send","p2p_sn":3,"p2p_peer":{peer},'
        f'"p2p_msg_size_bytes":{size},"p2p_exec_time_us":{us},"p2p_timing_source":"kernel_gpu","p2p_algobw_gbs":{size / us / 1000:f},'
        f'"p2p_busbw_gbs":{size / us / 1000:f}}}}}\n'
    )


def parse(text: str, name: str = "gpu-a07-pid1639453.log") -> list[Fact]:
    assert any(trigger in text for trigger in nccl_inspector.TRIGGERS)
    return list(nccl_inspector.parse(Document(name, text)))


def job(*texts: str) -> dict[str, list[tuple[Value, str]]]:
    case = CaseFile()
    for text in texts:
        case.add(parse(text))
    found: dict[str, list[tuple[Value, str]]] = {}
    for fact in n12_inspector.derive(case):
        found.setdefault(fact.key, []).append((fact.value, str(fact.subject)))
    return found


def test_record_of_the_readme() -> None:
    found = {f.key: f for f in parse(README_2_28)}
    assert found["inspector.ranks"].value == 8
    assert found["inspector.nodes"].value == 1
    assert found["inspector.busbw_gbs"].value == pytest.approx(485.119)
    assert str(found["inspector.busbw_gbs"].subject) == "rank 2"
    assert found["inspector.busbw_gbs"].origin.host == "example-hostname"


def test_verbose_record() -> None:
    found = {f.key: f.value for f in parse(VERBOSE_2_28)}
    assert found["inspector.busbw_gbs"] == pytest.approx(366.135, abs=0.001)
    group = nccl_inspector.read_group(str(found["inspector.group"]))
    assert (group["op"], group["size"], group["timing"]) == ("ReduceScatter", str(2 << 30), "kernel_gpu")


def test_latency_is_kept_apart_from_bandwidth() -> None:
    text = "".join(record(0, 900, sn=i) for i in range(20)) + "".join(record(0, 24, size=8192, sn=i) for i in range(30))
    found = {f.key: f.value for f in parse(text)}
    assert found["inspector.latency_us"] == 24
    assert found["inspector.busbw_gbs"] == pytest.approx(64 * MIB / 900 / 1000 * 1.75, rel=1e-3)


def test_the_intake_leaves_the_records_as_they_are() -> None:
    text = "".join(record(0, 900, sn=i, name="DP") for i in range(40))
    documents, _ = read_text("gpu-a07-pid1.log", text)
    assert sum(document.text.count('"coll_perf"') for document in documents) == 40
    assert any(f.key == "inspector.group" and f.count == 40 for f in nccl_inspector.parse(documents[0]))


def test_rank_for_which_the_others_wait() -> None:
    texts = ["".join(record(r, 700 if r == 5 else 2400 + r, sn=i) for i in range(30)) for r in range(8)]
    found = job(*texts)
    assert found["inspector.late_rank"] == [("AllReduce of 64 MiB: 700 us, others 2402 us", "rank 5")]


def test_all_ranks_equally_slow_name_nobody() -> None:
    texts = ["".join(record(r, 24000 + 10 * r, sn=i) for i in range(30)) for r in range(8)]
    found = job(*texts)
    assert "inspector.late_rank" not in found
    assert found["inspector.best_over_usual"] == [(1.0, "job")]
    assert found["inspector.jitter"] == [(1.0, "job")]


def test_host_whose_ranks_all_come_late() -> None:
    texts = [
        "".join(
            record(r, 500 if r >= 12 else 3000, sn=i, ranks=16, nodes=4, host=f"n{r // 4}", coll="ReduceScatter")
            for i in range(20)
        )
        for r in range(16)
    ]
    found = job(*texts)
    assert [s for _, s in found["inspector.late_rank"]] == [f"rank {r}" for r in range(12, 16)]
    assert found["inspector.late_host"] == [("n3", "host n3")]


def test_host_with_slow_links_inside() -> None:
    texts = [
        "".join(
            record(r, 4000 if node == 2 else 800, sn=i, comm=f"0xa{node}", host=f"n{node}", coll="AllGather")
            for i in range(20)
        )
        for node in range(4)
        for r in range(8)
    ]
    found = job(*texts)
    assert [s for _, s in found["inspector.slow_host"]] == ["host n2"]
    assert "inspector.late_rank" not in found


def test_rail_that_is_slower_than_its_peers() -> None:
    texts = [
        "".join(
            record(r, 9000 if rail == 3 else 2000, sn=i, comm=f"0xb{rail}", ranks=4, nodes=4, host=f"n{r}")
            for i in range(20)
        )
        for rail in range(8)
        for r in range(4)
    ]
    found = job(*texts)
    assert found["inspector.slow_group"] == [("AllReduce of 64 MiB: 11.2 GB/s, peers 50.3 GB/s; n0, n1, n2, n3", "job")]


def test_pair_with_a_slow_link() -> None:
    texts = ["".join(send(r, r + 1, 1700 if r == 3 else 400) for _ in range(10)) for r in range(7)]
    found = job(*texts)
    assert found["inspector.slow_link"] == [("8 MiB: 4.9 GB/s, other pairs 21.0 GB/s", "link rank 3 - rank 4")]


def test_waiting_shows_as_best_far_above_usual() -> None:
    text = "".join(record(0, 800 if i % 10 == 0 else 5000, sn=i) for i in range(60))
    found = job(text)
    assert found["inspector.best_over_usual"] == [(6.25, "job")]


def test_parts_of_one_file_count_as_one_rank() -> None:
    parts = ["".join(record(r, 600 if r == 1 else 2000, sn=i) for i in range(10)) for r in range(4) for _ in range(3)]
    found = job(*parts)
    assert [s for _, s in found["inspector.late_rank"]] == ["rank 1"]


def test_metrics_for_prometheus() -> None:
    found = parse(METRICS_2_29, "nccl_inspector_metrics.prom")
    groups = [f for f in found if f.key == "inspector.group"]
    assert [str(f.subject) for f in groups] == ["gpu nvl72004-T01:0"] * 2
    assert "op=AllReduce size=4294967296" in str(groups[0].value)
    assert "us=9498.47" in str(groups[0].value)
    assert {f.value for f in found if f.key == "inspector.busbw_gbs"} == {678.263}


def test_numbers_that_are_none() -> None:
    text = record(0, 900).replace('"coll_busbw_gbs":', '"coll_busbw_gbs":"nan","x":').replace(',"x":', ',"coll_y":')
    assert [f.key for f in parse(text)][:1] == ["inspector.group"]


def test_fixture_is_what_a_json_reader_accepts() -> None:
    assert json.loads(record(3, 10, name="TP"))["header"]["comm_name"] == "TP"


def test_fast_and_bounded() -> None:
    text = "".join(record(r % 8, 900 + r, sn=r, size=1 << (13 + r % 16), comm=f"0x{r % 40:x}") for r in range(40_000))
    start = time.process_time()
    found = parse(text)
    assert time.process_time() - start < 2.0
    assert len(found) <= 20


@pytest.mark.parametrize("text", [README_2_28, VERBOSE_2_28, METRICS_2_29])
def test_truncated_text_is_no_error(text: str) -> None:
    for cut in range(0, len(text), 17):
        list(nccl_inspector.parse(Document("x", text[:cut])))
        list(nccl_inspector.parse(Document("x", text[cut:])))
