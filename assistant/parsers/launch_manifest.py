"""Kubernetes manifests: PyTorchJob, MPIJob, RayCluster, Job, Pod and what their containers get.

kind: PyTorchJob
spec:
  pytorchReplicaSpecs:
    Master: {replicas: 1, template: {spec: {containers: [{resources: {limits: {nvidia.com/gpu: 8}}}]}}}
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from assistant.facts import Fact, Value
from assistant.intake.document import Document
from assistant.parsers._manifest_pods import gpu_pod, line_of, roles, uses_gpus
from assistant.parsers._yaml import first_document

NAME = "Kubernetes manifest"
TRIGGERS = ("apiVersion:",)
VERSIONS = (
    "Kubernetes manifests (v1 pods, Kubeflow PyTorchJob and MPIJob v1 and v2beta1, JobSet, Volcano), "
    "docker compose and run"
)


#: What of the pods counts that use GPUs, where any does: the share of a launcher or head is small by design.
_RESOURCES = ("launch.cpu_limit", "launch.memory_limit_gb")


def parse(document: Document) -> Iterable[Fact]:
    facts: list[Fact] = []
    for first, text in _parts(document):
        lines = text.split("\n")
        for key, value in _read(text):
            facts.append(Fact(key, value, document.origin(first + line_of(lines, key, value), "config")))
    return facts


def _parts(document: Document) -> Iterator[tuple[int, str]]:
    """(index of its first line, text) of each YAML document that begins with apiVersion or kind."""
    lines, start = document.messages, None
    for index, line in enumerate(lines):
        if re.match(r"(?:apiVersion|kind):", line) and start is None:
            start = index
        elif (
            start is not None
            and (line.startswith("---") or re.match(r"[$#>] ?\S*\s", line))
            and not line.startswith("# ")
        ):
            yield start, "\n".join(lines[start:index])
            start = None
    if start is not None:
        yield start, "\n".join(lines[start:])


def _read(text: str) -> list[tuple[str, Value]]:
    if len(text) > 400_000:
        return []
    data = first_document(text)
    found: list[tuple[str, Value]] = []
    if not isinstance(data, dict) or "kind" not in data:
        return _by_lines(text)
    found.append(("scheduler", "kubernetes"))
    found.append(("container", "kubernetes-pod"))
    if any(_injected(node) for node in _walk(data)):
        found.append(("launch.sidecar", True))
    replicas, pods = _replicas(data), list(_pod_specs(data))
    if replicas:
        found.append(("launch.replicas", replicas))
    found += roles(data)
    using = [pod for pod in pods if uses_gpus(pod)]
    for pod in pods:
        found += (f for f in _pod(pod) if not using or pod in using or f[0] not in _RESOURCES)
        found += gpu_pod(pod)
    found += _one_role(data)
    return list(dict.fromkeys(found))


def _by_lines(text: str) -> list[tuple[str, Value]]:
    """What can be told of a manifest that does not parse (cut, or with templates in it)."""
    found: list[tuple[str, Value]] = []
    if re.search(
        r"^kind:\s*(?:Pod|Job|PyTorchJob|MPIJob|StatefulSet|Deployment|RayCluster|RayJob|LeaderWorkerSet|TrainJob|JobSet)\b",
        text,
        re.MULTILINE,
    ):
        found += [("scheduler", "kubernetes"), ("container", "kubernetes-pod")]
        found.append(("launch.host_network", bool(re.search(r"hostNetwork:\s*true", text))))
        if "/dev/shm" in text:
            found.append(("launch.shm_volume", True))
        elif "nvidia.com/gpu" in text and not re.search(r"hostIPC:\s*true", text):
            found.append(("launch.container_shm", "none"))
    return found


def _one_role(data: dict[str, Any]) -> Iterator[tuple[str, Value]]:
    """Variables that only one of the roles of a job gets. An MPI launcher hands its own on, so it is left out."""
    for node in _walk(data):
        roles = next((v for k, v in node.items() if str(k).endswith("ReplicaSpecs") and isinstance(v, dict)), None)
        if roles is None and "headGroupSpec" in node and node.get("workerGroupSpecs"):
            roles = {"head": node["headGroupSpec"], "worker": node["workerGroupSpecs"]}
        if roles is None or "Launcher" in roles or len(roles) < 2:
            continue
        given: dict[str, set[str]] = {
            role: {n for n in _names(spec) if re.match(r"NCCL_|GLOO_|UCX_|FI_|LD_LIBRARY_PATH|HF_|TORCH_NCCL", n)}
            for role, spec in roles.items()
        }
        everywhere = set.intersection(*list(given.values()))
        missing = sorted(set.union(*list(given.values())) - everywhere)
        if missing:
            yield "launch.env_one_role", ", ".join(missing)


def _injected(node: dict[str, Any]) -> bool:
    """A service mesh puts its proxy beside the containers."""
    wanted = {"sidecar.istio.io/inject": "true", "linkerd.io/inject": "enabled", "istio-injection": "enabled"}
    return any(str(node.get(name)).lower() == value for name, value in wanted.items())


def _names(node: Any) -> Iterator[str]:
    for part in _walk(node):
        env = part.get("env")
        for entry in env if isinstance(env, list) else ():
            if isinstance(entry, dict) and isinstance(entry.get("name"), str):
                yield entry["name"]
        if part.get("envFrom"):
            yield "envFrom"


def _walk(node: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    if depth > 40:
        return
    if isinstance(node, dict):
        yield node
        for child in node.values():
            yield from _walk(child, depth + 1)
    elif isinstance(node, list):
        for child in node:
            yield from _walk(child, depth + 1)


def _replicas(data: dict[str, Any]) -> int:
    counts = [
        n.get(k)
        for n in _walk(data)
        for k in ("replicas", "numNodes", "completions", "size")
        if isinstance(n.get(k), int)
    ]
    return sum(c for c in counts if isinstance(c, int) and c > 0)


def _pod_specs(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for node in _walk(data):
        if isinstance(node.get("containers"), list):
            yield node


def _pod(pod: dict[str, Any]) -> Iterator[tuple[str, Value]]:
    yield "launch.host_network", pod.get("hostNetwork") is True
    if pod.get("hostIPC") is True:
        yield "launch.host_ipc", True
    volumes = {v.get("name"): v for v in pod.get("volumes") or () if isinstance(v, dict)}
    shm = False
    for container in pod["containers"]:
        if not isinstance(container, dict):
            continue
        for mount in container.get("volumeMounts") or ():
            if isinstance(mount, dict) and str(mount.get("mountPath", "")).rstrip("/") == "/dev/shm":
                shm = True
                empty = (volumes.get(mount.get("name")) or {}).get("emptyDir")
                size = quantity_gb(str((empty or {}).get("sizeLimit", ""))) if isinstance(empty, dict) else None
                if size is not None:
                    yield "launch.shm_size_gb", size
        limits = (container.get("resources") or {}).get("limits") or {}
        yield from _limits(limits if isinstance(limits, dict) else {})
    yield "launch.shm_volume", shm


def _limits(limits: dict[str, Any]) -> Iterator[tuple[str, Value]]:
    for name, value in limits.items():
        text = str(value)
        if name == "cpu":
            cpu = (
                float(text[:-1]) / 1000
                if re.fullmatch(r"\d+m", text)
                else (float(text) if re.fullmatch(r"\d+(\.\d+)?", text) else None)
            )
            if cpu:
                yield "launch.cpu_limit", cpu
        elif name == "memory":
            size = quantity_gb(text)
            if size:
                yield "launch.memory_limit_gb", size
        elif str(name).endswith("/gpu") and text.isdecimal():
            yield "launch.gpu_request", int(text)
        elif re.search(r"rdma|efa|hca|sriov|roce", str(name)):
            yield "launch.rdma_request", f"{name}={text}"


def quantity_gb(text: str) -> float | None:
    """A Kubernetes quantity in GB: 64Gi, 500M, 1e9."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(Ki|Mi|Gi|Ti|k|M|G|T)?", text.strip())
    if not found:
        return None
    scale = {
        "Ki": 1024e-9,
        "Mi": 1024**2 / 1e9,
        "Gi": 1024**3 / 1e9,
        "Ti": 1024**4 / 1e9,
        "k": 1e-6,
        "M": 1e-3,
        "G": 1.0,
        "T": 1e3,
    }
    return round(float(found[1]) * scale.get(found[2] or "", 1e-9), 4)
