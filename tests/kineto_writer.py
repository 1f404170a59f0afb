"""Traces of a data-parallel job on GPUs, one a rank, in the form in which Kineto writes them.

The job is played through, so that ranks wait for each other in collectives as they do in earnest: a collective starts where
a rank is ready and ends for all when the last one has come and the data have been moved. Each rank has a clock of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field

#: How the versions of torch differ: category of kernels, whether times have a base and fractions, whether kernels tell their message.
STYLES = {
    "1.9": ("Kernel", "Memcpy", "Runtime", "Operator", False, False, "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)"),
    "1.13": ("kernel", "gpu_memcpy", "cuda_runtime", "cpu_op", False, False, "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)"),
    "2.2": (
        "kernel", "gpu_memcpy", "cuda_runtime", "cpu_op", False, True,
        "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
    ),
    "2.9": (
        "kernel", "gpu_memcpy", "cuda_runtime", "cpu_op", True, True,
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    ),
}  # fmt: skip
GEMM = "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_nn_align8>(cutlass_80_tensorop_bf16_s16816gemm::Params)"
ADAM = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4> >(...)"


@dataclass
class Job:
    world: int = 8
    steps: int = 5
    style: str = "2.9"
    buckets: int = 4
    elements: int = 8 << 20
    """Floats of a bucket."""
    transfer: float = 4000.0
    """Time (us) in which a bucket is reduced once all ranks have come."""
    compute: float = 60_000.0
    """Time (us) of the kernels of a step."""
    overlap: bool = True
    slow: dict[int, float] = field(default_factory=dict)
    """Factor on the time of all kernels of a rank."""
    work: dict[int, float] = field(default_factory=dict)
    """Factor on the work of a rank: longer kernels with larger grids."""
    data: dict[int, float] = field(default_factory=dict)
    """Time (us) of each step in which the loader of a rank is waited for."""
    host: dict[int, float] = field(default_factory=dict)
    """Time (us) of each step in which the process of a rank launches nothing."""
    varies: bool = False
    """Another rank has twice the work in each step."""
    items: int = 0
    """Times a step in which the host reads a value of the GPU and then launches again, 300 us later."""
    save: dict[int, float] = field(default_factory=dict)
    """Time (us) in the last step in which a rank saves a checkpoint."""

    def traces(self) -> dict[int, str]:
        ranks = {r: _Rank(self, r) for r in range(self.world)}
        now = 0.0
        for number in range(self.steps):
            now = self._step(ranks, number, now)
        return {r: rank.text() for r, rank in ranks.items()}

    def _step(self, ranks: dict[int, _Rank], number: int, start: float) -> float:
        ready: dict[int, list[float]] = {}
        for r, rank in ranks.items():
            at = rank.wait(start, number)
            factor = self.slow.get(r, 1.0)
            larger = self.work.get(r, 1.0) * (2.0 if self.varies and number % self.world == r else 1.0)
            piece = self.compute / (self.buckets + 1) * factor * larger
            ready[r] = []
            for bucket in range(self.buckets + 1):
                at = rank.kernels(at, piece, 8, larger, self.items if bucket == 0 else 0)
                if bucket:
                    ready[r].append(at)
            rank.free = at
        free = 0.0
        for bucket in range(self.buckets):
            begin = {r: max(ready[r][bucket] if self.overlap else ready[r][-1], free) for r in ranks}
            free = max(begin.values()) + self.transfer
            for r, rank in ranks.items():
                rank.collective(begin[r], free, self.elements)
        end = 0.0
        for r, rank in ranks.items():
            last = rank.kernel(ADAM, max(free, rank.free), 1500.0 * self.slow.get(r, 1.0), "[320, 1, 1]")
            rank.host_event("user_annotation", "Optimizer.step#AdamW.step", last - 1400, 1200)
            end = max(end, last)
        for rank in ranks.values():
            rank.host_event("user_annotation", f"ProfilerStep#{number + 3}", start, end - start)
        return end


class _Rank:
    def __init__(self, job: Job, number: int) -> None:
        self.job = job
        self.number = number
        self.free = 0.0
        self.kernel_cat, self.copy_cat, self.runtime_cat, self.op_cat, self.based, self.sized, self.nccl = STYLES[
            job.style
        ]
        self.offset = (4458677009853.0 if self.based else 1661203462000000) + 777_777 * number
        self.correlation = 60_000
        self.written: list[str] = []

    def wait(self, start: float, number: int) -> float:
        """What a rank does before its kernels: loads, sleeps, saves."""
        job, at = self.job, start
        load = job.data.get(self.number, 80.0)
        self.host_event(
            self.op_cat if self.job.style == "1.9" else "user_annotation",
            "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", at, load,
        )  # fmt: skip
        at += load + 5
        self._event(
            self.copy_cat, "Memcpy HtoD (Pinned -> Device)", self.number, 7, at, 90.0,
            f'"device": {self.number}, "context": 1, "stream": 7, "correlation": {self._next()}, "bytes": 1048576, "memory bandwidth (GB/s)": 11.6',
        )  # fmt: skip
        at += 90 + job.host.get(self.number, 0.0)
        if number == job.steps - 1 and self.number in job.save:
            self.host_event("user_annotation", "save_checkpoint", at, job.save[self.number])
            at += job.save[self.number]
        return at + 10

    def kernels(self, start: float, time: float, count: int, larger: float, items: int) -> float:
        at = start
        for index in range(count):
            at = self.kernel(f"{GEMM} #{index}", at + 1.5, time / count - 1.5, f"[{int(64 * larger)}, {index + 1}, 1]")
        for _ in range(items):
            self.host_event(self.op_cat, "aten::item", at - 15, 24.0)
            self.host_event(self.runtime_cat, "cudaStreamSynchronize", at - 12, 20.0)
            at = self.kernel(f"{GEMM} #item", at + 300, 20.0, "[1, 1, 1]")
        return at

    def kernel(self, name: str, start: float, length: float, grid: str) -> float:
        self._event(self.kernel_cat, name, self.number, 7, start, length, self._kernel_args(7, grid))
        return start + length

    def collective(self, start: float, end: float, elements: int) -> None:
        args = self._kernel_args(20, "[24, 1, 1]")
        message = (
            f'"Collective name": "allreduce", "In msg nelems": {elements}, "Out msg nelems": {elements}, '
            f'"Group size": {self.job.world}, "dtype": "Float", "In split size": "[]", "Out split size": "[]", '
            f'"Process Group Name": "0", "Process Group Description": "default_pg", '
            f'"Process Group Ranks": "{list(range(self.job.world))}"'
        )
        self._event(
            self.kernel_cat,
            self.nccl,
            self.number,
            20,
            start,
            end - start,
            f"{args}, {message}" if self.sized else args,
        )
        if self.sized:
            self.host_event(self.op_cat, "record_param_comms", start - 50, 40, message)
        self.host_event(
            "user_annotation",
            "nccl:all_reduce",
            start - 45,
            30,
            f'"Input Dims": [[{elements}]], "Input type": ["float"]',
        )
        if self.based:
            self._event(
                "gpu_user_annotation", "nccl:all_reduce", self.number, 20, start, end - start, '"External id": 9460'
            )

    def host_event(self, cat: str, name: str, start: float, length: float, args: str = "") -> None:
        self._event(
            cat,
            name,
            4000 + self.number,
            4000 + self.number,
            start,
            length,
            f'"External id": {self._next()}' + (f", {args}" if args else ""),
        )

    def _next(self) -> int:
        self.correlation += 1
        return self.correlation

    def _kernel_args(self, stream: int, grid: str) -> str:
        number = self._next()
        return (
            f'"External id": {number},      "queued": 0, "device": {self.number}, "context": 1,      "stream": {stream}, '
            f'"correlation": {number},      "registers per thread": 96,      "shared memory": 0,      "blocks per SM": 0.22,      '
            f'"warps per SM": 4.44,      "grid": {grid},      "block": [256, 1, 1],      "est. achieved occupancy %": 7'
        )

    def _event(self, cat: str, name: str, pid: int, tid: int, start: float, length: float, args: str) -> None:
        times = (
            (f"{self.offset + start:.3f}", f"{length:.3f}")
            if self.based
            else (f"{self.offset + start:.0f}", f"{length:.0f}")
        )
        self.written.append(
            f'  {{\n    "ph": "X", "cat": "{cat}", "name": "{name}", "pid": {pid}, "tid": {tid},\n    "ts": {times[0]}, "dur": {times[1]},\n'
            f'    "args": {{\n      {args}\n    }}\n  }}'
        )

    def text(self) -> str:
        world = self.job.world
        devices = ",\n".join(
            f'    {{\n      "id": {n}, "name": "NVIDIA A100-SXM4-80GB", "totalGlobalMem": 84990623744,\n      "computeMajor": 8, "computeMinor": 0\n    }}'
            for n in range(world)
        )
        groups = f'"pg_count": 1, "pg_config": [{{"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl", "pg_size": {world}}}], "nccl_version": "2.21.5"'
        info = (
            f'{{"backend": "nccl", "rank": {self.number}, "world_size": {world}{", " + groups if self.sized else ""}}}'
        )
        base = ',\n  "displayTimeUnit": "ms",\n  "baseTimeNanoseconds": 1711964646000000000' if self.based else ""
        events = ",\n".join(self.written)
        return (
            f'{{\n  "schemaVersion": 1,\n  "deviceProperties": [\n{devices}\n  ],\n  "distributedInfo": {info},\n  "traceEvents": [\n'
            f'{events},\n  {{\n    "name": "process_name", "ph": "M", "ts": 1, "pid": 4000, "tid": 0,\n    "args": {{\n      "name": "python"\n    }}\n  }}\n'
            f'  ],\n  "traceName": "rank{self.number}.pt.trace.json"{base}\n}}'
        )
