"""Tables and objects of Slurm and Kubernetes."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest

from assistant.facts import Fact, Value
from assistant.intake.document import Document
from assistant.parsers import kubernetes_objects, slurm_tables
from assistant.parsers._host_list import expand


def values(facts: Iterable[Fact], key: str) -> list[Value]:
    return [f.value for f in facts if f.key == key]


def of(facts: Iterable[Fact], key: str) -> dict[str, Value]:
    return {f.subject.name: f.value for f in facts if f.key == key}


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("gpu[003,007-008]", ["gpu003", "gpu007", "gpu008"]),
        ("cpu[002,005],gpu1", ["cpu002", "cpu005", "gpu1"]),
        ("r[1-2]n[09-10]", ["r1n09", "r1n10", "r2n09", "r2n10"]),
        ("n[9-11]", ["n9", "n10", "n11"]),
        ("login", ["login"]),
    ],
)
def test_host_lists(text: str, hosts: list[str]) -> None:
    assert expand(text) == hosts


SINFO_R = """\
$ sinfo -R
REASON               USER      TIMESTAMP           NODELIST
issue-6277 : Not res slurm     2024-08-26T14:28:56 cpu[002,005]
Not responding       slurm     2024-08-30T21:25:06 gpu2
GPU Xid 79 detected  root      2026-09-10T03:14:02 node47
"""

SINFO_RL = """\
Mon Sep 09 21:06:01 2024
REASON               USER         TIMESTAMP           STATE  NODELIST
Not responding       slurm(200)   2024-09-09T09:41:55 down*  cpu[014,038]
health_BEEGFS__tcp_c root(0)      2024-09-09T09:35:58 drain  cpu025
"""


def test_sinfo_reasons() -> None:
    facts = list(slurm_tables.parse(Document("sinfo.txt", SINFO_R)))
    assert of(facts, "slurm.node_reason") == {
        "cpu002": "issue-6277 : Not res",
        "cpu005": "issue-6277 : Not res",
        "gpu2": "Not responding",
        "node47": "GPU Xid 79 detected",
    }
    long = list(slurm_tables.parse(Document("sinfo.txt", SINFO_RL)))
    assert of(long, "slurm.node_state") == {"cpu014": "DOWN", "cpu038": "DOWN", "cpu025": "DRAIN"}


def test_sinfo_by_node() -> None:
    text = """\
NODELIST   NODES PARTITION       STATE CPUS    S:C:T MEMORY TMP_DISK WEIGHT AVAIL_FE REASON
gpu01          1      gpu*       mixed 128    2:64:1 1031000        0      1   (null) none
gpu02          1      gpu*       down* 128    2:64:1 1031000        0      1   (null) Not responding
gpu03          1      gpu*     drained 128    2:64:1 1031000        0      1   (null) bad NIC
"""
    assert of(slurm_tables.parse(Document("sinfo.txt", text)), "slurm.node_state") == {
        "gpu02": "DOWN",
        "gpu03": "DRAIN",
    }


def test_scontrol_show_node() -> None:
    text = """\
NodeName=gpu07 Arch=x86_64 CoresPerSocket=32
   CPUAlloc=0 CPUEfctv=128 CPUTot=128 CPULoad=0.02
   Gres=gpu:h100:8
   NodeAddr=gpu07 NodeHostName=gpu07 Version=23.02.6
   State=DOWN*+DRAIN ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   BootTime=2024-08-20T10:00:00 SlurmdStartTime=2024-08-20T10:05:00
   Reason=Not responding [slurm@2024-08-30T21:25:06]

NodeName=gpu08 Arch=x86_64 CoresPerSocket=32
   State=IDLE ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
"""
    facts = list(slurm_tables.parse(Document("nodes.txt", text)))
    assert of(facts, "slurm.node_state") == {"gpu07": "DOWN+NOT_RESPONDING+DRAIN"}
    assert of(facts, "slurm.node_reason") == {"gpu07": "Not responding"}


def test_sacct_parsable() -> None:
    text = """\
JobID|JobName|State|ExitCode|Elapsed|NodeList|MaxRSS|MaxRSSNode
81234|train|FAILED|1:0|00:10:01|gpu-[01-04]||
81234.batch|batch|FAILED|1:0|00:10:01|gpu-01|1203.5M|gpu-01
81234.0|python|OUT_OF_MEMORY|0:125|00:09:40|gpu-03|980123456K|gpu-03
"""
    facts = list(slurm_tables.parse(Document("sacct.txt", text)))
    assert "81234.0 OUT_OF_MEMORY" in values(facts, "slurm.step_state")
    assert of(facts, "slurm.failed_on") == {"gpu-01": "FAILED", "gpu-03": "OUT_OF_MEMORY"}
    assert values(facts, "slurm.step_exit") == ["81234.batch 1:0", "81234.0 0:125"]
    assert of(facts, "slurm.max_rss_gb")["gpu-03"] == pytest.approx(1003.6, abs=0.1)


def test_sacct_aligned() -> None:
    text = """\
JobID           JobName  Partition    Account  AllocCPUS      State ExitCode
------------ ---------- ---------- ---------- ---------- ---------- --------
702215            train        gpu       proj         64 CANCELLED+      0:0
702215.batch      batch                  proj         64     FAILED      1:0
702215.0         python                  proj         64 OUT_OF_ME+    0:125
"""
    facts = list(slurm_tables.parse(Document("sacct.txt", text)))
    assert values(facts, "slurm.step_state") == ["702215 CANCELLED", "702215.batch FAILED", "702215.0 OUT_OF_MEMORY"]
    assert values(facts, "slurm.step_exit") == ["702215.batch 1:0", "702215.0 0:125"]


def test_sacct_json() -> None:
    text = json.dumps(
        {
            "meta": {"plugin": {"type": "openapi/slurmdbd"}, "slurm": {"version": {"major": "23"}}},
            "jobs": [
                {
                    "job_id": 9321,
                    "state": {"current": ["FAILED"], "reason": "NonZeroExitCode"},
                    "exit_code": {"status": ["ERROR"], "return_code": {"set": True, "number": 1}},
                    "steps": [
                        {
                            "step": {"id": "9321.0", "name": "python"},
                            "state": ["CANCELLED"],
                            "exit_code": {
                                "status": ["SIGNALED"],
                                "return_code": {"number": 0},
                                "signal": {"id": {"number": 9}, "name": "KILL"},
                            },
                        }
                    ],
                }
            ],
        },
        indent=1,
    )
    facts = list(slurm_tables.parse(Document("sacct.json", text)))
    assert values(facts, "slurm.step_state") == ["9321 FAILED", "9321.0 CANCELLED"]
    assert values(facts, "slurm.step_exit") == ["9321.0 0:9"]


def test_scontrol_show_job() -> None:
    text = """\
JobId=81234 JobName=train
   JobState=RUNNING Reason=None Dependency=(null)
   Requeue=1 Restarts=2 BatchFlag=1 Reboot=0 ExitCode=0:0
   NodeList=gpu-[01-02]
   NumNodes=2 NumCPUs=256 NumTasks=16 CPUs/Task=16 ReqB:S:C:T=0:0:*:*
"""
    facts = list(slurm_tables.parse(Document("job.txt", text)))
    assert values(facts, "nodes") == [2]
    assert values(facts, "slurm.tasks") == [16]
    assert values(facts, "slurm.restarts") == [2]
    assert values(facts, "launch.hosts") == ["gpu-01,gpu-02"]


EVENTS = """\
NAMESPACE   LAST SEEN   TYPE      REASON             OBJECT                  MESSAGE
default     2m11s       Warning   NodeNotReady       pod/trainer-worker-3    Node is not ready
default     3m          Normal    NodeNotReady       node/gpu-b1             Node gpu-b1 status is now: NodeNotReady
default     5m (x2 over 9m)   Warning   BackOff      pod/trainer-worker-1    Back-off restarting failed container
default     5m          Normal    Scheduled          pod/trainer-worker-1    Successfully assigned
"""


def test_events_name_their_object() -> None:
    facts = list(kubernetes_objects.parse(Document("events.txt", EVENTS)))
    assert of(facts, "pod.event") == {"trainer-worker-3": "NodeNotReady", "trainer-worker-1": "BackOff"}
    assert of(facts, "kubernetes.node_event") == {"gpu-b1": "NodeNotReady"}


DESCRIBE = """\
Name:             trainer-worker-1
Namespace:        default
Node:             gpu-b2/10.0.0.7
Status:           Running
Containers:
  pytorch:
    State:          Running
      Started:      Tue, 04 Jun 2024 10:00:00 +0000
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
      Started:      Tue, 04 Jun 2024 09:00:00 +0000
    Ready:          True
    Restart Count:  2
Conditions:
  Type              Status
  Initialized       True
  Ready             True
Events:
  Type     Reason     Age                From               Message
  ----     ------     ----               ----               -------
  Warning  BackOff    5m (x3 over 10m)   kubelet            Back-off restarting failed container
"""


def test_describe_pod() -> None:
    facts = list(kubernetes_objects.parse(Document("describe.txt", DESCRIBE)))
    assert of(facts, "pod.last_exit") == {"trainer-worker-1": 137}
    assert of(facts, "pod.restarts") == {"trainer-worker-1": 2}
    assert of(facts, "pod.node") == {"trainer-worker-1": "gpu-b2"}


def test_describe_node_and_get_nodes() -> None:
    text = """\
Name:               gpu-b1
Conditions:
  Type                 Status    LastHeartbeatTime                 LastTransitionTime                Reason                       Message
  ----                 ------    -----------------                 ------------------                ------                       -------
  MemoryPressure       Unknown   Tue, 04 Jun 2024 10:00:00 +0000   Tue, 04 Jun 2024 10:05:00 +0000   NodeStatusUnknown            Kubelet stopped posting node status.
  DiskPressure         True      Tue, 04 Jun 2024 10:00:00 +0000   Tue, 04 Jun 2024 10:05:00 +0000   KubeletHasDiskPressure       kubelet has disk pressure
  PIDPressure          False     Tue, 04 Jun 2024 10:00:00 +0000   Tue, 04 Jun 2024 10:05:00 +0000   KubeletHasSufficientPID      kubelet has sufficient PID available

NAME       STATUS                        ROLES    AGE    VERSION
gpu-a1     Ready                         <none>   201d   v1.28.6
gpu-b1     NotReady,SchedulingDisabled   <none>   201d   v1.28.6
"""
    facts = list(kubernetes_objects.parse(Document("nodes.txt", text)))
    assert values(facts, "kubernetes.node_condition") == ["MemoryPressure Unknown", "DiskPressure True"]
    assert of(facts, "kubernetes.node_state") == {"gpu-b1": "NotReady,SchedulingDisabled"}


POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "trainer-worker-2", "namespace": "default"},
    "spec": {"nodeName": "gpu-b3"},
    "status": {
        "phase": "Running",
        "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}],
        "containerStatuses": [
            {
                "name": "pytorch",
                "restartCount": 4,
                "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
            }
        ],
    },
}


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_pods_as_json_and_yaml(form: str) -> None:
    import yaml

    data = {"apiVersion": "v1", "items": [POD], "kind": "List"}
    text = json.dumps(data, indent=4) if form == "json" else yaml.safe_dump(data)
    facts = list(kubernetes_objects.parse(Document(f"pods.{form}", text)))
    assert of(facts, "pod.last_exit") == {"trainer-worker-2": 137}
    assert of(facts, "pod.restarts") == {"trainer-worker-2": 4}
    assert of(facts, "pod.node") == {"trainer-worker-2": "gpu-b3"}
    assert "OOMKilled" in values(facts, "pod.status")
    assert "CrashLoopBackOff" in values(facts, "pod.status")
    assert values(facts, "pod.event") == ["PreemptionByScheduler"]


def test_node_as_json() -> None:
    node = {
        "kind": "Node",
        "metadata": {"name": "gpu-b1"},
        "status": {
            "conditions": [{"type": "MemoryPressure", "status": "True"}, {"type": "Ready", "status": "Unknown"}],
            "nodeInfo": {},
        },
    }
    facts = list(kubernetes_objects.parse(Document("node.json", json.dumps(node))))
    assert values(facts, "kubernetes.node_condition") == ["MemoryPressure True", "Ready Unknown"]
    assert {f.subject.name for f in facts if f.key == "kubernetes.node_condition"} == {"gpu-b1"}


def test_pods_wide() -> None:
    text = """\
NAME               READY   STATUS             RESTARTS      AGE   IP            NODE     NOMINATED NODE   READINESS GATES
trainer-master-0   1/1     Running            0             3h    10.244.1.17   gpu-a1   <none>           <none>
trainer-worker-0   0/1     CrashLoopBackOff   5 (40s ago)   3h    10.244.2.9    gpu-b2   <none>           <none>
trainer-worker-1   0/1     Pending            0             3h    <none>        <none>   <none>           <none>
"""
    facts = list(kubernetes_objects.parse(Document("pods.txt", text)))
    assert of(facts, "pod.node") == {"trainer-master-0": "gpu-a1", "trainer-worker-0": "gpu-b2"}
    assert of(facts, "pod.restarts") == {"trainer-worker-0": 5}


def test_a_configuration_is_no_state() -> None:
    text = "NodeName=gpu[01-08] Gres=gpu:a100:4 CPUs=64 \\\n   State=DOWN\n"
    assert not list(slurm_tables.parse(Document("slurm.conf", text)))
