"""Options of docker and podman that decide what a job has in its container."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assistant.facts import Value
from assistant.parsers._shell import Options, resolve


def size_gb(text: str) -> float | None:
    """A size as docker writes it (64m, 16gb, 1073741824) in GB."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", text.strip().lower())
    if not found:
        return None
    return float(found[1]) * {"": 1e-9, "k": 1e-6, "m": 1e-3, "g": 1.0, "t": 1e3}[found[2]]


def docker(given: Options, known: dict[str, str]) -> Iterator[tuple[str, Value | None]]:
    """Facts of `docker run` or `podman run`."""
    yield "container", "docker"
    if any(name in given for name in ("e", "env", "env_file")):
        yield "launch.env_exported", True
    shm = given.first("shm_size")
    size = size_gb(resolve(shm, known)) if shm else None
    mounted = any(":/dev/shm" in text or "dst=/dev/shm" in text or "target=/dev/shm" in text for text in _texts(given))
    if shm or mounted:
        yield "launch.shm_size_gb", size
        yield "launch.shm_volume", True
    shared = given.first("ipc") == "host" or mounted
    yield "launch.host_ipc", shared or shm is not None
    yield "launch.container_shm", "host" if shared else "none" if shm is None else "sized"
    yield "launch.host_network", (given.first("network", "net") or "bridge") == "host"
    yield "launch.container_gpus", "gpus" in given or any("nvidia" in t for t in _texts(given)) or None
    privileged = "privileged" in given
    yield "launch.rdma_device", privileged or any("/dev/infiniband" in text or text == "/dev" for text in _texts(given))
    caps = " ".join(given.named.get("cap_add", ()))
    limits = " ".join(given.named.get("ulimit", ()))
    yield "launch.memlock_lifted", privileged or bool(re.search(r"IPC_LOCK|ALL", caps)) or "memlock" in limits
    cpus = given.first("cpus")
    yield "launch.cpu_limit", float(cpus) if cpus and re.fullmatch(r"\d+(\.\d+)?", cpus) else None
    yield "launch.memory_limit_gb", size_gb(given.first("memory", "m") or "")


def _texts(given: Options) -> list[str]:
    """Values of the options that pass devices, mounts and runtimes."""
    names = ("device", "v", "volume", "mount", "tmpfs", "runtime")
    return [text for name in names for text in given.named.get(name, ())]
