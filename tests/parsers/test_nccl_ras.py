"""Reports of ncclras in the forms of NCCL 2.24, 2.26, 2.28.7 and 2.29 (text, JSON, monitor mode)."""

from __future__ import annotations

import json
import time

import pytest

from assistant.derive import n12_ras
from assistant.facts import CaseFile, Fact
from assistant.intake.document import Document
from assistant.parsers import nccl_ras

HEAD_2_24 = """\
NCCL version 2.24.3 compiled with CUDA 12.8
CUDA runtime version 12080, driver version 12080

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      4          8            1         32       32

Communicators... (0.01s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
"""
HEALTHY_2_24 = (
    HEAD_2_24
    + """\
    0         8         4         1         4        32   RUNNING      OK

Errors
======

Warnings
========

"""
)
MISMATCH_2_24 = (
    HEAD_2_24
    + """\
    0         1         4         8        32        32   RUNNING  MISMATCH

Errors
======

Warnings
========

#0-0 (27a079b828ff1a75) MISMATCH
  Communicator ranks have different collective operation counts
  26 ranks have launched up to operation 6650
  6 ranks have launched up to operation 6649
  Rank 0 -- GPU 0 managed by process 483072 on node 172.16.64.210
  Rank 2 -- GPU 2 managed by process 483074 on node 172.16.64.210
  Rank 3 -- GPU 3 managed by process 483075 on node 172.16.64.210
  Rank 4 -- GPU 4 managed by process 483076 on node 172.16.64.210
  Rank 5 -- GPU 5 managed by process 483077 on node 172.16.64.210
  Rank 7 -- GPU 7 managed by process 483079 on node 172.16.64.210
"""
)
INCOMPLETE_2_24 = (
    HEAD_2_24.replace("(0.01s)", "(2.05s)")
    + """\
    0         1         4       7-8        32        32   RUNNING  INCOMPLETE

Errors
======

INCOMPLETE
  Missing communicator data from 1 job process
  Process 3487984 on node 172.16.64.213 managing GPU 5

#0-0 (cf264af53edbe986) INCOMPLETE
  Missing communicator data from 1 rank
  The missing rank: 21

Warnings
========

TIMEOUT
  Encountered 2 communication timeouts while gathering communicator data

"""
)
DEAD_2_28 = (
    HEAD_2_24.replace("2.24.3", "2.28.9")
    + """\
    0         1         4       7-8        32        32   RUNNING  INCOMPLETE

Errors
======

DEAD
  1 job process is considered dead (unreachable via the RAS network)
  Process 3487984 on node 172.16.64.213 managing GPU 5

#0-0 (cf264af53edbe986) INCOMPLETE
  Missing communicator data from 1 rank
  Rank 21 -- GPU 5 managed by process 3487984 on node 172.16.64.213

Warnings
========

"""
)
COUNTS_2_28 = (
    HEAD_2_24.replace("2.24.3", "2.28.9")
    + """\
    0         1         4         8        32        32   RUNNING  MISMATCH

Errors
======

Warnings
========

#0-0 (cf264af53edbe986) MISMATCH
  Communicator ranks have different AllGather operation counts
  31 ranks have launched up to operation 412
  Rank 9 has launched up to operation 411 -- GPU 1 (NVML 5) managed by process 77120 on node 10.0.0.12

  Communicator ranks have different AllReduce operation counts
  31 ranks have not launched any operations
  Rank 9 has launched up to operation 1 -- GPU 1 (NVML 5) managed by process 77120 on node 10.0.0.12

"""
)
ERROR_2_28 = (
    HEAD_2_24
    + """\
    0         1         4         8        32        32     ABORT  ERROR,MISMATCH

Errors
======

#0-0 (9e17999afaa87dbb) ERROR
  Asynchronous errors on 2 ranks
  2 ranks reported Remote process error
  Rank 3 -- GPU 3 managed by process 507288 on node 172.16.64.210
  Rank 4 -- GPU 4 managed by process 507289 on node 172.16.64.210
  Rank 8 reported Unhandled CUDA error -- GPU 0 managed by process 1598388 on node 172.16.64.212

Warnings
========

#0-0 (9e17999afaa87dbb) MISMATCH
  Communicator ranks have different status
  31 ranks have status RUNNING
  Rank 8 has status ABORT -- GPU 0 managed by process 1598388 on node 172.16.64.212
"""
)
MIXED_NODES = """\
Job summary
===========

  Nodes  Processes         GPUs
          per node  per process
      3          8            1
      1          7            1

  Nodes  Processes         GPUs
(total)    (total)      (total)
      4         31           31

The outlier node:
  Node 172.16.64.213 running processes 3487980,3487981,3487982,3487983,3487985,3487986,3487987

Communicators... (0.00s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         4       7-8        31        31      INIT      OK
"""
MONITOR_2_29 = """\
RAS Monitor Mode - watching for peer changes (Ctrl+C to exit)...
================================================================
[2025-12-19 13:06:57] PEER_UNRESPONSIVE: Process 1524345 on node 172.16.64.245 managing GPU 1 peer not responding for 5s (keepalive warning)
[2025-12-19 13:07:07] PEER_DEAD: Process 1524345 on node 172.16.64.245 managing GPU 1
[2025-12-19 13:07:09] PEER_CONNECTING: 172.16.64.246<41873>
"""
MONITOR_JSON_2_29 = """\
{
  "timestamp": "2025-12-19 13:07:07",
  "group": "LIFECYCLE",
  "event": "PEER_DEAD",
  "peer": {
    "host": "172.16.64.245",
    "pid": 1524345,
    "cuda_devs": [1],
    "nvml_devs": [1]
  },
  "details": ""
}
"""


def rank_json(rank: int, allreduce: int, *, host: str = "172.16.64.245", error: int = 0, broadcast: int = 4) -> str:
    return f"""\
        {{
          "rank": {rank},
          "host": "{host}",
          "pid": {1524344 + rank},
          "cuda_dev": {rank},
          "nvml_dev": {rank},
          "status": {{
            "init_state": 0,
            "async_error": {error},
            "finalize_called": false,
            "destroy_flag": false,
            "abort_flag": false
          }},
          "collective_counts": {{
            "Broadcast": {broadcast},
            "Reduce": 0,
            "AllGather": 0,
            "ReduceScatter": 0,
            "AllReduce": {allreduce}
          }}
        }}"""


def report_json(ranks: list[str], missing: int | None = None, *, comma: str = ",", version: str = "2.29.1") -> str:
    gone = f"""\
        {{
          "rank": {missing},
          "host": "172.16.64.246",
          "pid": 1524351,
          "cuda_dev": 7,
          "nvml_dev": 7{comma}
          "status": {{
            "unresponsive": true,
            "considered_dead": false
          }}
        }}"""
    listed = ",\n".join(ranks)
    return f"""\
{{
  "nccl_version": "{version}",
  "cuda_runtime_version": 13000,
  "cuda_driver_version": 13000,
  "timestamp": "2025-12-19 13:06:53",
  "communicators_count": 1,
  "communicators": [
    {{
      "hash": "0xae94423cfbb2ef4a",
      "secondary_hash": "0xb7e7187447156001:0xb8242ed28a71381e",
      "size": 8,
      "ranks_count": {len(ranks)},
      "missing_ranks_count": {0 if missing is None else 1},
      "ranks": [
{listed}
      ],
      "missing_ranks": [
{"" if missing is None else gone}
      ]
    }}
  ],
  "ras": {{
    "collection_time_sec": 0.000,
    "timeouts_count": 0
  }}
}}
"""


def facts(text: str) -> list[Fact]:
    document = Document("ras.txt", text)
    assert not text or any(t in text for t in nccl_ras.TRIGGERS)
    return list(nccl_ras.parse(document))


def values(found: list[Fact], key: str) -> list[object]:
    return [f.value for f in found if f.key == key]


def places(found: list[Fact], key: str) -> list[tuple[str, str | None]]:
    return [(f.subject.name, f.origin.host) for f in found if f.key == key]


def test_healthy_job() -> None:
    found = facts(HEALTHY_2_24)
    assert values(found, "ras.nodes") == [4]
    assert values(found, "ras.processes") == [32]
    assert values(found, "ras.gpus") == [32]
    assert values(found, "ras.result") == ["OK"]
    assert values(found, "ras.status") == ["RUNNING"]
    assert len(found) == 5


def test_counts_before_2_26_name_no_collective() -> None:
    found = facts(MISMATCH_2_24)
    assert values(found, "ras.mismatch_op") == ["collective"]
    assert values(found, "ras.count_gap") == [1]
    assert values(found, "ras.behind") == ["collective 6649, others 6650"] * 6
    assert places(found, "ras.behind")[0] == ("0", "172.16.64.210")
    assert [p[0] for p in places(found, "ras.behind")] == ["0", "2", "3", "4", "5", "7"]


def test_missing_process_and_rank_2_24() -> None:
    found = facts(INCOMPLETE_2_24)
    assert values(found, "ras.missing_processes") == [1]
    assert values(found, "ras.missing_process") == ["process 3487984, GPU 5"]
    assert places(found, "ras.missing_process") == [("172.16.64.213", "172.16.64.213")]
    assert places(found, "ras.missing_rank") == [("21", None)]
    assert values(found, "ras.timeouts") == [2]
    assert not values(found, "ras.dead_process")


def test_dead_process_and_rank_2_28() -> None:
    found = facts(DEAD_2_28)
    assert values(found, "ras.dead_process") == ["process 3487984, GPU 5"]
    assert places(found, "ras.missing_rank") == [("21", "172.16.64.213")]
    case = CaseFile(found)
    assert [f.value for f in n12_ras.derive(case)] == ["172.16.64.213"]


def test_rank_that_runs_another_program_2_28() -> None:
    found = facts(COUNTS_2_28)
    assert values(found, "ras.mismatch_op") == ["AllGather", "AllReduce"]
    assert values(found, "ras.behind") == ["AllGather 411, others 412"]
    assert values(found, "ras.ahead") == ["AllReduce 1, others 0"]
    assert values(found, "ras.crossed") == ["ahead in AllReduce, behind in AllGather"]
    assert places(found, "ras.crossed") == [("9", "10.0.0.12")]


def test_errors_and_states() -> None:
    found = facts(ERROR_2_28)
    assert [(f.subject.name, f.value) for f in found if f.key == "ras.error"] == [
        ("3", "Remote process error"),
        ("4", "Remote process error"),
        ("8", "Unhandled CUDA error"),
    ]
    assert [(f.subject.name, f.value) for f in found if f.key == "ras.odd_status"] == [("8", "ABORT")]
    assert values(found, "ras.result") == ["ERROR,MISMATCH"]


def test_node_with_fewer_processes() -> None:
    found = facts(MIXED_NODES)
    assert values(found, "ras.processes") == [31]
    assert places(found, "ras.outlier_node") == [("172.16.64.213", "172.16.64.213")]
    assert values(found, "ras.status") == ["INIT"]


@pytest.mark.parametrize("text", [MONITOR_2_29, MONITOR_JSON_2_29])
def test_monitor(text: str) -> None:
    found = facts(text)
    assert "PEER_DEAD" in values(found, "ras.event")
    assert [(f.value, f.subject.name) for f in found if f.key == "ras.dead_process"] == [
        ("process 1524345, GPU 1", "172.16.64.245")
    ]


def test_monitor_names_an_unknown_peer_by_its_address() -> None:
    found = [f for f in facts(MONITOR_2_29) if f.value == "PEER_CONNECTING"]
    assert [f.subject.name for f in found] == ["172.16.64.246"]


def test_json_2_29() -> None:
    text = report_json([rank_json(r, 6601 if r == 3 else 6650) for r in range(7)], missing=7)
    assert json.loads(text)["communicators_count"] == 1
    found = facts(text)
    assert values(found, "nccl_version") == ["2.29.1"]
    assert values(found, "ras.behind") == ["AllReduce 6601, others 6650"]
    assert places(found, "ras.behind") == [("3", "172.16.64.245")]
    assert values(found, "ras.count_gap") == [49]
    assert values(found, "ras.missing_rank") == ["unresponsive"]
    assert places(found, "ras.missing_rank") == [("7", "172.16.64.246")]


def test_json_2_28_lacks_a_comma() -> None:
    text = report_json([rank_json(r, 10) for r in range(7)], missing=7, comma="", version="2.28.9+cuda13.0")
    with pytest.raises(ValueError, match="delimiter"):
        json.loads(text)
    found = facts(text)
    assert values(found, "nccl_version") == ["2.28.9"]
    assert values(found, "ras.missing_rank") == ["unresponsive"]
    assert not values(found, "ras.mismatch_op")


def test_json_on_one_line() -> None:
    text = report_json([rank_json(r, 5 if r == 1 else 9, error=1 if r == 1 else 0) for r in range(8)])
    found = facts(json.dumps(json.loads(text)))
    assert values(found, "ras.behind") == ["AllReduce 5, others 9"]
    assert values(found, "ras.error") == ["Unhandled CUDA error"]
    assert places(found, "ras.error") == [("1", "172.16.64.245")]


def test_json_with_crossed_counts() -> None:
    ranks = [rank_json(r, 8 if r == 2 else 9, broadcast=5 if r == 2 else 4) for r in range(8)]
    found = facts(report_json(ranks))
    assert values(found, "ras.crossed") == ["ahead in Broadcast, behind in AllReduce"]


def test_counts_that_stand_still_and_counts_that_grow() -> None:
    still = CaseFile(facts(MISMATCH_2_24) + facts(MISMATCH_2_24))
    assert next((f.key, f.value) for f in n12_ras.derive(still)) == (
        "ras.stuck",
        "27a079b828ff1a75 collective 6649 to 6650",
    )
    later = MISMATCH_2_24.replace("6650", "6712").replace("6649", "6711")
    moving = CaseFile(facts(MISMATCH_2_24 + later))
    assert [f.key for f in n12_ras.derive(moving)] == ["ras.moving"]


def test_large_report_is_bounded_and_fast() -> None:
    text = report_json([rank_json(r, r % 40, host=f"10.0.{r // 256}.{r % 256}") for r in range(4096)])
    start = time.process_time()
    found = facts(text)
    assert time.process_time() - start < 1.5
    assert len(found) < 60


@pytest.mark.parametrize("text", [MISMATCH_2_24, ERROR_2_28, MONITOR_JSON_2_29, report_json([rank_json(0, 1)], 7)])
def test_truncated_text_is_no_error(text: str) -> None:
    for cut in range(0, len(text), 23):
        list(nccl_ras.parse(Document("ras.txt", text[:cut])))
        list(nccl_ras.parse(Document("ras.txt", text[cut:])))
