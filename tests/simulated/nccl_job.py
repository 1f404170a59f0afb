"""A job's NCCL debug logs, one a rank, as NCCL writes them with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,ENV,NET,COLL.

    job = Job(nodes=128, gpus=8)
    for rank in job.ranks():
        write(f"rank_{rank:04d}.log", job.log(rank, size=1 << 20))

Every line follows the format of the NCCL sources of its version (init.cc, channel connect, net_ib, enqueue.cc): 2.18, 2.21, 2.27
and 2.29. The fabric is InfiniBand with one HCA a GPU. A fault is planted by overriding what one rank or host would write (see
`tests.simulated.faults`); what the training program itself writes comes from `tests.simulated.training`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

_BUS = ("1b000", "43000", "52000", "61000", "9d000", "c3000", "d1000", "df000")
#: Full versions by the short name.
VERSIONS = {"2.18": "2.18.5+cuda12.2", "2.21": "2.21.5+cuda12.4", "2.27": "2.27.5+cuda12.9", "2.29": "2.29.3+cuda13.0"}

Call = tuple[str, int]
"""A collective and its number of elements."""

_CALLS: tuple[Call, ...] = (("AllGather", 6553600), ("ReduceScatter", 6553600), ("AllReduce", 26214400))


@dataclass
class Job:
    """`gpus` is the number of GPUs, and of ranks, of each node; ranks are numbered node by node."""

    nodes: int
    gpus: int = 8
    channels: int = 8
    steps: int = 400
    form: str = "2.27"
    """Version whose lines are written."""
    nccl: str = VERSIONS["2.27"]
    driver: int = 12090
    interface: str = "eth0"
    network: str = "IB"
    comm_id: str = "0x9bb27e3ad0a1b2c3"
    speed: int = 400000
    """Mbit/s of the HCAs."""
    devices: bool = False
    """Whether NET/IB tells each HCA with its speed (subsystem NET at its first use)."""
    settings: dict[str, str] = field(default_factory=lambda: {"NCCL_SOCKET_IFNAME": "eth0", "NCCL_DEBUG": "INFO"})
    older: dict[int, str] = field(default_factory=dict)
    """NCCL version of nodes that have another one, by node."""
    drivers: dict[int, int] = field(default_factory=dict)
    """cudaDriverVersion of nodes that have another one."""
    interfaces: dict[int, tuple[str, str]] = field(default_factory=dict)
    """(interface, address) that a node's bootstrap picked, where it is not the job's."""
    sockets: set[int] = field(default_factory=set)
    """Ranks whose process found no InfiniBand."""
    dead_rails: dict[int, set[int]] = field(default_factory=dict)
    """Numbers of the HCAs that are missing on a node."""
    spare_rails: dict[int, int] = field(default_factory=dict)
    """How many HCAs more than GPUs a node has, which no channel uses."""
    slow_rails: dict[tuple[int, int], int] = field(default_factory=dict)
    """Speed of single HCAs, by node and number."""
    staged: set[int] = field(default_factory=set)
    """Nodes without GPUDirect RDMA."""
    own_settings: dict[int, dict[str, str]] = field(default_factory=dict)
    """Settings of single nodes, beside or instead of the job's."""
    own_channels: dict[int, int] = field(default_factory=dict)
    absent: set[int] = field(default_factory=set)
    """Ranks of which there is no log."""
    stuck: bool = False
    """Whether initialisation goes no further than its announcement."""
    before: dict[int, list[str]] = field(default_factory=dict)
    """What a rank's log holds instead of NCCL's lines."""
    after: dict[int, list[str]] = field(default_factory=dict)
    """What stands at the end of a rank's log."""
    odd_calls: dict[int, dict[int, Call]] = field(default_factory=dict)
    """Collectives of single ranks that differ, by number."""
    stops: dict[int, int] = field(default_factory=dict)
    """Number of collectives after which a rank calls no more."""

    @property
    def size(self) -> int:
        return self.nodes * self.gpus

    def ranks(self) -> list[int]:
        return [rank for rank in range(self.size) if rank not in self.absent]

    def host(self, rank: int) -> str:
        return f"gpu-{rank // self.gpus:04d}"

    def address(self, rank: int) -> str:
        node = rank // self.gpus
        return f"10.20.{node // 200}.{node % 200 + 11}"

    def pid(self, rank: int) -> int:
        return 180000 + 37 * (rank // self.gpus) + rank % self.gpus

    def hcas(self, rank: int) -> list[int]:
        node = rank // self.gpus
        dead = self.dead_rails.get(node, set())
        count = self.gpus + self.spare_rails.get(node, 0)
        return [] if rank in self.sockets else [n for n in range(count) if n not in dead]

    def log(self, rank: int, size: int = 0) -> str:
        """The log of one rank; filled with lines of collectives up to `size` characters."""
        return "\n".join(self.lines(rank, size)) + "\n"

    def lines(self, rank: int, size: int = 0) -> list[str]:
        if rank in self.before:
            return self.before[rank]
        lines = [*self.init(rank)]
        if not self.stuck:
            lines += self.connected(rank)
            most = self.stops.get(rank, 1 << 40)
            lines += self.collectives(rank, min(self.steps, most))
            missing = size - sum(map(len, lines)) - len(lines)
            if missing > 0 and most > self.steps:
                line = len(next(self.collectives(rank, 1))) + 1
                lines += self.collectives(rank, min(self.steps + missing // line, most), start=self.steps)
        return lines + self.after.get(rank, [])

    def head(self, rank: int) -> str:
        pid = self.pid(rank)
        return f"{self.host(rank)}:{pid}:{pid + 400} [{rank % self.gpus}] NCCL INFO "

    def comm(self, rank: int) -> str:
        return f"0x55d0c8{rank * 4096 & 0xFFFFFF:06x}"

    @property
    def _recent(self) -> bool:
        return self.form not in ("2.18", "2.21")

    def init(self, rank: int) -> Iterator[str]:
        """From the start of the process to the line that announces initialisation of the communicator."""
        node, local = divmod(rank, self.gpus)
        head = self.head(rank)
        name, address = self.interfaces.get(node, (self.interface, self.address(rank)))
        version = self.older.get(node, self.nccl)
        if self.form == "2.29":
            yield f"{head}ENV/Plugin: Could not find: libnccl-env.so"
        yield f"{head}cudaDriverVersion {self.drivers.get(node, self.driver)}"
        for key, value in {**self.settings, **self.own_settings.get(node, {})}.items():
            if key != "NCCL_DEBUG":
                yield f"{head}{key} set by environment to {value}"
        yield f"{head}Bootstrap{'' if self._recent else ' '}: Using {name}:{address}<0>"
        if self._recent:
            yield f"{head}NCCL version {version}"
            yield f"{head}NET/Plugin: Could not find: libnccl-net.so. Using internal net plugin."
        else:
            if rank == 0:
                yield f"NCCL version {version}"
            yield f"{head}NET/Plugin : No plugin found (libnccl-net.so), using internal implementation"
        network = yield from self._networks(rank, name, address)
        if self._recent:
            yield f"{head}Initialized NET plugin {network}"
            yield f"{head}Assigned NET plugin {network} to comm"
        elif self.form == "2.21":
            yield f"{head}Using non-device net plugin version 0"
        yield f"{head}Using network {network}"
        if network == "IB" and self.form != "2.18" and node not in self.staged:
            yield f"{head}DMA-BUF is available on GPU device {local}"
        yield f"{head}{self._announced(rank)} commId {self.comm_id} - Init START"
        if self._recent:
            yield f"{head}RAS client listening socket at ::1<28028>"

    def _announced(self, rank: int) -> str:
        local = rank % self.gpus
        call = {"2.18": "", "2.21": "ncclCommInitRank "}.get(self.form, "ncclCommInitRankConfig ")
        return (
            f"{call}comm {self.comm(rank)} rank {rank} nranks {self.size} cudaDev {local} nvmlDev {local} "
            f"busId {_BUS[local % 8]}"
        )

    def _networks(self, rank: int, name: str, address: str) -> Generator[str, None, str]:
        """The lines that tell of adapters; returns the chosen network."""
        head, hcas = self.head(rank), self.hcas(rank)
        if self.network != "IB" or not hcas:
            yield f"{head}NET/IB : No device found."
            yield f"{head}NET/Socket : Using [0]{name}:{address}<0>"
            return "Socket"
        node = rank // self.gpus
        if self.devices:
            for i, n in enumerate(hcas):
                speed = self.slow_rails.get((node, n), self.speed)
                yield (
                    f"{head}NET/IB: [{i}] mlx5_{n}:uverbs{n}:1/IB provider=Mlx5 speed={speed} context=0x55d0c2{n:06x} "
                    f"pciPath=/sys/devices/pci0000:{n:02x}/0000:{n:02x}:01.0/0000:{n:02x}:00.0 ar=1"
                )
        names = " ".join(f"[{i}]mlx5_{n}:1/IB" for i, n in enumerate(hcas))
        yield f"{head}NET/IB : Using {names} [RO]; OOB {name}:{address}<0>"
        return "IB"

    def connected(self, rank: int) -> Iterator[str]:
        """From the bootstrap to connected rings."""
        node, local = divmod(rank, self.gpus)
        head, channels = self.head(rank), self.own_channels.get(node, self.channels)
        if self._recent:
            yield f"{head}Bootstrap timings total 1.402113 (create 0.000081, send 0.000255, recv 1.352268, ring 0.048068, delay 0.000000)"
        yield f"{head}NVLS multicast support is available on dev {local}" + (
            " (NVLS_NCHANNELS 16)" if self._recent else ""
        )
        if self.form != "2.18":
            yield f"{head}comm {self.comm(rank)} rank {rank} nRanks {self.size} nNodes {self.nodes} localRanks {self.gpus} localRank {local} MNNVL 0"
        if rank == 0:
            for channel in range(channels):
                order = " ".join(f"{r:4d}" for r in self.ring(channel))
                yield f"{head}Channel {channel:02d}/{channels:02d} : {order}"[:1023]
        trees = " ".join(f"[{c}] {rank + 1}/-1/-1->{rank}->{max(rank - 1, -1)}" for c in range(channels))
        yield f"{head}Trees {trees}"
        yield f"{head}P2P Chunksize set to 131072"
        if self._recent:
            yield f"{head}[Proxy Service] Device {local} CPU core {12 * local + 3}"
        counts = "0 nvls channels" if self.form == "2.18" else "0 collnet channels, 16 nvls channels"
        yield f"{head}{channels} coll channels, {counts}, 16 p2p channels, 2 p2p channels per peer"
        yield f"{head}threadThresholds 8/8/64 | {8 * self.size}/8/64 | 512 | 512"
        if self._recent:
            yield f"{head}CC Off, workFifoBytes 1048576"
            yield (
                f"{head}Init timings - ncclCommInitRankConfig: rank {rank} nranks {self.size} total 2.81 (kernels 0.21, alloc 0.42, "
                "bootstrap 1.42, allgathers 0.11, topo 0.29, graphs 0.02, connections 0.32, rest 0.02)"
            )
            yield f"{head}{self._announced(rank)} commId {self.comm_id} - Init COMPLETE"
        for channel in range(channels):
            yield from self._channel(rank, channel)
        if self._recent:
            gdr = 1 if self._net(rank, local).endswith("GDRDMA") else 0
            yield f"{head}Connected all rings, use ring PXN 0 GDR {gdr}"
        else:
            yield f"{head}Connected all rings"
            yield f"{head}{self._announced(rank)} commId {self.comm_id} - Init COMPLETE"

    def ring(self, channel: int) -> list[int]:
        """Ranks in the order of a ring: each node is entered at the GPU of the channel's rail."""
        first = channel % self.gpus
        order = [(first + i) % self.gpus for i in range(self.gpus)]
        return [node * self.gpus + local for node in range(self.nodes) for local in order]

    def _channel(self, rank: int, channel: int) -> Iterator[str]:
        head, gpus = self.head(rank), self.gpus
        node, local = divmod(rank, gpus)
        first, last = channel % gpus, (channel - 1) % gpus
        if self.nodes > 1 and local == first:
            before = (node - 1) % self.nodes * gpus + last
            yield f"{head}Channel {channel:02d}/0 : {before}[{last}] -> {rank}[{local}] [receive] via {self._net(rank, local)}"
        if self.nodes > 1 and local == last:
            after = (node + 1) % self.nodes * gpus + first
            yield f"{head}Channel {channel:02d}/0 : {rank}[{local}] -> {after}[{first}] [send] via {self._net(rank, local)}"
        elif gpus > 1:
            peer = (local + 1) % gpus
            how = "P2P/IPC/read" if self.form == "2.18" else "P2P/CUMEM"
            yield f"{head}Channel {channel:02d}/0 : {rank}[{local}] -> {node * gpus + peer}[{peer}] via {how}"

    def _net(self, rank: int, local: int) -> str:
        hcas = self.hcas(rank)
        if self.network != "IB" or not hcas:
            return "NET/Socket/0"
        gdr = "" if rank // self.gpus in self.staged else "/GDRDMA"
        return f"NET/IB/{hcas.index(local) if local in hcas else local % len(hcas)}{gdr}"

    def collectives(self, rank: int, count: int, start: int = 0) -> Iterator[str]:
        """One line for each collective, `start` to `count`: reduce-scatter and all-gather of a sharded step in turn."""
        head, comm, odd = self.head(rank), self.comm(rank), self.odd_calls.get(rank, {})
        for op in range(start, count):
            name, elements = odd.get(op, _CALLS[op % 3])
            yield (
                f"{head}{name}: opCount {op:x} sendbuff 0x7f2b6c{op * 512 & 0xFFFFFF:06x} recvbuff 0x7f2b6e{op * 512 & 0xFFFFFF:06x} "
                f"count {elements} datatype 9 op 0 root 0 comm {comm} [nranks={self.size}] stream 0x55d0c1f0"
            )
