"""A job's NCCL debug logs, one a rank, as NCCL 2.27 writes them with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,ENV,NET,COLL.

    job = Job(nodes=128, gpus=8)
    for rank in job.ranks():
        write(f"rank_{rank:04d}.log", job.log(rank, size=1 << 20))

Every line follows the format of the NCCL sources of that version (init.cc, channel connect, net_ib, enqueue.cc). The fabric is
InfiniBand with one HCA a GPU. A fault is planted by overriding what one rank or host would write: see `tests/simulated/faults.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

_BUS = ("1b000", "43000", "52000", "61000", "9d000", "c3000", "d1000", "df000")


@dataclass
class Job:
    """`gpus` is the number of GPUs, and of ranks, of each node; ranks are numbered node by node."""

    nodes: int
    gpus: int = 8
    channels: int = 8
    steps: int = 400
    nccl: str = "2.27.5+cuda12.9"
    interface: str = "eth0"
    network: str = "IB"
    comm_id: str = "0x9bb27e3ad0a1b2c3"
    older: dict[int, str] = field(default_factory=dict)
    """NCCL version of nodes that have another one, by node."""
    interfaces: dict[int, tuple[str, str]] = field(default_factory=dict)
    """(interface, address) that a node's bootstrap picked, where it is not the job's."""
    sockets: set[int] = field(default_factory=set)
    """Ranks whose process found no InfiniBand."""
    dead_rails: dict[int, set[int]] = field(default_factory=dict)
    """Numbers of the HCAs that are missing on a node."""

    @property
    def size(self) -> int:
        return self.nodes * self.gpus

    def ranks(self) -> range:
        return range(self.size)

    def host(self, rank: int) -> str:
        return f"gpu-{rank // self.gpus:04d}"

    def address(self, rank: int) -> str:
        node = rank // self.gpus
        return f"10.20.{node // 200}.{node % 200 + 11}"

    def hcas(self, rank: int) -> list[int]:
        dead = self.dead_rails.get(rank // self.gpus, set())
        return [] if rank in self.sockets else [n for n in range(self.gpus) if n not in dead]

    def log(self, rank: int, size: int = 0, *, complete: bool = True) -> str:
        """The log of one rank; filled with lines of collectives up to `size` characters."""
        lines = [*self.init(rank)]
        if complete:
            lines += self.connected(rank)
            lines += self.collectives(rank, self.steps)
        text = "\n".join(lines) + "\n"
        if len(text) < size:
            line = len(next(self.collectives(rank, 1))) + 1
            lines += self.collectives(rank, self.steps + (size - len(text)) // line, start=self.steps)
            text = "\n".join(lines) + "\n"
        return text

    def head(self, rank: int) -> str:
        pid = 180000 + 37 * (rank // self.gpus) + rank % self.gpus
        return f"{self.host(rank)}:{pid}:{pid + 400} [{rank % self.gpus}] NCCL INFO "

    def comm(self, rank: int) -> str:
        return f"0x55d0c8{rank * 4096 & 0xFFFFFF:06x}"

    def init(self, rank: int) -> Iterator[str]:
        """From the start of the process to the line that announces initialisation of the communicator."""
        node, local = divmod(rank, self.gpus)
        head, main = self.head(rank), self.head(rank)
        name, address = self.interfaces.get(node, (self.interface, self.address(rank)))
        version = self.older.get(node, self.nccl)
        yield f"{main}cudaDriverVersion 12090"
        yield f"{main}NCCL_SOCKET_IFNAME set by environment to {self.interface}"
        yield f"{main}Bootstrap: Using {name}:{address}<0>"
        yield f"{main}NCCL version {version}"
        yield f"{head}NET/Plugin: Could not find: libnccl-net.so. Using internal net plugin."
        hcas = self.hcas(rank)
        if self.network == "IB" and hcas:
            names = " ".join(f"[{i}]mlx5_{n}:1/IB" for i, n in enumerate(hcas))
            yield f"{head}NET/IB : Using {names} [RO]; OOB {name}:{address}<0>"
            network = "IB"
        else:
            yield f"{head}NET/IB : No device found."
            yield f"{head}NET/Socket : Using [0]{name}:{address}<0>"
            network = "Socket"
        yield f"{head}Initialized NET plugin {network}"
        yield f"{head}Assigned NET plugin {network} to comm"
        yield f"{head}Using network {network}"
        if network == "IB":
            yield f"{head}DMA-BUF is available on GPU device {local}"
        yield (
            f"{head}ncclCommInitRankConfig comm {self.comm(rank)} rank {rank} nranks {self.size} cudaDev {local} nvmlDev {local} "
            f"busId {_BUS[local % 8]} commId {self.comm_id} - Init START"
        )
        yield f"{head}RAS client listening socket at ::1<28028>"

    def connected(self, rank: int) -> Iterator[str]:
        """From the bootstrap to connected rings."""
        local, head = rank % self.gpus, self.head(rank)
        yield f"{head}Bootstrap timings total 1.402113 (create 0.000081, send 0.000255, recv 1.352268, ring 0.048068, delay 0.000000)"
        yield f"{head}NVLS multicast support is available on dev {local} (NVLS_NCHANNELS 16)"
        yield f"{head}comm {self.comm(rank)} rank {rank} nRanks {self.size} nNodes {self.nodes} localRanks {self.gpus} localRank {local} MNNVL 0"
        if rank == 0:
            for channel in range(self.channels):
                order = " ".join(f"{r:4d}" for r in self.ring(channel))
                yield f"{head}Channel {channel:02d}/{self.channels:02d} : {order}"[:1023]
        trees = " ".join(f"[{c}] {rank + 1}/-1/-1->{rank}->{max(rank - 1, -1)}" for c in range(self.channels))
        yield f"{head}Trees {trees}"
        yield f"{head}P2P Chunksize set to 131072"
        yield f"{head}[Proxy Service] Device {local} CPU core {12 * local + 3}"
        yield f"{head}{self.channels} coll channels, 0 collnet channels, 16 nvls channels, 16 p2p channels, 2 p2p channels per peer"
        yield f"{head}threadThresholds 8/8/64 | {8 * self.size}/8/64 | 512 | 512"
        yield f"{head}CC Off, workFifoBytes 1048576"
        yield (
            f"{head}Init timings - ncclCommInitRankConfig: rank {rank} nranks {self.size} total 2.81 (kernels 0.21, alloc 0.42, "
            "bootstrap 1.42, allgathers 0.11, topo 0.29, graphs 0.02, connections 0.32, rest 0.02)"
        )
        yield (
            f"{head}ncclCommInitRankConfig comm {self.comm(rank)} rank {rank} nranks {self.size} cudaDev {local} nvmlDev {local} "
            f"busId {_BUS[local % 8]} commId {self.comm_id} - Init COMPLETE"
        )
        for channel in range(self.channels):
            yield from self._channel(rank, channel)
        gdr = 1 if self.network == "IB" and rank not in self.sockets else 0
        yield f"{head}Connected all rings, use ring PXN 0 GDR {gdr}"

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
            yield f"{head}Channel {channel:02d}/0 : {rank}[{local}] -> {node * gpus + peer}[{peer}] via P2P/CUMEM"

    def _net(self, rank: int, local: int) -> str:
        hcas = self.hcas(rank)
        if self.network != "IB" or not hcas:
            return "NET/Socket/0"
        return f"NET/IB/{hcas.index(local) if local in hcas else local % len(hcas)}/GDRDMA"

    def collectives(self, rank: int, count: int, start: int = 0) -> Iterator[str]:
        """One line for each collective, `start` to `count`: reduce-scatter and all-gather of a sharded step in turn."""
        head, comm = self.head(rank), self.comm(rank)
        for op in range(start, count):
            name, elements = (("AllGather", 6553600), ("ReduceScatter", 6553600), ("AllReduce", 26214400))[op % 3]
            yield (
                f"{head}{name}: opCount {op:x} sendbuff 0x7f2b6c{op * 512 & 0xFFFFFF:06x} recvbuff 0x7f2b6e{op * 512 & 0xFFFFFF:06x} "
                f"count {elements} datatype 9 op 0 root 0 comm {comm} [nranks={self.size}] stream 0x55d0c1f0"
            )
