r"""Kubernetes objects and their tables: `kubectl get pods -o json|yaml|wide`, `get events`, `get nodes`, `describe node`.

LAST SEEN   TYPE      REASON             OBJECT                  MESSAGE
2m11s       Warning   NodeNotReady       pod/trainer-worker-3    Node is not ready

NAME       STATUS     ROLES    AGE    VERSION
gpu-b1     NotReady   <none>   201d   v1.28.6

Conditions:
  Type                 Status    LastHeartbeatTime   ...   Reason                 Message
  MemoryPressure       Unknown   Tue, 04 Jun 2024    ...   NodeStatusUnknown      Kubelet stopped posting node status.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from assistant.facts import JOB, Fact, Subject
from assistant.intake.document import Document
from assistant.parsers._gather import Gather, host_named
from assistant.parsers._yaml import documents as yaml_documents

NAME = "Kubernetes objects"
TRIGGERS = ("containerStatuses", "LAST SEEN", "NotReady", "Conditions:", "NOMINATED NODE", '"conditions"', "conditions:", "MemoryPressure")  # fmt: skip
VERSIONS = "kubectl 1.18 to 1.34: get and describe of pods, nodes and events, aligned, wide, JSON and YAML"

_LARGEST = 8_000_000
_BAD_IF_TRUE = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable", "GPUUnhealthy", "KernelDeadlock", "ReadonlyFilesystem")  # fmt: skip


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "event": re.compile(
            r"^(?:(?P<ns>[a-z0-9][\w-]*)\s+)?(?:\d[\w ()]*?|<\w+>)\s+(?:Normal|Warning)\s+(?P<reason>[A-Z]\w+)\s+(?P<kind>[a-zA-Z.]+)/(?P<name>[a-z0-9][\w.-]*)\s+(?P<text>.*)$"
        ),
        "node": re.compile(r"^(?P<name>[a-z0-9][\w.-]*)\s+(?P<status>(?:Not)?Ready\S*|Unknown\S*)\s+\S+\s+\d+\w+\s+v\d"),
        "condition": re.compile(r"^\s+(?P<type>[A-Z]\w+)\s+(?P<status>True|False|Unknown)\s+(?P<rest>.+)$"),
        "wide": re.compile(
            r"^(?:[a-z0-9][\w-]*\s+)?(?P<pod>[a-z0-9][\w.-]*)\s+\d+/\d+\s+\S+\s+(?P<restarts>\d+)(?: \([^)]*\))?\s+\w+\s+(?:[\da-f.:]+|<none>)\s+(?P<node>[a-z0-9][\w.-]*)\s+<"
        ),
        "named": re.compile(r"^Name:\s+(?P<name>[a-z0-9][\w.-]+)\s*$"),
        "exit": re.compile(r"^\s+Exit Code:\s+(?P<n>\d+)"),
        "restarts": re.compile(r"^\s+Restart Count:\s+(?P<n>\d+)"),
        "state": re.compile(r"^\s+(?P<which>State|Last State):\s+(?P<state>\w+)"),
        "on": re.compile(r"^Node:\s+(?P<node>[a-z0-9][\w.-]*)/"),
    }  # fmt: skip


def parse(document: Document) -> Iterable[Fact]:
    found = Gather(document, "tool")
    text = document.text
    if "containerStatuses" in text or '"conditions"' in text or "conditions:" in text:
        for item in _objects(text):
            _object(found, item)
    _lines(found, document)
    facts = found.facts
    return [*facts, Fact("scheduler", "kubernetes", facts[0].origin)] if facts else []


def _lines(found: Gather, document: Document) -> None:
    patterns = _patterns()
    named = node = ""
    section = False
    last = False
    for index, text in enumerate(document.messages):
        if not text:
            section = False
            continue
        if text[0] not in " \t":
            head = patterns["named"].match(text)
            if head:
                named, node, last = head["name"], "", False
                continue
            on = patterns["on"].match(text)
            if on:
                node = on["node"]
                found.add("pod.node", node, index, host_named(named) if named else JOB)
            section = text.startswith("Conditions:")
            if "Normal" in text or "Warning" in text:
                event = patterns["event"].match(text)
                if event:
                    _event(found, index, event)
            elif "<none>" in text and "/" in text and (wide := patterns["wide"].match(text)):
                found.add("pod.node", wide["node"], index, host_named(wide["pod"]))
                if int(wide["restarts"]):
                    found.add("pod.restarts", int(wide["restarts"]), index, host_named(wide["pod"]))
            elif "Ready" in text or "Unknown" in text:
                row = patterns["node"].match(text)
                if row and row["status"] != "Ready":
                    found.add("kubernetes.node_state", row["status"], index, host_named(row["name"]))
            continue
        state = patterns["state"].match(text)
        if state:
            last = state["which"] == "Last State"
        restarts = patterns["restarts"].match(text)
        if restarts and named and int(restarts["n"]):
            found.add("pod.restarts", int(restarts["n"]), index, host_named(named))
        ended = patterns["exit"].match(text)
        if ended and named and last and int(ended["n"]):
            found.add("pod.last_exit", int(ended["n"]), index, host_named(named))
        condition = patterns["condition"].match(text) if section else None
        if condition:
            _condition(found, index, named, condition["type"], condition["status"])


def _event(found: Gather, index: int, event: re.Match[str]) -> None:
    reason, kind = event["reason"], event["kind"].lower()
    if kind == "node" and reason not in ("NodeReady", "Starting", "RegisteredNode", "NodeHasSufficientMemory", "NodeHasSufficientPID", "NodeHasNoDiskPressure", "NodeAllocatableEnforced"):  # fmt: skip
        found.add("kubernetes.node_event", reason, index, host_named(event["name"]))
    elif kind == "pod" and reason not in ("Scheduled", "Pulling", "Pulled", "Created", "Started", "SuccessfulCreate"):
        found.add("pod.event", reason, index, host_named(event["name"]))


def _condition(found: Gather, index: int, name: str, kind: str, status: str) -> None:
    subject = host_named(name) if name else Subject()
    if (kind in _BAD_IF_TRUE and status == "True") or status == "Unknown":
        found.add("kubernetes.node_condition", f"{kind} {status}", index, subject)
    elif kind == "Ready" and status == "False":
        found.add("kubernetes.node_condition", "Ready False", index, subject)


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The objects of a list or of documents in JSON or YAML; nothing where the text is neither."""
    if len(text) > _LARGEST:
        return
    start = text.lstrip()[:1]
    try:
        if start in "{[":
            documents = [json.loads(text)]
        elif re.match(r"\s*(?:---\s*\n)?(?:apiVersion|items|kind):", text):
            documents = yaml_documents(text)
        else:
            return
    except (ValueError, RecursionError):
        return
    for item in documents:
        if isinstance(item, dict):
            items = item.get("items")
            yield from (i for i in (items if isinstance(items, list) else [item]) if isinstance(i, dict))


def _object(found: Gather, item: dict[str, Any]) -> None:
    metadata, status, spec = (_dict(item.get(k)) for k in ("metadata", "status", "spec"))
    name = str(metadata.get("name") or "")
    if not name:
        return
    index = max(found.document.text.count("\n", 0, max(found.document.text.find(name), 0)), 0)
    subject = host_named(name)
    if item.get("kind") == "Node" or "nodeInfo" in status:
        for condition in _list(status.get("conditions")):
            _condition(found, index, name, str(condition.get("type")), str(condition.get("status")))
        return
    statuses = [*_list(status.get("containerStatuses")), *_list(status.get("initContainerStatuses"))]
    if not statuses and "phase" not in status:
        return
    reason = status.get("reason") or status.get("phase")
    if reason in ("Failed", "Pending", "Evicted", "Unknown", "NodeLost", "Succeeded", "Running"):
        found.add("pod.status", str(reason), index, subject)
    if spec.get("nodeName"):
        found.add("pod.node", str(spec["nodeName"]), index, subject)
    for container in statuses:
        if isinstance(container.get("restartCount"), int) and container["restartCount"]:
            found.add("pod.restarts", container["restartCount"], index, subject)
        for which, key in (("state", "exit_code"), ("lastState", "pod.last_exit")):
            ended = _dict(_dict(container.get(which)).get("terminated"))
            code = ended.get("exitCode")
            if isinstance(code, int) and code:
                found.add(key, 128 - code if key == "exit_code" and 128 < code < 160 else code, index, subject)
            if ended.get("reason") and ended["reason"] != "Completed":
                found.add("pod.status", str(ended["reason"]), index, subject)
        waiting = _dict(_dict(container.get("state")).get("waiting")).get("reason")
        if waiting:
            found.add("pod.status", str(waiting), index, subject)
    for condition in _list(status.get("conditions")):
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False" and condition.get("message"):
            found.add("pod.pending_why", str(condition["message"])[:200], index, subject)
        if condition.get("type") == "DisruptionTarget" and condition.get("status") == "True":
            found.add("pod.event", str(condition.get("reason") or "DisruptionTarget"), index, subject)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[dict[str, Any]]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []
