"""Compose files: what the services that use GPUs get.

services:
  trainer:
    image: pytorch/pytorch:2.4.1-cuda12.1-cudnn9-runtime
    shm_size: "16gb"
    ulimits: {memlock: -1}
    deploy: {resources: {reservations: {devices: [{driver: nvidia, count: all, capabilities: [gpu]}]}}}
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from assistant.facts import Fact, Value
from assistant.intake.document import Document
from assistant.parsers._container_options import size_gb
from assistant.parsers._yaml import first_document

NAME = "compose file"
TRIGGERS = ("\nservices:\n", "services:\n  ")
VERSIONS = "Compose files of versions 2, 3 and without a version"

_LARGEST = 200_000


def parse(document: Document) -> Iterable[Fact]:
    lines = document.lines
    start = next((i for i, line in enumerate(lines) if line.rstrip() == "services:"), None)
    if start is None or len(document.text) > _LARGEST:
        return
    end = next(
        (i for i in range(start + 1, len(lines)) if re.match(r"\S", lines[i]) and lines[i][0] != "#"), len(lines)
    )
    data = first_document("\n".join(lines[start:end]))
    services = data.get("services") if isinstance(data, dict) else None
    for name, service in services.items() if isinstance(services, dict) else ():
        if not isinstance(service, dict) or not _uses_gpus(service):
            continue
        head = next((i for i in range(start, end) if lines[i].strip().rstrip(":") == str(name)), start)
        for key, option, value in _service(service):
            at = next((i for i in range(head, end) if lines[i].strip().startswith(option)), head) if option else head
            yield Fact(key, value, document.origin(at, "config"))


def _uses_gpus(service: dict[str, Any]) -> bool:
    return service.get("runtime") == "nvidia" or "gpus" in service or "gpu" in str(service.get("deploy", ""))


def _service(service: dict[str, Any]) -> Iterator[tuple[str, str, Value]]:
    """(fact, option that gives it, value)."""
    yield "container", "image", "docker"
    yield "launch.container_gpus", "", True
    shm = service.get("shm_size")
    mounted = "/dev/shm" in str(service.get("volumes", "")) + str(service.get("tmpfs", ""))
    if service.get("ipc") == "host" or mounted:
        yield "launch.container_shm", "ipc", "host"
        yield "launch.host_ipc", "ipc", True
    else:
        yield "launch.container_shm", "shm_size", "none" if shm is None else "sized"
    size = size_gb(str(shm)) if shm is not None else None
    if size is not None:
        yield "launch.shm_size_gb", "shm_size", size
    yield "launch.host_network", "network_mode", service.get("network_mode") == "host"
    privileged = service.get("privileged") is True
    devices = str(service.get("devices", "")) + str(service.get("volumes", ""))
    yield "launch.rdma_device", "devices", privileged or "/dev/infiniband" in devices
    lifted = privileged or "memlock" in str(service.get("ulimits", "")) or "IPC_LOCK" in str(service.get("cap_add", ""))
    yield "launch.memlock_lifted", "ulimits", lifted
    cpus = str(service.get("cpus", ""))
    if re.fullmatch(r"\d+(\.\d+)?", cpus):
        yield "launch.cpu_limit", "cpus", float(cpus)
