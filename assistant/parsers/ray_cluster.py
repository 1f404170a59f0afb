r"""Ray: `ray status`, messages of raylet and autoscaler, deaths of workers and nodes, its memory monitor.

======== Autoscaler status: 2023-04-04 19:21:25.239417 ========
Recent failures:
 p3.2xlarge: RayletUnexpectedlyDied (ip: 10.0.2.228)
Total Usage:
 8.0/16.0 GPU
Total Demands:
 {'CPU': 1.0, 'GPU': 1.0} * 16 (PACK): 1+ pending placement groups

WARNING worker.py:1829 -- The node with node id: 5ad7fa and address: 10.0.2.21 and node name: 10.0.2.21 has been marked dead because the
detector has missed too many heartbeats from it.
Memory on the node (IP: 10.0.62.231, ID: e5d953) where the task (task ID: 43534c, name=train, pid=11362, memory used=1.25GB) was running was
27.71GB / 28.80GB (0.962273), which exceeds the memory usage threshold of 0.95.
(RayTrainWorker pid=1411, ip=10.0.2.21) Setting up process group for: env:// [rank=3, world_size=8]
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from assistant.facts import JOB, Fact, Subject
from assistant.intake.document import Document
from assistant.parsers._gather import Gather, host_named, rank_subject
from assistant.parsers._lines import lines_with

NAME = "Ray"
TRIGGERS = (
    "Autoscaler status:",
    "raylet",
    "(autoscaler ",
    "RayTrainWorker",
    "ray.exceptions.",
    "RayActorError",
    "Ray runtime started",
    "the memory usage threshold of",
    "insufficient resources per node",
)
VERSIONS = (
    "Ray 1.13 to 2.60: `ray status` with and without -v, messages of worker.py, raylet, autoscaler v1 and v2, Ray Train"
)

_HINTS = (
    *(f"{digit} GPU" for digit in range(10)),
    "Usage:",
    "Autoscaler status",
    "(ip: ",
    "marked dead",
    "memory usage threshold",
    "+ pending",
    ": 1 pending",
    "cannot be scheduled",
    "No available node types",
    "insufficient resources",
    "Error",
    "exit type",
    "exit_type",
    "process group for",
    "is over 95% full",
)


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "dead": re.compile(
            r"node with node id: \w+ and (?:address: (?P<ip>[\w.:-]+)(?: and node name: (?P<name>[\w.:-]+))?|ip: (?P<ip2>[\w.:-]+)).{0,20}marked dead"
        ),
        "failed": re.compile(r"^\s*\S+: (?P<why>[A-Z]\w+) \(ip: (?P<ip>[\w.:-]+)\)"),
        "memory": re.compile(
            r"Memory on the node \(IP: (?P<ip>[\w.:-]+)(?:, ID: \w+)?\)[^\n]{0,400}? was (?P<used>\d+(?:\.\d+)?)GB / (?P<all>\d+(?:\.\d+)?)GB"
        ),
        "usage": re.compile(r"^\s*(?P<used>\d+(?:\.\d+)?)/(?P<all>\d+(?:\.\d+)?) GPU\b"),
        "demand": re.compile(
            r"^\s*(?P<what>\{[^}]*\}(?: \* \d+ \(\w+\))?): (?P<n>\d+)\+? (?P<kind>pending (?:tasks/actors|placement groups))"
        ),
        "unschedulable": re.compile(
            r"following resource request cannot be scheduled right now: (?P<a>\{[^}]*\})|No available node types can fulfill resource requests? (?P<b>[\[{].{0,200}?[}\]])"
        ),
        "exit": re.compile(r"[Ww]orker exit type: (?P<a>[A-Z_]+)|exit_type ?= ?(?P<b>[A-Z_]+)"),
        "actor": re.compile(r"(?:ray\.exceptions\.)?(?P<kind>RayActorError|ActorDiedError|WorkerCrashedError|NodeDiedError|LocalRayletDiedError|OutOfMemoryError|ObjectLostError)\b"),
        "rank": re.compile(r"process group for: \S+ \[rank=(?P<rank>\d+), world_size=(?P<world>\d+)\]"),
        "worker": re.compile(r"\((?P<who>[\w.]+) pid=(?P<pid>\d+)(?:, ip=(?P<ip>[\w.:-]+))?\)"),
        "disk": re.compile(r"(?P<path>(?<!\S)/\S{1,400}) is over 95% full"),
    }  # fmt: skip


def parse(document: Document) -> Iterable[Fact]:
    found = Gather(document)
    patterns = _patterns()
    in_total = True
    for index in lines_with(document, _HINTS):
        text = document.lines[index]
        if "Usage:" in text and "Total" not in text:
            in_total = False
        elif "Autoscaler status" in text:
            in_total = True
        dead = patterns["dead"].search(text)
        if dead:
            name = dead["name"] or dead["ip"] or dead["ip2"]
            found.add("ray.node_dead", name, index, host_named(name))
        failed = patterns["failed"].match(text)
        if failed:
            found.add("ray.node_failed", failed["why"], index, host_named(failed["ip"]))
        memory = patterns["memory"].search(text)
        if memory:
            found.add("ray.memory_killed", f"{memory['used']} of {memory['all']} GB", index, host_named(memory["ip"]))
        usage = patterns["usage"].match(text)
        if usage and in_total:
            found.add("ray.gpus_total", float(usage["all"]), index)
            found.add("ray.gpus_used", float(usage["used"]), index)
        demand = patterns["demand"].match(text)
        if demand:
            found.add("ray.pending", f"{demand['what']}: {demand['kind']}", index)
        want = patterns["unschedulable"].search(text)
        if want:
            found.add("ray.unschedulable", want["a"] or want["b"], index)
        ended = patterns["exit"].search(text)
        if ended:
            found.add("ray.exit_type", ended["a"] or ended["b"], index)
        actor = patterns["actor"].search(text)
        if actor:
            found.add("ray.error", actor["kind"], index, _worker(text))
        rank = patterns["rank"].search(text)
        if rank:
            found.add("world_size", int(rank["world"]), index)
            worker = patterns["worker"].search(text)
            if worker and worker["ip"]:
                found.add("ray.rank_on", worker["ip"], index, rank_subject(rank["rank"]), host=worker["ip"])
        disk = patterns["disk"].search(text)
        if disk:
            found.add("disk.full", disk["path"], index)
    return [*found.facts, Fact("launcher", "ray", found.facts[0].origin)] if found else []


def _worker(text: str) -> Subject:
    worker = _patterns()["worker"].search(text)
    return host_named(worker["ip"]) if worker and worker["ip"] else JOB
