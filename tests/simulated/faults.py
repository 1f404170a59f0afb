"""Jobs with exactly one thing wrong, and what a diagnosis has to say of each: cause, hosts, ranks, nothing more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.simulated import training
from tests.simulated.nccl_job import VERSIONS, Job


@dataclass(frozen=True)
class Fault:
    """A job and the right answer. `hosts` or `ranks` None: the logs can't tell them, or need not.

    Not `certain`: a host differs, and nothing shows that it matters; the difference is told, and that it may not be the cause."""

    job: Job
    causes: tuple[str, ...]
    hosts: frozenset[str] | None = frozenset()
    ranks: frozenset[int] | None = frozenset()
    certain: bool = True


def plant(name: str, nodes: int = 8, form: str = "2.27", steps: int = 40) -> Fault:
    """The fault `name` on the node in the middle (or on a rank there) of a job."""
    job = Job(nodes=nodes, channels=4, form=form, nccl=VERSIONS[form], steps=steps)
    return FAULTS[name](job, job.nodes // 2)


def _host(job: Job, node: int) -> frozenset[str]:
    return frozenset((job.host(node * job.gpus),))


def _ranks_of(job: Job, node: int) -> set[int]:
    return set(range(node * job.gpus, (node + 1) * job.gpus))


def _docker(job: Job, node: int) -> Fault:
    job.interfaces[node] = ("docker0", "172.17.0.1")
    return Fault(job, ("nccl.wrong-interface",), _host(job, node))


def _other_subnet(job: Job, node: int) -> Fault:
    job.interfaces[node] = ("eno2", "192.168.40.21")
    return Fault(job, ("nccl.wrong-interface",), _host(job, node))


def _rank_on_sockets(job: Job, node: int) -> Fault:
    rank = node * job.gpus + 3
    job.sockets = {rank}
    return Fault(job, ("nccl.socket-fallback",), None, frozenset((rank,)))


def _host_on_sockets(job: Job, node: int) -> Fault:
    job.sockets = _ranks_of(job, node)
    return Fault(job, ("nccl.socket-fallback",), _host(job, node), None)


def _older_nccl(job: Job, node: int) -> Fault:
    job.older[node] = "2.26.2+cuda12.9"
    job.stuck = True
    return Fault(job, ("nccl.version-mismatch",), _host(job, node))


def _older_driver(job: Job, node: int) -> Fault:
    job.drivers[node] = 12040
    return Fault(job, ("host.driver-mismatch",), _host(job, node), certain=False)


def _missing_rank(job: Job, node: int) -> Fault:
    rank = node * job.gpus + 5
    job.absent, job.stuck = {rank}, True
    return Fault(job, ("launch.world-size", "launch.rendezvous", "work.rank-failed"), None, frozenset((rank,)))


def _missing_host(job: Job, node: int) -> Fault:
    job.absent, job.stuck = _ranks_of(job, node), True
    return Fault(job, ("launch.world-size", "host.node-failed"), None, frozenset(job.absent))


def _exception(job: Job, node: int) -> Fault:
    rank = node * job.gpus + 5
    job.stuck = True
    job.before[rank] = training.raised(rank)
    return Fault(job, ("work.rank-failed",), None, frozenset((rank,)))


def _late(style: str) -> Callable[[Job, int], Fault]:
    def plant_it(job: Job, node: int) -> Fault:
        slow = node * job.gpus + 2
        for rank in job.ranks():
            job.after[rank] = [*training.iterations(rank, style, 0.8, 1.6 if rank == slow else 1.0)]
        return Fault(job, ("gpu.slow-peer", "work.imbalance"), None, frozenset((slow,)))

    return plant_it


def _stuck(job: Job, node: int) -> Fault:
    """A rank that does not come to collective 12000, and says nothing; the others time out in it."""
    rank = node * job.gpus + 6
    for other in job.ranks():
        if other != rank:
            job.after[other] = training.watchdog(other, 12000, 12000, 11999)
    job.stops[rank] = job.steps - 1
    return Fault(job, ("work.rank-failed", "work.collective-mismatch"), None, frozenset((rank,)))


def _behind(job: Job, node: int) -> Fault:
    """A rank that is one collective behind, and times out in the one before."""
    rank = node * job.gpus + 6
    for other in job.ranks():
        at = 11998 if other == rank else 12000
        job.after[other] = training.watchdog(other, at, at, at - 1)
    job.stops[rank] = job.steps - 2
    return Fault(job, ("work.collective-mismatch", "work.rank-failed"), None, frozenset((rank,)))


def _mismatch(job: Job, node: int) -> Fault:
    """The watchdog shows another collective on one rank at the same number."""
    rank = node * job.gpus + 1
    for other in job.ranks():
        op, numel = ("_ALLGATHER_BASE", 6553600) if other == rank else ("ALLREDUCE", 26214400)
        job.after[other] = training.watchdog(other, 12000, 12000, 11999, op, numel)
    return Fault(job, ("work.collective-mismatch",), None, frozenset((rank,)))


def _odd_call(job: Job, node: int) -> Fault:
    """NCCL's own lines show it: the last call of one rank is another one, and no other messages tell."""
    rank = node * job.gpus + 1
    job.odd_calls[rank] = {job.steps - 1: ("AllReduce", 1)}
    return Fault(job, ("work.collective-mismatch",), None, frozenset((rank,)))


def _odd_count(job: Job, node: int) -> Fault:
    """One rank hands over another number of elements in the middle of the run, which goes on."""
    rank = node * job.gpus + 1
    job.odd_calls[rank] = {job.steps // 2 // 3 * 3: ("AllGather", 6553604)}
    return Fault(job, ("work.collective-mismatch",), None, frozenset((rank,)))


def _stops_early(job: Job, node: int) -> Fault:
    """One rank calls no collectives any more; the others get one further and wait."""
    rank = node * job.gpus + 4
    job.stops[rank] = job.steps - 5
    return Fault(job, ("work.rank-failed", "work.collective-mismatch"), None, frozenset((rank,)), certain=False)


def _dead_rail(job: Job, node: int) -> Fault:
    job.dead_rails[node] = {3}
    return Fault(job, ("net.link-degraded", "nccl.nic-underused"), _host(job, node), None)


def _port_error(job: Job, node: int) -> Fault:
    rank = node * job.gpus + 3
    head = job.head(rank).removesuffix("NCCL INFO ")
    where = (
        "NET/IB : mlx5_3:1 Got async event : port error"
        if job.form not in ("2.18", "2.21")
        else "NET/IB : Got async event : port error"
    )
    job.after[rank] = [f"[2026-02-11 10:41:07] {head}transport/net_ib.cc:121 NCCL WARN {where}"]
    return Fault(job, ("net.link-degraded",), _host(job, node), None)


def _slow_rail(job: Job, node: int) -> Fault:
    job.devices = True
    job.slow_rails[node, 3] = 100000
    return Fault(job, ("net.link-degraded",), _host(job, node), None)


def _staged(job: Job, node: int) -> Fault:
    job.staged = {node}
    return Fault(job, ("nccl.gdr-disabled",), _host(job, node), None)


def _odd_setting(**settings: str) -> Callable[[Job, int], Fault]:
    def plant_it(job: Job, node: int) -> Fault:
        job.own_settings[node] = settings
        return Fault(job, ("launch.env-not-propagated", "nccl.env-misconfigured"), _host(job, node), None)

    return plant_it


def _odd_channels(job: Job, node: int) -> Fault:
    job.own_channels[node] = 2
    job.own_settings[node] = {"NCCL_MAX_NCHANNELS": "2"}
    return Fault(job, ("launch.env-not-propagated", "nccl.env-misconfigured"), _host(job, node), None)


FAULTS: dict[str, Callable[[Job, int], Fault]] = {
    "docker-interface": _docker,
    "other-subnet": _other_subnet,
    "rank-on-sockets": _rank_on_sockets,
    "host-on-sockets": _host_on_sockets,
    "older-nccl": _older_nccl,
    "older-driver": _older_driver,
    "missing-rank": _missing_rank,
    "missing-host": _missing_host,
    "exception-in-start-up": _exception,
    "late-rank-torch": _late("torch"),
    "late-rank-megatron": _late("megatron"),
    "stuck-rank": _stuck,
    "rank-behind": _behind,
    "mismatched-collective": _mismatch,
    "odd-call": _odd_call,
    "odd-count": _odd_count,
    "stops-early": _stops_early,
    "dead-rail": _dead_rail,
    "port-error": _port_error,
    "slow-rail": _slow_rail,
    "no-gpudirect": _staged,
    "odd-algorithm": _odd_setting(NCCL_ALGO="Tree"),
    "odd-protocol": _odd_setting(NCCL_PROTO="Simple"),
    "odd-channels": _odd_channels,
}


def healthy(name: str, nodes: int = 8, form: str = "2.27", steps: int = 40) -> Job:
    """A job without a fault; with differences between hosts that are natural."""
    job = Job(nodes=nodes, channels=4, form=form, nccl=VERSIONS[form], steps=steps)
    HEALTHY[name](job)
    return job


def _two_generations(job: Job) -> None:
    del job.settings["NCCL_SOCKET_IFNAME"]
    for node in range(0, job.nodes, 2):
        job.interfaces[node] = ("enp81s0f0np0", job.address(node * job.gpus))


def _noise(job: Job) -> None:
    for rank in job.ranks():
        job.after[rank] = [*training.iterations(rank, "torch", 0.8)]


def _spare_adapter(job: Job) -> None:
    job.spare_rails[job.nodes // 2] = 1


def _ends_apart(job: Job) -> None:
    """The logs were taken while the job ran: the ranks have written up to a few collectives more or less."""
    for rank in job.ranks():
        job.stops[rank] = job.steps - rank * 7 % 5


HEALTHY: dict[str, Callable[[Job], None]] = {
    "plain": lambda job: None,
    "two-generations": _two_generations,
    "noise": _noise,
    "spare-adapter": _spare_adapter,
    "ends-apart": _ends_apart,
}
