"""What the pods of a Kubernetes manifest get that use GPUs, how many run the program, and where in the manifest it says so."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from assistant.facts import Value

Found = Iterator[tuple[str, Value]]

_WRITTEN = {
    "launch.shm_size_gb": r"sizeLimit",
    "launch.gpu_request": r"/gpu\W*:",
    "launch.cpu_limit": r"\bcpu\b\W*:",
    "launch.memory_limit_gb": r"\bmemory\b\W*:",
    "launch.host_network": r"hostNetwork",
    "launch.host_ipc": r"hostIPC",
    "launch.shm_volume": r"/dev/shm",
    "launch.mpi_slots": r"slotsPerWorker",
    "launch.nproc": r"nprocPerNode|numProcPerNode",
    "launch.pods": r"\b(?:replicas|completions|parallelism|numNodes|size)\W*:",
    "launch.sidecar": r"(?:istio\.io|linkerd\.io)/inject",
    "launch.memlock_lifted": r"IPC_LOCK|privileged",
    "launch.container_shm": r"/gpu\W*:",
}


def line_of(lines: Sequence[str], key: str, value: Value) -> int:
    """Index of the line of a manifest that gives this fact; the first line where none is known."""
    pattern = re.escape(str(value).partition("=")[0]) if key == "launch.rdma_request" else _WRITTEN.get(key)
    if pattern is None:
        return 0
    search = re.compile(pattern).search
    return next((i for i, line in enumerate(lines) if search(line) and not line.lstrip().startswith("#")), 0)


def roles(data: dict[str, Any]) -> Found:
    """Pods that run the program, and what the manifest says about processes in each."""
    spec = data.get("spec")
    if not isinstance(spec, dict):
        return
    pods = _pods(str(data.get("kind")), spec)
    if pods:
        yield "launch.pods", pods
    slots = spec.get("slotsPerWorker")
    if isinstance(slots, int):
        yield "launch.mpi_slots", slots
    each = str(spec.get("nprocPerNode", ""))
    if each.isdecimal():
        yield "launch.nproc", int(each)


def _pods(kind: str, spec: dict[str, Any]) -> int | None:
    if kind in ("PyTorchJob", "MPIJob", "TFJob"):
        replicas = next((v for k, v in spec.items() if k.endswith("ReplicaSpecs") and isinstance(v, dict)), {})
        workers = [v.get("replicas", 1) for k, v in replicas.items() if k != "Launcher" and isinstance(v, dict)]
        return sum(workers) if workers and all(isinstance(w, int) for w in workers) else None
    if kind == "Job":
        return _number(spec.get("completions"))
    if kind == "StatefulSet":
        return _number(spec.get("replicas"))
    if kind == "JobSet":
        jobs = spec.get("replicatedJobs")
        if isinstance(jobs, list) and len(jobs) == 1 and isinstance(jobs[0], dict):
            inner = (
                ((jobs[0].get("template") or {}).get("spec") or {}) if isinstance(jobs[0].get("template"), dict) else {}
            )
            each = _number(inner.get("completions")) or _number(inner.get("parallelism")) or 1
            return each * (_number(jobs[0].get("replicas")) or 1)
    return None


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def uses_gpus(pod: dict[str, Any]) -> bool:
    return any(_asks_gpu(c) for c in pod["containers"] if isinstance(c, dict))


def gpu_pod(pod: dict[str, Any]) -> Found:
    """Shared memory and rights of a pod that has GPUs."""
    if not uses_gpus(pod):
        return
    containers = [c for c in pod["containers"] if isinstance(c, dict)]
    yield "launch.container_gpus", True
    yield "launch.container_shm", _shm(pod, containers)
    rights = [c.get("securityContext") for c in containers]
    yield "launch.memlock_lifted", any(_may_lock(r) for r in rights if isinstance(r, dict))
    devices = [v.get("hostPath") for v in pod.get("volumes") or () if isinstance(v, dict)]
    yield (
        "launch.rdma_device",
        (
            any(isinstance(r, dict) and r.get("privileged") is True for r in rights)
            or any(isinstance(d, dict) and "/dev/infiniband" in str(d.get("path")) for d in devices)
        ),
    )


def _asks_gpu(container: dict[str, Any]) -> bool:
    resources = container.get("resources")
    limits = (
        {**(resources.get("requests") or {}), **(resources.get("limits") or {})} if isinstance(resources, dict) else {}
    )
    return any(str(name).endswith("/gpu") or "/mig-" in str(name) for name in limits)


def _may_lock(rights: dict[str, Any]) -> bool:
    capabilities = rights.get("capabilities")
    added = capabilities.get("add") if isinstance(capabilities, dict) else ()
    return rights.get("privileged") is True or bool({"IPC_LOCK", "ALL", "CAP_IPC_LOCK"} & set(map(str, added or ())))


def _shm(pod: dict[str, Any], containers: list[dict[str, Any]]) -> str:
    """host, sized or none: where /dev/shm of the pod comes from."""
    if pod.get("hostIPC") is True:
        return "host"
    volumes = {v.get("name"): v for v in pod.get("volumes") or () if isinstance(v, dict)}
    for container in containers:
        for mount in container.get("volumeMounts") or ():
            if isinstance(mount, dict) and str(mount.get("mountPath", "")).rstrip("/") == "/dev/shm":
                return "host" if "hostPath" in (volumes.get(mount.get("name")) or {}) else "sized"
    return "none"
