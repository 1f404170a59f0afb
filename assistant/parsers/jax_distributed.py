r"""JAX over several processes: the coordination service (who joined, who is missing, who died) and XLA's own rendezvous of devices.

jaxlib.xla_extension.XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Id: [Init]Wait_for_all_tasks_to_register::0. This usually ...
# of tasks that reached the barrier: 6/8. The first task at the barrier: /job:jax_worker/replica:0/task:0. Some timed out task names:
/job:jax_worker/replica:0/task:3
/job:jax_worker/replica:0/task:3 heartbeat timeout. This indicates that the remote task has failed, got preempted, or crashed ...
E0218 03:50:19 rendezvous.cc:100] [id=1] This thread has been waiting for `acquire clique for rank 3; clique=devices=[4,5,6,7];
run_id=-1558191007` for 10 seconds and may be stuck. Expected 4 threads to join the rendezvous, but not all of them arrived on time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from assistant.facts import JOB, Fact
from assistant.intake.document import Document
from assistant.parsers._gather import Gather, rank_subject
from assistant.parsers._lines import lines_with

NAME = "JAX distributed"
TRIGGERS = (
    "/job:jax_worker/",
    "seconds and may be stuck",
    "JAX distributed service",
    "PjRT_Client_Connect",
    "Wait_for_all_tasks_to_register",
    "reached the barrier:",
    "GetKeyValue() timed out",
    "the rendezvous, but",
    "CoordinationService/RegisterTask",
    "imed out task names:",
    "(stopped sending heartbeats)",
)
VERSIONS = (
    "jaxlib 0.4.1 to 0.10: coordination service of TSL and XLA ('Barrier_id:' until 0.4.30, 'Id:' and counts since, bare numbers of tasks in 0.10), "
    "rendezvous.cc with and without [id=N]"
)

_HINTS = (
    "may be stuck",
    "Termination timeout",
    "is unstuck",
    "heartbeat timeout",
    "arrier timed out",
    "reached the barrier",
    "JAX distributed service",
    "GetKeyValue",
    "task names:",
    "stopped sending heartbeats",
    "CoordinationService/RegisterTask",
)
_TASKS_SHOWN = 4096


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "stuck": re.compile(
            r"has been waiting for (?:`(?P<what>[^`]*)` )?(?:for )?(?P<s>\d+) seconds and may be stuck"
        ),
        "ended": re.compile(r"Termination timeout (?:for `(?P<what>[^`]*)` )?of (?P<s>\d+(?:\.\d+)?) seconds exceeded"),
        "expected": re.compile(
            r"Expected (?P<n>\d+) threads to join the rendezvous, but (?:only (?P<m>\d+)|not all) of them arrived"
        ),
        "joined": re.compile(r"All (?P<n>\d+) threads joined the rendezvous"),
        "rank": re.compile(r"\bfor rank (?P<a>\d+)|\[rank=(?P<b>\d+)\]"),
        "devices": re.compile(r"devices=(?:\d+:)?\[(?P<ids>[\d,. ]+)\]"),
        "barrier": re.compile(r"Barrier timed out\. (?:Barrier_id|Id): (?P<id>\S+?)\.(?: |$|\\n)"),
        "reached": re.compile(r"# of tasks that reached the barrier: (?P<n>\d+)/(?P<all>\d+)"),
        "late": re.compile(r"[Tt]imed out task names:(?P<rest>.*)$"),
        "task": re.compile(r"(?:/job:jax_worker/(?:replica:\d+/)?task:|^\s*)(?P<n>\d+)\b(?!\S)"),
        "dead": re.compile(r"task:(?P<n>\d+) heartbeat timeout"),
        "unhealthy": re.compile(r"tasks are unhealthy \(stopped sending heartbeats\):(?P<rest>.*)$"),
        "key": re.compile(r"GetKeyValue\(\) timed out with key: (?P<key>\S+)"),
        "address": re.compile(r"Connecting to JAX distributed service on (?P<at>[\w.:\[\]-]+:\d+)"),
    }


def parse(document: Document) -> Iterable[Fact]:
    found = Gather(document)
    patterns = _patterns()
    for index in lines_with(document, _HINTS):
        text = document.lines[index]
        if "may be stuck" in text or "Termination timeout" in text:
            _rendezvous(found, index, text)
            continue
        named = patterns["barrier"].search(text)
        if named:
            found.add("jax.barrier", named["id"], index)
            found.add("jax.barrier_at_start", _at_start(named["id"]), index)
        if "CoordinationService/RegisterTask" in text:
            found.add("jax.barrier_at_start", True, index)
        reached = patterns["reached"].search(text)
        if reached:
            found.add("jax.barrier_reached", f"{reached['n']} of {reached['all']}", index)
            found.add("world_size", int(reached["all"]), index)
        late, sick, dead = (patterns[name].search(text) for name in ("late", "unhealthy", "dead"))
        if late:
            _tasks(found, "jax.missing_task", index, late["rest"])
        elif sick:
            _tasks(found, "jax.dead_task", index, sick["rest"])
        elif dead:
            found.add("jax.dead_task", int(dead["n"]), index, rank_subject(dead["n"]))
        key = patterns["key"].search(text)
        if key:
            found.add("jax.key_missing", key["key"].rstrip(".,"), index)
        address = patterns["address"].search(text)
        if address:
            found.add("launch.rdzv_endpoint", address["at"], index)
    if found:
        first = found.facts[0]
        return [*found.facts, Fact("framework", "jax", first.origin, JOB)]
    return []


def _tasks(found: Gather, key: str, index: int, rest: str) -> None:
    """The tasks of a list, on the line of its heading and on those that follow: names of jobs, or bare numbers."""
    task = _patterns()["task"]
    for named in task.finditer(rest):
        found.add(key, int(named["n"]), index, rank_subject(named["n"]))
    for after in range(index + 1, min(index + _TASKS_SHOWN, len(found.document.lines))):
        named_after = task.match(found.document.line(after).text)
        if named_after is None:
            return
        found.add(key, int(named_after["n"]), after, rank_subject(named_after["n"]))


def _at_start(barrier: str) -> bool:
    return "PjRT_Client_Connect" in barrier or "Wait_for_all_tasks_to_register" in barrier


def _rendezvous(found: Gather, index: int, text: str) -> None:
    """What the devices of one process wait for, which device says so and how many came."""
    patterns = _patterns()
    named = patterns["stuck"].search(text) or patterns["ended"].search(text)
    if named is None:
        return
    what = named["what"] or ""
    rank = patterns["rank"].search(what)
    subject = rank_subject(rank["a"] or rank["b"]) if rank else JOB
    lowered = what.lower()
    place = (
        "clique"
        if "clique" in lowered
        else "first-call"
        if "first call" in lowered
        else "collective"
        if "collective" in lowered or "rendezvouskey" in lowered
        else "other"
    )
    found.add("xla.stuck_at", place, index, subject)
    devices = patterns["devices"].search(what)
    if devices:
        found.add("xla.clique_size", len([d for d in re.split(r"[,. ]+", devices["ids"]) if d]), index)
    expected, joined = patterns["expected"].search(text), patterns["joined"].search(text)
    if expected:
        found.add("xla.arrived", f"{expected['m'] or 'fewer'} of {expected['n']}", index)
    elif joined:
        found.add("xla.arrived", f"{joined['n']} of {joined['n']}", index)
    if "Termination timeout" in text:
        found.add("xla.gave_up_s", float(named["s"]), index)
