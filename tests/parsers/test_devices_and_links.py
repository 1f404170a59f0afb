"""DCGM, sampled values of GPUs, mlxlink, ibdiagnet, ibqueryerrors; growth of counters; hosts and ranks that differ."""

from __future__ import annotations

import json
from collections.abc import Iterable

from assistant.derive import n26_transports, n27_counters, n53_stacks, n57_xla
from assistant.facts import CaseFile, Fact, Value
from assistant.intake.document import Document
from assistant.parsers import (
    dcgm_dmon,
    dcgm_json,
    ethtool,
    gpu_dcgm,
    gpu_smi_csv,
    ib_counters,
    ibdiagnet,
    jax_distributed,
    mlxlink,
    stack_dump,
    ucx_log,
)


def values(facts: Iterable[Fact], key: str) -> list[Value]:
    return [f.value for f in facts if f.key == key]


def of(facts: Iterable[Fact], key: str) -> dict[str, Value]:
    return {f.subject.name: f.value for f in facts if f.key == key}


DCGM4 = """\
Successfully ran diagnostic for group.
+---------------------------+------------------------------------------------+
| Diagnostic                | Result                                         |
+===========================+================================================+
|-----  Metadata  ----------+------------------------------------------------|
| DCGM Version              | 4.2.3                                          |
|-----  Deployment  --------+------------------------------------------------|
| software                  | Pass                                           |
|                           | GPU0: Pass                                     |
+-----  Hardware  ----------+------------------------------------------------+
| memory                    | Fail                                           |
|                           | GPU0: Pass                                     |
|                           | GPU3: Fail                                     |
+-----  Integration  -------+------------------------------------------------+
| pcie                      | Pass                                           |
"""


def test_dcgm_4_names_the_gpu() -> None:
    assert of(gpu_dcgm.parse(Document("diag.txt", DCGM4)), "gpu.dcgm_failed") == {"3": "memory"}


def test_dcgm_3_text() -> None:
    text = """\
| Diagnostic                | Result                                         |
| GPU Memory                | Fail - GPU: 3, 5                               |
| Warning                   | GPU 3 had uncorrectable memory errors          |
| Diagnostic                | Pass - All                                     |
"""
    assert of(gpu_dcgm.parse(Document("diag.txt", text)), "gpu.dcgm_failed") == {"3": "GPU Memory", "5": "GPU Memory"}


def test_dcgm_json_of_versions_3_and_4() -> None:
    three = {
        "DCGM GPU Diagnostic": {
            "test_categories": [
                {
                    "category": "Hardware",
                    "tests": [
                        {"name": "GPU Memory", "results": [{"gpu_ids": "0,1,2", "status": "PASS"}, {"gpu_ids": "3", "status": "Fail", "warnings": ["x"]}]},
                        None,
                    ],
                }
            ],
            "version": "3.2.3",
        }
    }  # fmt: skip
    four = {
        "DCGM Diagnostic": {
            "test_categories": [
                {"category": "Hardware", "tests": [{"name": "memory", "results": [{"entity_group": "GPU", "entity_id": 5, "status": "Fail"}], "test_summary": {"status": "Fail"}}]}
            ]
        }
    }  # fmt: skip
    assert of(dcgm_json.parse(Document("d.json", json.dumps(three, indent=1))), "gpu.dcgm_failed") == {
        "3": "GPU Memory"
    }
    found = of(dcgm_json.parse(Document("d.json", "WARNING: slow\n" + json.dumps(four))), "gpu.dcgm_failed")
    assert found["5"] == "memory"


def test_dcgm_exporter_by_host_and_gpu() -> None:
    text = """\
# HELP DCGM_FI_DEV_SM_CLOCK SM clock frequency (in MHz).
# TYPE DCGM_FI_DEV_SM_CLOCK gauge
DCGM_FI_DEV_SM_CLOCK{gpu="0",UUID="GPU-604ac76c",device="nvidia0",modelName="NVIDIA H100 80GB HBM3",Hostname="gpu07",DCGM_FI_DRIVER_VERSION="535.104.05"} 1980
DCGM_FI_DEV_SM_CLOCK{gpu="1",UUID="GPU-604ac76d",device="nvidia1",modelName="NVIDIA H100 80GB HBM3",Hostname="gpu07"} 345
DCGM_FI_DEV_XID_ERRORS{gpu="1",UUID="GPU-604ac76d",device="nvidia1",Hostname="gpu07",err_code="79",err_msg="GPU has fallen off the bus"} 79
DCGM_FI_DEV_ROW_REMAP_FAILURE{gpu="1",UUID="GPU-604ac76d",Hostname="gpu07"} 1
DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{gpu="0",UUID="GPU-604ac76c",Hostname="gpu07"} 0.412
"""
    facts = list(gpu_dcgm.parse(Document("metrics.txt", text)))
    assert of(facts, "gpu.sm_clock_mhz") == {"gpu07:0": 1980.0, "gpu07:1": 345.0}
    assert of(facts, "gpu.xid") == {"gpu07:1": 79}
    assert of(facts, "gpu.remap_failed") == {"gpu07:1": True}
    assert of(facts, "gpu.tensor_active") == {"gpu07:0": 41.2}


DMON = """\
#Entity   GPUTL             MCUTL             POWER             TMPTR        ESVTL        EDVTL        FBUSD
ID                                             W                 C
GPU 0     75                42                185.300           68           0            0            28456
GPU 1     0                 0                 59.2              N/A          0            2            28400
"""


def test_dcgmi_dmon() -> None:
    facts = dcgm_dmon.parse(Document("dmon.txt", DMON))
    facts = list(facts)
    assert of(facts, "gpu.util") == {"0": 75.0, "1": 0.0}
    assert of(facts, "gpu.power_w") == {"0": 185.3, "1": 59.2}
    assert of(facts, "gpu.temp_c") == {"0": 68.0}
    assert of(facts, "gpu.ecc_uncorrected") == {"0": 0, "1": 2}


def test_hours_of_samples_stay_few_facts() -> None:
    head = "timestamp, index, utilization.gpu [%], clocks.current.sm [MHz], clocks_throttle_reasons.active\n"
    rows = "".join(
        f"2024/05/02 10:{minute:02}:00.123, {gpu}, {99 - (minute == 30)} %, {1980 - 10 * minute} MHz, 0x0000000000000004\n"
        for minute in range(60)
        for gpu in range(8)
    )
    facts = list(gpu_smi_csv.parse(Document("smi.csv", head + rows)))
    clocks = [f.value for f in facts if f.key == "gpu.sm_clock_mhz" and f.subject.name == "3"]
    assert clocks[0] == 1980 and clocks[-1] == 1390
    assert len(facts) < 8 * 2 * 14 + 8
    assert 98.0 in [f.value for f in facts if f.key == "gpu.util" and f.subject.name == "3"]
    assert {f.count for f in facts if f.key == "gpu.throttle"} == {60}


def test_rows_without_index_are_told_apart_by_time_or_bus() -> None:
    text = """\
timestamp, name, pci.bus_id, utilization.gpu [%]
2024/05/02 10:00:00.123, NVIDIA A100, 00000000:07:00.0, 99 %
2024/05/02 10:00:00.125, NVIDIA A100, 00000000:0B:00.0, 0 %
2024/05/02 10:00:01.123, NVIDIA A100, 00000000:07:00.0, 98 %
2024/05/02 10:00:01.125, NVIDIA A100, 00000000:0B:00.0, 0 %
"""
    assert set(of(gpu_smi_csv.parse(Document("smi.csv", text)), "gpu.util")) == {"00000000:07:00.0", "00000000:0b:00.0"}
    text = text.replace(" pci.bus_id,", "").replace(" 00000000:07:00.0,", "").replace(" 00000000:0B:00.0,", "")
    assert set(of(gpu_smi_csv.parse(Document("smi.csv", text)), "gpu.util")) == {"0", "1"}


def test_dmon_with_time() -> None:
    text = """\
#Date       Time        gpu    pwr  gtemp  mtemp     sm    mem    enc    dec    jpg    ofa   mclk   pclk
#YYYYMMDD   HH:MM:SS    Idx      W      C      C      %      %      %      %      %      %    MHz    MHz
 20240502   10:00:00      0    389     61     70     99     41      0      0      0      0   1593   1410
 20240502   10:00:00      1     71     35     40      0      0      0      0      0      0   1593    210
"""
    assert of(gpu_smi_csv.parse(Document("dmon.txt", text)), "gpu.util") == {"0": 99.0, "1": 0.0}


MLXLINK = """\
$ sudo mlxlink -d mlx5_3 -m -c

Operational Info
----------------
State                              : Active
Physical state                     : LinkUp
Speed                              : IB-NDR
Width                              : 4x
FEC                                : Standard_RS-FEC - (544,514)

Troubleshooting Info
--------------------
Status Opcode                      : 0
Recommendation                     : Bad signal integrity

Physical Counters and BER Info
------------------------------
Time Since Last Clear [Min]        : 120.0
Effective Physical Errors          : 42
Effective Physical BER             : 1E-12
Link Down Counter                  : 3
Link Error Recovery Counter        : 7
Raw Physical BER                   : 5E-8
"""


def test_mlxlink() -> None:
    facts = list(mlxlink.parse(Document("mlxlink.txt", MLXLINK)))
    assert of(facts, "ib.rate_gbps") == {"mlx5_3": 400.0}
    assert of(facts, "link.downs") == {"mlx5_3": 3}
    assert of(facts, "link.ber") == {"mlx5_3": 1e-12}
    assert values(facts, "link.errors") == ["Effective Physical Errors", "Link Error Recovery Counter"]
    assert values(facts, "link.advice") == ["Bad signal integrity"]


def test_mlxlink_without_trouble_and_as_json() -> None:
    text = (
        MLXLINK.replace("Bad signal integrity", "No issue was observed")
        .replace(": 42", ": 0")
        .replace("1E-12", "15E-255")
    )
    text = text.replace("Link Down Counter                  : 3", "Link Down Counter                  : 0").replace(
        ": 7", ": 0"
    )
    assert not [f for f in mlxlink.parse(Document("mlxlink.txt", text)) if f.key.startswith("link.")]
    data = {
        "result": {
            "output": {
                "Operational Info": {"Speed": "200G", "State": "Active", "Physical state": "LinkUp", "Width": "4x"},
                "Physical Counters and BER Info": {"Effective Physical Errors": "12", "Effective Physical BER": "1E-9"},
            }
        }
    }
    facts = list(mlxlink.parse(Document("mlxlink.json", json.dumps(data, indent=2))))
    assert values(facts, "ib.rate_gbps") == [200.0]
    assert values(facts, "link.ber") == [1e-9]


def test_ibdiagnet() -> None:
    text = """\
-I- Discovery
-E- Link: S0002c90300688830/N0002c90300688830/P20<-->gpu07/U1/P1 - Unexpected actual link speed 2.5 (enable_speed1="2.5 or 5 or 10", enable_speed2="2.5 or 5 or 10" therefore final speed should be 10)
-E- lid=0x0012 dev=54000 leaf-r1/U1/P5 - "symbol_error_counter" increased during the run (difference value=27,difference allowed threshold=1)
-W- leaf-r1/U1/P27 - Cable High Temperature Alarm reported, current temperature: 64C, threshold: 80C
"""
    facts = list(ibdiagnet.parse(Document("ibdiagnet2.log", text)))
    assert of(facts, "ib.link_below") == {"S0002c90300688830 P20 - gpu07 P1": "speed 2.5"}
    assert of(facts, "ib.counter_grows") == {"leaf-r1 P5": "symbol_error_counter"}
    assert list(of(facts, "ib.cable_fault")) == ["leaf-r1 P27"]


def test_ibqueryerrors_names_switch_and_port() -> None:
    text = """\
Errors for 0x200002 "leaf-r1"
   GUID 0x200002 port ALL: [SymbolErrorCounter == 250] [LinkDownedCounter == 3]
   GUID 0x200002 port 33: [SymbolErrorCounter == 250] [LinkDownedCounter == 3]
Errors for "gpu07 mlx5_0"
   GUID 0x98039b0300a1b2c3 port 1: [PortXmitDiscards == 649]

## Summary: 16 nodes checked, 2 bad nodes found
##          226 ports checked, 2 ports have errors beyond threshold
"""
    facts = list(ib_counters.parse(Document("ibqueryerrors.txt", text)))
    assert {f.subject.name for f in facts if f.key == "ib.error_counter"} == {"leaf-r1 port 33"}
    assert {f.subject.name for f in facts if f.key == "ib.congestion_counter"} == {"gpu07 mlx5_0 port 1"}


def ethtool_of(discards: int, name: str) -> list[Fact]:
    text = f"$ ethtool -S ens1f0np0\nNIC statistics:\n     rx_discards_phy: {discards}\n     rx_prio3_pause: 88123\n"
    return list(ethtool.parse(Document(name, text)))


def test_counters_of_two_samples_are_compared() -> None:
    case = CaseFile(facts=[*ethtool_of(120_934, "before.txt"), *ethtool_of(121_934, "after.txt")])
    assert values(n27_counters.derive(case), "nic.counter_grew") == ["rx_discards_phy +1000"]
    assert not list(n27_counters.derive(CaseFile(facts=[*ethtool_of(500, "a.txt"), *ethtool_of(500, "b.txt")])))
    assert "rx 3" in values(case.facts, "nic.pause_priority")


def test_the_host_that_talks_over_tcp() -> None:
    lines = [
        f"[1.1] [gpu0{n}:4117:0]     ucp_worker.c:1855 UCX  INFO    0x1 inter-node cfg#2 tag({'tcp/eth0' if n == 3 else 'rc_mlx5/mlx5_0:1'})\n"
        for n in range(1, 7)
    ]
    case = CaseFile(facts=list(ucx_log.parse(Document("out.log", "".join(lines)))))
    odd = list(n26_transports.derive(case))
    assert [(f.subject.name, f.value) for f in odd] == [("gpu03", "ucx.internode tcp, others rc_mlx5")]


def stack(rank: int, function: str, file: str) -> list[Fact]:
    text = (
        f"Process 4{rank:03}: python train.py\nPython v3.10.12 (/usr/bin/python3.10)\n\n"
        f'Thread 4{rank:03} (active): "MainThread"\n    {function} ({file}:2784)\n    train (train.py:88)\n    <module> (train.py:120)\n'
    )
    return list(stack_dump.parse(Document(f"rank{rank}.txt", text, rank=rank)))


def test_the_rank_with_another_stack() -> None:
    facts = [
        f
        for r in range(8)
        for f in stack(r, "barrier" if r == 5 else "all_reduce", "torch/distributed/distributed_c10d.py")
    ]
    odd = list(n53_stacks.derive(CaseFile(facts=facts)))
    assert [(f.subject.name, f.value) for f in odd] == [("5", "barrier, others in all_reduce")]


def test_the_rank_that_xla_waits_for() -> None:
    lines = [
        f"E0218 03:50:19.1 300 rendezvous.cc:100] [id=1] This thread has been waiting for `acquire clique for rank {rank}; "
        f"clique=devices=[0,1,2,3,4,5,6,7]; is_p2p=0; run_id=-15` for 10 seconds and may be stuck. Expected 8 threads to join the "
        "rendezvous, but not all of them arrived on time.\n"
        for rank in range(8)
        if rank != 5
    ]
    case = CaseFile(facts=list(jax_distributed.parse(Document("out.log", "".join(lines)))))
    assert [f.subject.name for f in n57_xla.derive(case)] == ["5"]
