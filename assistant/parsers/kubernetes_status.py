"""Kubernetes: pod lists, pod descriptions and events.

NAME             READY   STATUS      RESTARTS   AGE
trainer-worker-1 0/1     OOMKilled   2          5m
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
Warning  FailedScheduling  2m  default-scheduler  0/4 nodes are available: 4 Insufficient nvidia.com/gpu.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from assistant.facts import JOB, Fact, Subject
from assistant.intake.document import Document
from assistant.parsers._lines import lines_with

NAME = "Kubernetes status"
TRIGGERS = ("OOMKilled", "Evicted", "ImagePullBackOff", "ErrImagePull", "CrashLoopBackOff", "FailedScheduling", "nodes are available", "READY   STATUS", "RESTARTS",
            "Last State:", "BackOff", "ContainerCreating", "FailedMount", "Preempt", "NodeNotReady", "TaintManagerEviction", "containerStatuses")  # fmt: skip
VERSIONS = "kubectl 1.10 to 1.34: get pods, describe pod, events"

_STATUS = (
    "Running|Pending|Completed|Succeeded|Failed|Error|Unknown|Terminating|OOMKilled|Evicted|CrashLoopBackOff|ImagePullBackOff|ErrImagePull|ContainerCreating|"
    r"CreateContainerConfigError|CreateContainerError|RunContainerError|NodeLost|NodeAffinity|Preempted|Init:\S+|ContainerStatusUnknown|UnexpectedAdmissionError"
)

#: Of these one stands in every line that is read.
_HINTS = (
    *(status for status in _STATUS.replace(r"\S+", "").split("|")),
    "Name:", "eason", "Exit Code:", "exitCode:", "Warning", "Normal", "nodes are available",
)  # fmt: skip
_NAME = re.compile(r"^Name:\s+([a-z0-9][\w.-]+)\s*$")
_CODE = re.compile(r"^\s*(?:Exit Code|exitCode):\s+(\d+)\s*$")
_SHORT = re.compile(r"\d+/\d+ nodes are available: (.{5,200})")


@cache
def _row() -> re.Pattern[str]:
    return re.compile(
        rf"^\s*(?:\S+\s+)?(?P<pod>[a-z0-9](?:[\w.-]*[a-z0-9])?)\s+(?P<ready>\d+)/(?P<of>\d+)\s+(?P<status>{_STATUS})\s+(?P<restarts>\d+)"
    )


@cache
def _reason() -> re.Pattern[str]:
    return re.compile(rf"""^\s*["']?[Rr]eason["']?:\s*["']?(?P<status>{_STATUS})\b""")


@cache
def _event() -> re.Pattern[str]:
    return re.compile(
        r"^\s*(?:\S+\s+)?(?:Warning|Normal)\s+(?P<status>FailedScheduling|Evicted|OOMKilling|Preempted|Preempting|NodeNotReady|TaintManagerEviction|FailedMount|"
        r"FailedAttachVolume|FailedCreatePodSandBox|UnexpectedAdmissionError|Failed|BackOff|NodeLost)\b"
    )


def parse(document: Document) -> Iterable[Fact]:
    facts: list[Fact] = []
    pod: str | None = None
    seen: set[tuple[str, str]] = set()

    def say(key: str, value: str | int, index: int, name: str | None) -> None:
        if (key, f"{name} {value}") not in seen:
            seen.add((key, f"{name} {value}"))
            facts.append(Fact(key, value, document.origin(index, "tool"), Subject("host", name) if name else JOB))

    for index in lines_with(document, _HINTS):
        message = document.messages[index]
        named = _NAME.match(message) if message.startswith("Name:") else None
        if named:
            pod = named[1]
        row = _row().match(message)
        if row:
            say("pod.status", row["status"], index, row["pod"])
            continue
        reason = _reason().match(message)
        if reason:
            say("pod.status", reason["status"], index, pod)
        code = _CODE.match(message)
        if code and pod:
            number = int(code[1])
            say("exit_code", 128 - number if 128 < number < 160 else number, index, pod)
        event = _event().match(message)
        if event:
            say("pod.status", event["status"], index, pod)
        short = _SHORT.search(message) if "nodes are available" in message else None
        if short:
            say("pod.pending_why", short[1], index, pod)
    rows = [f for f in facts if f.key == "pod.status" and f.subject.kind == "host"]
    if len(rows) > 1 and all(f.value in ("Completed", "Succeeded") for f in rows):
        facts.append(Fact("run.succeeded", True, rows[0].origin))
    if facts:
        facts.append(Fact("scheduler", "kubernetes", facts[0].origin))
    return facts
