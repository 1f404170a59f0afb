"""How the job was launched, seen together: what was asked for against what started, addresses and ports, versions between hosts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from assistant.derive._launches import Launches, Place
from assistant.facts import JOB, CaseFile, Fact, Origin, Subject, Value
from assistant.parsers._shell import integer

_LAUNCHERS = ("torchrun", "torch.distributed.launch", "accelerate", "colossalai")


def derive(case: CaseFile) -> Iterable[Fact]:
    facts = [
        *_world(case),
        *_endpoint(case),
        *_node_rank(case),
        *_commands_differ(case),
        *_ports(case),
        *_variables(case),
        *_tasks(case),
        *_versions(case),
    ]
    count = len({f.value for f in case.about("launch.command")})
    if count:
        facts.append(_fact("launch.count", count, case.about("launch.command")[0].origin))
    return facts


def _fact(key: str, value: Value, origin: Origin) -> Fact:
    return Fact(key, value, origin.derived())


def _ints(case: CaseFile, *keys: str) -> list[int]:
    return [
        f.value for key in keys for f in case.about(key) if isinstance(f.value, int) and not isinstance(f.value, bool)
    ]


def asked_nodes(case: CaseFile) -> int | None:
    """Nodes that the launch asks for, or that the user states."""
    found = _ints(case, "launch.nnodes", "launch.sbatch_nodes")
    return max(found) if found else max(_ints(case, "nodes"), default=None)


def _world(case: CaseFile) -> Iterator[Fact]:
    joined, waited = case.best("rdzv.joined"), case.best("rdzv.expected")
    if joined and waited and _below(joined.value, waited.value):
        yield _fact("launch.missing_ranks", f"{joined.value}/{waited.value}", joined.origin)
        return
    expected = max(_ints(case, "launch.world_size_config"), default=0)
    by_file: dict[str | None, Fact] = {}
    for fact in case.about("launch.world_size_started"):
        by_file[fact.origin.file] = fact
    started = sum(f.value for f in by_file.values() if isinstance(f.value, int))
    if by_file and 0 < started < expected:
        yield _fact("launch.missing_ranks", f"{started}/{expected}", next(iter(by_file.values())).origin)


def _below(a: Value, b: Value) -> bool:
    return isinstance(a, int) and isinstance(b, int) and a < b


def _host(endpoint: str) -> str:
    """The host of host:port, [v6]:port or tcp://host:port."""
    text = endpoint.removeprefix("tcp://")
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.rsplit(":", 1)[0] if text.count(":") == 1 else text


def kind_of_address(host: str) -> str:
    """loopback, variable, service, address or name."""
    if re.fullmatch(r"localhost(?:\.localdomain)?|127(?:\.\d+){1,3}|::1", host):
        return "loopback"
    if "$" in host:
        return "variable"
    if re.search(r"\.svc(?:\.|$)|-(?:svc|service)$|^(?:10\.(?:9[6-9]|10\d|11[01])\.|10\.43\.|172\.20\.)", host):
        return "service"
    return "address" if re.fullmatch(r"[\d.]+|[0-9a-f:]+", host) else "name"


def _endpoint(case: CaseFile) -> Iterator[Fact]:
    nodes = asked_nodes(case)
    several = nodes is not None and nodes > 1
    facts = [
        f
        for key in ("launch.rdzv_endpoint", "launch.master_addr", "env.MASTER_ADDR", "store.waiting_for")
        for f in case.about(key)
    ]
    facts.sort(key=lambda f: str(f.value) not in (f.origin.quote or ""))  # where it is set, not where it is used
    kinds: dict[str, Fact] = {}
    for fact in facts:
        if str(fact.value).strip():
            kinds.setdefault(kind_of_address(_host(str(fact.value))), fact)
    for kind, fact in kinds.items():
        yield _fact("launch.endpoint_kind", kind, fact.origin)
    if several and "loopback" in kinds:
        yield _fact("launch.loopback_multi_node", True, kinds["loopback"].origin)
    dynamic = any(f.value in ("c10d", "etcd", "etcd-v2") for f in case.about("launch.rdzv_backend"))
    if "service" in kinds and dynamic and several:
        yield _fact("launch.service_endpoint", True, kinds["service"].origin)
    alone = case.best("launch.standalone")
    if alone is not None and alone.value is True:
        ranked = any(str(f.value) not in ("0", "") for f in case.about("launch.node_rank"))
        if several or (nodes is None and ranked):
            yield _fact("launch.standalone_multi_node", True, alone.origin)


def _node_rank(case: CaseFile) -> Iterator[Fact]:
    nodes = asked_nodes(case)
    if nodes is None or nodes < 2:
        return
    ranks = [f for f in case.about("launch.node_rank") if integer(str(f.value)) is not None]
    uses = case.best("launch.uses_srun")
    everywhere = uses is not None and uses.value is True
    place = Launches(case).place
    by_place = {place(f): str(f.value) for f in ranks}
    values = list(by_place.values())
    if ranks and (
        (everywhere and len(set(values)) == 1)
        or (len(values) > 1 and len(set(values)) == 1 and len({p[0] for p in by_place}) > 1)
    ):
        yield _fact("launch.same_node_rank", values[0], ranks[0].origin)


def _commands_differ(case: CaseFile) -> Iterator[Fact]:
    """Commands of the nodes of one job (several nodes, different node ranks) that name different meeting points."""
    place = Launches(case).place
    several = {place(f) for f in case.about("launch.nnodes") if isinstance(f.value, int) and f.value > 1}
    ranks = {place(f): str(f.value) for f in case.about("launch.node_rank") if integer(str(f.value)) is not None}
    places = [p for p in ranks if p in several]
    if len({ranks[p] for p in places}) < 2:
        return
    for key, name in (
        ("launch.master_port", "port"),
        ("launch.master_addr", "address"),
        ("launch.rdzv_endpoint", "endpoint"),
        ("launch.rdzv_id", "run id"),
    ):
        found = {place(f): f for f in case.about(key) if "$" not in str(f.value)}
        values = {str(found[p].value) for p in places if p in found}
        if len(values) > 1:
            yield _fact("launch.endpoint_differs", name, next(found[p].origin for p in places if p in found))
            return


def _variables(case: CaseFile) -> Iterator[Fact]:
    """Exports that mpirun does not pass on to other hosts, and variables whose value differs between hosts."""
    remote = [f for f in case.about("launch.kind") if f.value == "mpirun"]
    hosts = {str(f.value) for f in case.about("launch.hosts")}
    if (
        remote
        and any("," in h or "/" in h or h.endswith("hosts") or "hostfile" in h for h in hosts)
        and not case.about("launch.env_exported")
    ):
        names = [
            f.key[4:]
            for f in case.facts
            if f.key.startswith(("env.NCCL_", "env.UCX_", "env.FI_", "env.LD_LIBRARY_PATH", "env.PYTHONPATH"))
            and f.origin.kind == "config"
        ]
        if names:
            yield _fact("launch.env_not_exported", ", ".join(dict.fromkeys(names)), remote[0].origin)
    for key in [k for k in case.keys() if k.startswith(("env.NCCL_", "env.GLOO_", "env.UCX_", "env.FI_"))]:  # noqa: SIM118
        by_host: dict[str, set[str]] = {}
        for fact in case.about(key):
            if fact.subject.kind == "host":
                by_host.setdefault(fact.subject.name, set()).add(str(fact.value))
        values = list(by_host.values())
        if (
            len(values) > 1
            and any(not values[0] & other for other in values[1:])
            and key not in ("env.NCCL_DEBUG_FILE", "env.NCCL_HOSTID")
        ):
            yield _fact("launch.env_differs", key[4:], case.about(key)[0].origin)


def _ports(case: CaseFile) -> Iterator[Fact]:
    """A port used by several launches that are not one job: one-node launches of different programs."""
    places: dict[str, dict[Place, Fact]] = {}
    place_of = Launches(case).place
    commands = {place_of(f): str(f.value) for f in case.about("launch.command")}
    several = {place_of(f) for f in case.about("launch.nnodes") if isinstance(f.value, int) and f.value > 1}
    ports = [*case.about("launch.master_port"), *case.about("launch.rdzv_endpoint")]
    for fact in ports:
        place = place_of(fact)
        port = str(fact.value).rsplit(":", 1)[-1]
        if port.isdigit() and place in commands and place not in several:
            places.setdefault(port, {})[place] = fact
    for port, found in places.items():
        if len({commands[p] for p in found}) > 1:
            yield _fact("launch.shared_port", port, next(iter(found.values())).origin)
    launch = next((f for f in case.about("launch.kind") if f.value in _LAUNCHERS), None)
    given = [
        str(f.value).rsplit(":", 1)[-1]
        for f in ports + case.about("env.MASTER_PORT")
        if ":" in str(f.value) or str(f.value).isdigit()
    ]
    if launch is not None and not case.about("launch.standalone") and (not given or "29500" in given):
        yield _fact("launch.default_port", True, launch.origin)


def _tasks(case: CaseFile) -> Iterator[Fact]:
    """Tasks a node against GPUs a node, where the program is started by srun alone, one process a task."""
    tasks, gpus = case.best("launch.ntasks_per_node"), case.best("launch.sbatch_gpus")
    if tasks is None or gpus is None or tasks.value == gpus.value:
        return
    if any(f.value in (*_LAUNCHERS, "deepspeed", "ray") for f in case.about("launch.kind")):
        return
    uses = case.best("launch.uses_srun")
    if uses is not None and uses.value is True:
        yield _fact("launch.tasks_not_devices", f"{tasks.value} tasks, {gpus.value} GPUs", tasks.origin)


_COMPARED = ("torch_version", "nccl_version", "cuda_version", "driver_version", "python_version")
_PLACE = re.compile(
    r"(?:^|[^a-z])(?:(?:node|host|rank|worker|machine|server|gpu|slave|pod|n)[-_.]?(?:[a-z]?\d+|[a-z])|node|host|worker|master|slave|head)(?:[^a-z]|$)",
    re.IGNORECASE,
)


def _place(fact: Fact) -> str | None:
    """The host that a version belongs to, or the file where its name tells that it is one node's."""
    if fact.subject.kind == "host":
        return fact.subject.name
    if fact.origin.host:
        return fact.origin.host
    name = (fact.origin.file or "").rsplit("/", 1)[-1]
    return name if name and _PLACE.search(name) else None


def _versions(case: CaseFile) -> Iterator[Fact]:
    for key in _COMPARED:
        yield from _differing(key.removesuffix("_version"), [(f, str(f.value).split("+")[0]) for f in case.about(key)])
    packages: dict[str, list[tuple[Fact, str]]] = {}
    for fact in case.about("package.version"):
        name, _, version = str(fact.value).partition(" ")
        packages.setdefault(name, []).append((fact, version))
    for name, found in packages.items():
        if name not in ("torch",):
            yield from _differing(name, found)
    for key, what in (("code.revision", "code"), ("image.digest", "image"), ("file.checksum", "file")):
        named: dict[str, list[tuple[Fact, str]]] = {}
        for fact in case.about(key):
            name, _, version = str(fact.value).rpartition(" ")
            named.setdefault(name, []).append((fact, version))
        for found in named.values():
            yield from _differing(what, found)


def _differing(name: str, found: list[tuple[Fact, str]]) -> Iterator[Fact]:
    by_place: dict[str, set[str]] = {}
    first: dict[str, Fact] = {}
    for fact, version in found:
        place = _place(fact)
        if place is not None:
            by_place.setdefault(place, set()).add(version)
            first.setdefault(place, fact)
    places = list(by_place)
    if len(places) < 2:
        return
    usual = max(places, key=lambda p: (sum(bool(by_place[p] & by_place[q]) for q in places), -places.index(p)))
    for other in places:
        if not by_place[usual] & by_place[other]:
            fact = first[other]
            host = fact.subject.name if fact.subject.kind == "host" else fact.origin.host
            yield Fact("versions.differ", name, fact.origin, Subject("host", host) if host else JOB)
            return
