r"""TensorFlow over several workers: MultiWorkerMirroredStrategy, its gRPC servers, aborted collectives and health checks.

INFO:tensorflow:MultiWorkerMirroredStrategy with cluster_spec = {'worker': ['10.0.0.1:12345', '10.0.0.2:12345']}, task_type = 'worker',
task_id = 1, num_workers = 2, local_devices = ('/job:worker/task:1/device:GPU:0',), communication = CommunicationImplementation.NCCL
INFO:tensorflow:Waiting for the cluster, timeout = inf
E tensorflow/core/common_runtime/base_collective_executor.cc:249] BaseCollectiveExecutor::StartAbort UNAVAILABLE: failed to connect to all
addresses
Check health failed with error: UNAVAILABLE: ... /job:worker/replica:0/task:1 ...
CreateSession still waiting for response from worker: /job:worker/replica:0/task:1
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from assistant.facts import JOB, Fact
from assistant.intake.document import Document
from assistant.parsers._gather import Gather, rank_subject
from assistant.parsers._lines import lines_with

NAME = "TensorFlow distributed"
TRIGGERS = (
    "MultiWorkerMirroredStrategy with ",
    "Waiting for the cluster, timeout",
    "BaseCollectiveExecutor::StartAbort",
    "Collective ops is aborted by",
    "CreateSession still waiting for response",
    "Check health failed with error",
    "grpc_server_lib.cc",
    "Shape mismatch in the collective instance",
    "incarnation doesn't match",
)
VERSIONS = "TensorFlow 1.15 and 2.2 to 2.20: MultiWorkerMirroredStrategy, collective executor, gRPC server, sessions of TensorFlow 1"


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    task = r"/job:(?:worker|chief)/(?:replica:\d+/)?task:(?P<n>\d+)"
    return {
        "strategy": re.compile(
            r"MultiWorkerMirroredStrategy with .*?task_type = '(?P<type>\w+)', task_id = (?P<id>\d+), num_workers = (?P<n>\d+)"
            r"(?:.*?CommunicationImplementation\.(?P<backend>\w+))?"
        ),
        "abort": re.compile(
            r"(?:StartAbort|aborted by:|failed with error:) (?P<status>[A-Z][A-Z_]+|[A-Z][a-z]+(?: [a-z]+)?):"
        ),
        "task": re.compile(task),
        "waiting": re.compile(r"still waiting for response from worker: " + task),
        "incarnation": re.compile(task + r"\S* current incarnation doesn't match"),
        "down": re.compile(task + r"[^/]{0,40}(?:is down|heartbeat timeout|is unhealthy|has failed)"),
        "shapes": re.compile(
            r"Shape mismatch in the collective instance \d+\. Op at device \S*?task:(?P<n>\d+)\S* expected shape (?P<a>\[[^\]]*\])"
            r".*?expected shape (?P<b>\[[^\]]*\])"
        ),
        "server": re.compile(r"Started server with target: grpc://(?P<at>\S+)"),
    }


_HINTS = (
    "MultiWorkerMirrored",
    "he cluster, timeout",
    "luster is ready",
    "StartAbort",
    "aborted by:",
    "still waiting for response",
    "failed with error",
    "Started server with target",
    "Shape mismatch in the coll",
    "incarnation doesn't",
)


def parse(document: Document) -> Iterable[Fact]:
    found = Gather(document)
    patterns = _patterns()
    waiting: int | None = None
    for index in lines_with(document, _HINTS):
        text = document.lines[index]
        strategy = patterns["strategy"].search(text)
        if strategy:
            found.add("launch.nnodes", int(strategy["n"]), index)
            found.add("launch.node_rank", strategy["id"], index)
            if strategy["backend"]:
                found.add("tf.communication", strategy["backend"], index)
        if "Waiting for the cluster, timeout" in text:
            waiting = index
        elif "luster is ready" in text:
            waiting = None
        abort = patterns["abort"].search(text)
        if abort:
            found.add("tf.abort", abort["status"].upper().replace(" ", "_"), index)
        for name, key in (
            ("waiting", "tf.task_awaited"),
            ("incarnation", "tf.task_restarted"),
            ("down", "tf.task_down"),
        ):
            named = patterns[name].search(text)
            if named:
                found.add(key, int(named["n"]), index, rank_subject(named["n"]))
        shapes = patterns["shapes"].search(text)
        if shapes:
            found.add("tf.shapes_differ", f"{shapes['a']} and {shapes['b']}", index, rank_subject(shapes["n"]))
        server = patterns["server"].search(text)
        if server:
            found.add("tf.server", server["at"], index)
    if waiting is not None:
        found.add("tf.cluster_incomplete", True, waiting)
    return [*found.facts, Fact("framework", "tensorflow", found.facts[0].origin, JOB)] if found else []
