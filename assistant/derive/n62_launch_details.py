"""More that is seen only when launch facts are put side by side: ids drawn on each node, ports that are held, pods that
are missing, settings that reach some hosts only, errors of one host."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from assistant.derive.n60_launch import _fact, _host, asked_nodes
from assistant.facts import CaseFile, Fact

_FIRST_POD = re.compile(r"-(?:master|chief|head|launcher)(?:-\w+)*$|^(?:master|chief|head)\b")
_WAITING = (
    "Pending",
    "ImagePullBackOff",
    "ErrImagePull",
    "ContainerCreating",
    "CreateContainerConfigError",
    "CrashLoopBackOff",
    "FailedScheduling",
)
_HOST_SETTINGS = (
    "env.NCCL_SOCKET_IFNAME",
    "env.NCCL_IB_HCA",
    "env.NCCL_IB_DISABLE",
    "env.NCCL_IB_GID_INDEX",
    "env.NCCL_P2P_DISABLE",
    "env.NCCL_NET",
    "env.NCCL_ALGO",
    "env.NCCL_PROTO",
    "env.NCCL_CROSS_NIC",
    "env.NCCL_NET_GDR_LEVEL",
)
_LOCAL_ERRORS = re.compile(
    r"^(?:ImportError|ModuleNotFoundError|AttributeError|TypeError|SyntaxError|NameError|HorovodVersionMismatchError)\b|undefined symbol"
)


def derive(case: CaseFile) -> Iterable[Fact]:
    nodes = asked_nodes(case)
    several = nodes is not None and nodes > 1
    facts = [
        *_ports(case),
        *_processes(case),
        *_pods(case),
        *_some_hosts(case),
        *_not_in_container(case),
        *_one_host(case),
    ]
    if several:
        facts += [*_ids(case), *_docker(case)]
    return facts


def _ids(case: CaseFile) -> Iterator[Fact]:
    """Ids that the launchers of one endpoint report differently, or that the command draws anew on each node."""
    endpoints = {str(f.value) for f in case.about("launch.rdzv_endpoint")}
    reported = {
        str(f.value): f for f in case.about("launch.rdzv_id") if f.origin.kind == "log" and str(f.value) != "none"
    }
    files = {f.origin.file for f in reported.values()}
    if len(reported) > 1 and len(files) > 1 and len(endpoints) == 1 and not case.about("launch.endpoint_differs"):
        yield _fact("launch.endpoint_differs", "run id", next(iter(reported.values())).origin)
    uses = case.best("launch.uses_srun")
    if uses is not None and uses.value is True:
        return
    for key in ("launch.rdzv_id", "launch.rdzv_endpoint", "launch.master_port"):
        for fact in case.about(key):
            found = re.search(
                r"\$\(?\(?\s*(?:RANDOM|date|uuidgen|shuf)|\$RANDOM|\$\$|`(?:date|uuidgen)", str(fact.value)
            )
            if found:
                yield _fact("launch.random_id", str(fact.value), fact.origin)
                return


def _docker(case: CaseFile) -> Iterator[Fact]:
    for key in ("launch.master_addr", "launch.rdzv_endpoint", "env.MASTER_ADDR", "store.waiting_for"):
        for fact in case.about(key):
            if re.match(r"172\.(?:17|18|19)\.0\.\d+$", _host(str(fact.value))):
                yield _fact("launch.docker_endpoint", str(fact.value), fact.origin)
                return


def _ports(case: CaseFile) -> Iterator[Fact]:
    listeners = {str(f.value).partition(" ")[0]: f for f in case.about("port.listener")}
    if not listeners:
        return
    keys = ("launch.master_port", "launch.rdzv_endpoint", "env.MASTER_PORT", "launch.master_addr", "store.waiting_for")
    wanted = {str(f.value).rsplit(":", 1)[-1] for key in keys for f in case.about(key)}
    for port in sorted(wanted & set(listeners)):
        yield _fact("launch.port_held", str(listeners[port].value), listeners[port].origin)
        return


def _processes(case: CaseFile) -> Iterator[Fact]:
    asked = max((f.value for f in case.about("launch.nproc") if isinstance(f.value, int)), default=0)
    alone = {f.value for f in case.about("launch.nnodes")} <= {1}
    total = (
        [f for f in case.about("launch.num_processes") if isinstance(f.value, int)]
        if alone and case.about("launch.nnodes")
        else []
    )
    asked = max([asked, *(int(f.value) for f in total)])
    there = [f.value for key in ("gpus_per_node", "gpu.count") for f in case.about(key) if isinstance(f.value, int)]
    if there and asked > max(there) > 0:
        yield _fact(
            "launch.too_many_processes", f"{asked}/{max(there)}", (case.about("launch.nproc") or total)[0].origin
        )


def _pods(case: CaseFile) -> Iterator[Fact]:
    status: dict[str, list[Fact]] = {}
    for fact in case.about("pod.status"):
        if fact.subject.kind == "host":
            status.setdefault(fact.subject.name, []).append(fact)
    running = [pod for pod, facts in status.items() if any(f.value == "Running" for f in facts)]
    for pod, facts in status.items():
        if running and pod not in running and _FIRST_POD.search(pod) and facts[0].value in _WAITING:
            yield _fact("launch.master_pod_missing", pod, facts[0].origin)
            return


def _some_hosts(case: CaseFile) -> Iterator[Fact]:
    """Variables that NCCL reports on some of the hosts whose start it logged, and on others not."""
    seen = {f.subject.name for f in case.about("nccl.bootstrap_ifname") if f.subject.kind == "host"}
    if len(seen) < 2:
        return
    for key in _HOST_SETTINGS:
        having = {f.subject.name: f for f in case.about(key) if f.subject.kind == "host" and f.origin.kind == "log"}
        if having and seen - set(having):
            yield _fact("launch.env_on_some_hosts", key[4:], next(iter(having.values())).origin)
            return


def _not_in_container(case: CaseFile) -> Iterator[Fact]:
    """Exports of a script whose `docker run` passes no variable into the container."""
    run = next((f for f in case.about("launch.kind") if f.value == "docker"), None)
    if run is None or case.about("launch.env_exported") or case.about("launch.env_not_exported"):
        return
    lines = {
        f.origin.line or 0
        for f in case.about("launch.kind")
        if f.value == "docker" and f.origin.file == run.origin.file
    }
    names = [
        f.key[4:]
        for f in case.facts
        if f.key.startswith(("env.NCCL_", "env.UCX_", "env.FI_", "env.GLOO_"))
        and f.origin.kind == "config"
        and f.origin.file == run.origin.file
        and (f.origin.line or 0) < min(lines)
    ]
    if names:
        yield _fact("launch.env_not_exported", ", ".join(dict.fromkeys(names)), run.origin)


def _one_host(case: CaseFile) -> Iterator[Fact]:
    raised = case.about("python.exception")
    local = [f for f in raised if _LOCAL_ERRORS.search(str(f.value))]
    hosts = {f.origin.host for f in local}
    if not local or None in hosts or len(hosts) != 1 or any(f.origin.host not in hosts for f in raised):
        return
    others = {o.host for hit in case.hits.values() for o in hit.samples if o.host} | {
        f.origin.host for f in case.facts if f.origin.host
    }
    others |= {h for f in case.about("log.hosts") for h in str(f.value).split(",")}
    name = next(iter(hosts))
    if others - hosts and name is not None:
        yield _fact("python.one_host", name, local[0].origin)
