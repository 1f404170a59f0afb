"""JAX, TensorFlow and Ray: what their own messages tell, in the forms of several versions."""

from __future__ import annotations

from collections.abc import Iterable

from assistant.facts import Fact, Value
from assistant.intake.document import Document
from assistant.parsers import jax_distributed, ray_cluster, tensorflow_distributed


def values(facts: Iterable[Fact], key: str) -> list[Value]:
    return [f.value for f in facts if f.key == key]


def ranks(facts: Iterable[Fact], key: str) -> list[str]:
    return sorted((f.subject.name for f in facts if f.key == key and f.subject.kind == "rank"), key=int)


JAX_0_4_20 = """\
  File "/root/miniconda3/envs/jax/lib/python3.11/site-packages/jax/_src/distributed.py", line 95, in initialize
    self.client.connect()
jaxlib.xla_extension.XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Barrier_id: PjRT_Client_Connect. Timed out task names:
/job:jax_worker/replica:0/task:1
/job:jax_worker/replica:0/task:6
/job:jax_worker/replica:0/task:3

Additional GRPC error information from remote target unknown_target_for_coordination_leader while calling /tensorflow.CoordinationService/Barrier:
:{"created":"@1700792000.1","description":"Error received from peer ipv4:10.142.0.55:8476","grpc_message":"Barrier timed out. Barrier_id: PjRT_Client_Connect. Timed out task names:","grpc_status":4}
"""

JAX_0_5 = """\
INFO:2025-02-20 10:01:02,111:jax._src.distributed:118: Connecting to JAX distributed service on 10.0.0.1:1234
jaxlib.xla_extension.XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Id: [Init]Wait_for_all_tasks_to_register::0. This usually happens because a task triggered the barrier too early or too slowly. Please look at the task logs (both timed out and first task) to debug further.
# of tasks that reached the barrier: 6/8.
The first task at the barrier: /job:jax_worker/replica:0/task:0. Some timed out task names:
/job:jax_worker/replica:0/task:2
/job:jax_worker/replica:0/task:5
"""

JAX_HEARTBEAT = """\
E0926 17:26:30.101010  157001 coordination_service.cc:1101] /job:jax_worker/replica:0/task:3 heartbeat timeout. This indicates that the remote task has failed, got preempted, or crashed unexpectedly. Check the task logs for an earlier error to debug further.
F0926 17:26:32.075587  157988 client.h:77] Terminating process because the JAX distributed service detected fatal errors. This most likely indicates that another task died; see the other task logs for more details. absl::Status: UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats):
/job:jax_worker/replica:0/task:3
The tasks have crashed. Check the task logs for an earlier error, or scheduler events (e.g. preemption, eviction) to debug further.
"""

XLA = """\
2024-07-29 17:14:59.920189: E external/xla/xla/service/rendezvous.cc:38] This thread has been waiting for `initialize clique for rank 6; clique=devices=[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]; stream=0; run_id=724296073` for 10 seconds and may be stuck. Expected 8 threads to join the rendezvous, but not all of them arrived on time.
E0218 03:50:19.100000     300 rendezvous.cc:100] [id=0] This thread has been waiting for `first call to collective operation 190; run_id=-851342065` for 20 seconds and may be stuck. Expected 2 threads to join the rendezvous, but not all of them arrived on time.
F0915 03:15:42.160012     395 rendezvous.cc:127] Termination timeout for `all gather RendezvousKey{run_id=7, global_devices=[1, 3], num_local_participants=2, collective_op_kind=cross_module, op_id=28}` of 40 seconds exceeded. Exiting to ensure a consistent program state. Expected 2 threads to join the rendezvous, but only 1 of them arrived on time.
"""


def test_jax_names_the_tasks_that_did_not_come() -> None:
    facts = list(jax_distributed.parse(Document("rank0.log", JAX_0_4_20)))
    assert ranks(facts, "jax.missing_task") == ["1", "3", "6"]
    assert values(facts, "jax.barrier_at_start") == [True]
    assert values(facts, "framework") == ["jax"]


def test_jax_newer_barrier_with_counts() -> None:
    facts = list(jax_distributed.parse(Document("out.log", JAX_0_5)))
    assert ranks(facts, "jax.missing_task") == ["2", "5"]
    assert values(facts, "jax.barrier_reached") == ["6 of 8"]
    assert values(facts, "world_size") == [8]
    assert values(facts, "launch.rdzv_endpoint") == ["10.0.0.1:1234"]


#: Captured from three processes of jax 0.10.2 on one host.
JAX_0_10_BARRIER = """\
INFO:jax._src.distributed:Connecting to JAX distributed service on 127.0.0.1:12401
jax.errors.JaxRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Id: after_restore::0. This usually happens because a task triggered the barrier too early or too slowly. Please look at the task logs (both timed out and first task) to debug further.
# of tasks that reached the barrier: 2/3.
The first task at the barrier: 0. Some timed out task names:
2


RPC: /xla.coordination.CoordinationService/Barrier [type.googleapis.com/tensorflow.CoordinationServiceError='']
"""

JAX_0_10_DEATH = """\
E1130 22:31:25.851459   30897 coordination_service_agent.cc:289] Polled an error from coordination service (this can be an error from this or another task).
F1130 22:31:25.851602   30897 client.h:80] Terminating process because the JAX distributed service detected fatal errors. This most likely indicates that another task died; see the other task logs for more details. Disable Python buffering, i.e. `python -u`, to be sure to see all the previous output. absl::Status: UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats):
2
The tasks have crashed. Check the task logs for an earlier error, or scheduler events (e.g. preemption, eviction) to debug further.

RPC: /xla.coordination.CoordinationService/PollForError [type.googleapis.com/tensorflow.CoordinationServiceError='']
"""

JAX_0_10_START = """\
INFO:jax._src.distributed:Starting JAX distributed service on [::]:12399
INFO:jax._src.distributed:Connecting to JAX distributed service on 127.0.0.1:12399
F1130 22:30:02.889763   29962 client.h:80] Terminating process because the JAX distributed service detected fatal errors. This most likely indicates that another task died; see the other task logs for more details. Disable Python buffering, i.e. `python -u`, to be sure to see all the previous output. absl::Status: DEADLINE_EXCEEDED: Deadline Exceeded

RPC: /xla.coordination.CoordinationService/RegisterTask
"""


def test_jax_0_10_writes_bare_numbers() -> None:
    facts = list(jax_distributed.parse(Document("out.log", JAX_0_10_BARRIER)))
    assert ranks(facts, "jax.missing_task") == ["2"]
    assert values(facts, "jax.barrier_reached") == ["2 of 3"]
    assert values(facts, "jax.barrier_at_start") == [False]
    assert ranks(jax_distributed.parse(Document("out.log", JAX_0_10_DEATH)), "jax.dead_task") == ["2"]
    assert values(jax_distributed.parse(Document("out.log", JAX_0_10_START)), "jax.barrier_at_start") == [True]


def test_jax_heartbeat() -> None:
    facts = list(jax_distributed.parse(Document("out.log", JAX_HEARTBEAT)))
    assert ranks(facts, "jax.dead_task") == ["3"]
    assert next(f for f in facts if f.key == "jax.dead_task").count == 2


def test_xla_rendezvous_in_old_and_new_form() -> None:
    facts = list(jax_distributed.parse(Document("out.log", XLA)))
    assert values(facts, "xla.stuck_at") == ["clique", "first-call", "collective"]
    assert ranks(facts, "xla.stuck_at") == ["6"]
    assert values(facts, "xla.arrived") == ["fewer of 8", "fewer of 2", "1 of 2"]
    assert 16 in values(facts, "xla.clique_size")
    assert values(facts, "xla.gave_up_s") == [40.0]


TF = """\
INFO:tensorflow:Enabled multi-worker collective ops with available devices: ['/job:worker/replica:0/task:1/device:CPU:0']
INFO:tensorflow:Waiting for the cluster, timeout = inf
2023-05-04 10:20:30.123456: I tensorflow/core/distributed_runtime/rpc/grpc_server_lib.cc:450] Started server with target: grpc://10.0.0.2:12345
INFO:tensorflow:MultiWorkerMirroredStrategy with cluster_spec = {'worker': ['10.0.0.1:12345', '10.0.0.2:12345']}, task_type = 'worker', task_id = 1, num_workers = 2, local_devices = ('/job:worker/replica:0/task:1/device:GPU:0',), communication = CommunicationImplementation.NCCL
2023-05-04 10:29:12.1: E tensorflow/core/common_runtime/base_collective_executor.cc:249] BaseCollectiveExecutor::StartAbort UNAVAILABLE: failed to connect to all addresses
tensorflow.python.framework.errors_impl.FailedPreconditionError: Collective ops is aborted by: Device /job:worker/replica:0/task:0/device:GPU:0 current incarnation doesn't match with one in the group. This usually means this worker has restarted but the collective leader hasn't, or this worker connects to a wrong cluster.
"""


def test_tensorflow_workers() -> None:
    facts = list(tensorflow_distributed.parse(Document("worker1.log", TF)))
    assert values(facts, "launch.nnodes") == [2]
    assert values(facts, "launch.node_rank") == ["1"]
    assert values(facts, "tf.communication") == ["NCCL"]
    assert values(facts, "tf.abort") == ["UNAVAILABLE"]
    assert ranks(facts, "tf.task_restarted") == ["0"]
    assert values(facts, "tf.server") == ["10.0.0.2:12345"]
    assert values(facts, "tf.cluster_incomplete") == [True]


def test_tensorflow_shapes_and_sessions() -> None:
    text = (
        "2021-03-01 10:00:00.1: E tensorflow/core/common_runtime/ring_alg.cc:290] Aborting RingReduce with Invalid argument: "
        "Shape mismatch in the collective instance 100. Op at device /job:worker/replica:0/task:1/device:CPU:0 expected shape [3] "
        "but another member in the group expected shape [1]. This is likely due to different input shapes.\n"
        "2018-06-01 10:00:10.2: I tensorflow/core/distributed_runtime/master.cc:267] CreateSession still waiting for response from "
        "worker: /job:worker/replica:0/task:2\n"
    )
    facts = list(tensorflow_distributed.parse(Document("tf.log", text)))
    assert values(facts, "tf.shapes_differ") == ["[3] and [1]"]
    assert ranks(facts, "tf.task_awaited") == ["2"]


RAY_STATUS = """\
======== Autoscaler status: 2023-04-04 19:21:25.239417 ========
GCS request time: 0.000927s
Node Provider non_terminated_nodes time: 0.066487s

Node status
---------------------------------------------------------------
Healthy:
 1 ray.head.default
 2 ray.worker.default
Pending:
 m4.4xlarge, 2 launching
Recent failures:
 p3.2xlarge: RayletUnexpectedlyDied (ip: 10.0.2.228)

Resources
---------------------------------------------------------------
Total Usage:
 0.0/48.0 CPU
 8.0/16.0 GPU
 0B/15.10GiB memory
 1.87GiB/6.06GiB object_store_memory

Total Demands:
 {'CPU': 1.0, 'GPU': 1.0} * 16 (PACK): 1+ pending placement groups

Node: 10.0.3.87 (ray.head.default)
 Usage:
  0.0/2.0 CPU
  1.0/1.0 GPU
"""

RAY_LOG = """\
2022-09-02 12:53:00,741 WARNING worker.py:1829 -- The node with node id: 5ad7fa5dd64fc1fec7a82cceecabed8e5eb247ec97064bb50a1c2a11 and address: 10.78.248.21 and node name: 10.78.248.21 has been marked dead because the detector has missed too many heartbeats from it. This can happen when a    (1) raylet crashes unexpectedly (OOM, preempted node, etc.)
ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.
Memory on the node (IP: 10.0.62.231, ID: e5d953ef03e55e26f13973ea1b5a0fd0ecc729cd820bc89e4aa50451) where the task (task ID: 43534ce9375fa8e4cd0d0ec285d9974a6a95897401000000, name=allocate_memory, pid=11362, memory used=1.25GB) was running was 27.71GB / 28.80GB (0.962273), which exceeds the memory usage threshold of 0.95. Ray killed this worker
(RayTrainWorker pid=1411, ip=10.0.2.21) 2023-09-01 10:00:00,000 INFO config.py:86 -- Setting up process group for: env:// [rank=3, world_size=8]
(autoscaler +1m5s) Error: No available node types can fulfill resource request {'GPU': 16.0}. Add suitable node types to this cluster to resolve this issue.
Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file.
[2025-01-01 10:00:00,000 E 1 1] (raylet) file_system_monitor.cc:116: /tmp/ray/session_2025 is over 95% full, available space: 21.7 GB; capacity: 491.586 GB.
"""


def test_ray_status() -> None:
    facts = list(ray_cluster.parse(Document("ray_status.txt", RAY_STATUS)))
    assert values(facts, "ray.gpus_total") == [16.0]
    assert values(facts, "ray.gpus_used") == [8.0]
    assert [(f.subject.name, f.value) for f in facts if f.key == "ray.node_failed"] == [
        ("10.0.2.228", "RayletUnexpectedlyDied")
    ]
    assert values(facts, "ray.pending") == ["{'CPU': 1.0, 'GPU': 1.0} * 16 (PACK): pending placement groups"]
    assert values(facts, "launcher") == ["ray"]


#: Captured from Ray 2.60.0.
RAY_STATUS_2_60 = """\
======== Autoscaler status: 2026-11-30 22:30:14.004554 ========
Node status
---------------------------------------------------------------
Active:
 1 node_d3a12a2d34901b47dff317ac6a88c531d6af101b8c59ca7c9832df7f
Pending:
 (no pending nodes)
Recent failures:
 (no failures)

Resources
---------------------------------------------------------------
Total Usage:
 0.0/1.0 CPU
 0.0/2.0 GPU
 0B/16.14GiB memory
 0B/6.92GiB object_store_memory

From request_resources:
 (none)
Pending Demands:
 (no resource demands)
"""


def test_ray_status_of_the_newer_autoscaler() -> None:
    facts = list(ray_cluster.parse(Document("ray_status.txt", RAY_STATUS_2_60)))
    assert values(facts, "ray.gpus_total") == [2.0]
    assert values(facts, "ray.gpus_used") == [0.0]
    assert not values(facts, "ray.pending") and not values(facts, "ray.node_failed")


def test_ray_messages_name_the_node() -> None:
    facts = list(ray_cluster.parse(Document("driver.log", RAY_LOG)))
    assert [f.subject.name for f in facts if f.key == "ray.node_dead"] == ["10.78.248.21"]
    assert [(f.subject.name, f.value) for f in facts if f.key == "ray.memory_killed"] == [
        ("10.0.62.231", "27.71 of 28.80 GB")
    ]
    assert [(f.subject.name, f.value) for f in facts if f.key == "ray.rank_on"] == [("3", "10.0.2.21")]
    assert values(facts, "ray.unschedulable") == ["{'GPU': 16.0}"]
    assert values(facts, "ray.exit_type") == ["SYSTEM_ERROR"]
    assert values(facts, "disk.full") == ["/tmp/ray/session_2025"]
    assert "OutOfMemoryError" in values(facts, "ray.error")


def test_ray_memory_message_of_newer_versions() -> None:
    text = (
        "ray.exceptions.OutOfMemoryError: 1 worker(s) were killed due to the node running low on memory.\n"
        "Memory on the node (IP: 10.83.10.20) was 957.55GB / 1006.84GB (0.951040), which exceeds the memory usage threshold of 0.950000\n"
    )
    facts = list(ray_cluster.parse(Document("driver.log", text)))
    assert [(f.subject.name, f.value) for f in facts if f.key == "ray.memory_killed"] == [
        ("10.83.10.20", "957.55 of 1006.84 GB")
    ]
