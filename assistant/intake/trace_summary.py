"""What the trace of one rank says, in a few kB: how its time was spent, step by step and in all.

Times are microseconds. `gpu` is false where only the host was traced; then operators of the CPU count as compute and
the annotations of gloo or MPI as communication.
"""

from __future__ import annotations

import re
import zlib
from statistics import median
from typing import Any

from assistant.intake.intervals import Span, Spans, clip, gaps, merged, minus, total
from assistant.intake.trace_comm import COMM_KERNEL, Collectives, message, shape
from assistant.intake.trace_events import Event, grid_of, number_of, text_of
from assistant.intake.trace_idle import Annotations, Idle, idle

#: Kinds of kernel that are told apart, those that are kept, steps that are looked at, and steps that are told one by one.
KERNELS = 20_000
KEPT = 24
STEPS = 400
EACH = 40
#: Times (us) beyond this are damage.
LARGEST = 1e18

_KERNEL = ("kernel", "Kernel")
_COPY = ("gpu_memcpy", "Memcpy", "gpu_memset", "Memset")
_STEP = re.compile(r"ProfilerStep#?\s*(\d{1,12})")
_SYNC = re.compile(r"(?:cuda|hip)(?:Stream|Device|Event)Synchronize")
_ITEM = ("aten::item", "aten::_local_scalar_dense")
_CPU_COMM = re.compile(r"(?:gloo|mpi|ucc|hccl|xccl):")
_NO_COMPUTE = re.compile(r"record_param_comms|c10d::|enumerate\(DataLoader\)|(?:gloo|mpi|nccl|ucc):")


class Device:
    """What ran on one GPU."""

    def __init__(self) -> None:
        self.compute = Spans()
        self.comm = Spans()
        self.copies = Spans()
        self.time = 0.0


class Summary:
    """Takes the events of a trace one by one."""

    def __init__(self, world: int = 0) -> None:
        self.world = world
        self.events = 0
        self.base: float | None = None
        self.devices: dict[str, Device] = {}
        self.steps: dict[int, Span] = {}
        self.gpu_steps: dict[int, Span] = {}
        self.data, self.syncs, self.cpu, self.cpu_comm = Spans(), Spans(), Spans(), Spans()
        self.loads = self.sync_calls = self.item_calls = 0
        self.item_time = 0.0
        self.comm = Collectives()
        self.cpu_kinds = Collectives()
        self.annotations = Annotations()
        self.kernels: dict[tuple[str, str], list[float]] = {}
        self.copied = {"pageable_n": 0.0, "pageable_us": 0.0, "pageable_bytes": 0.0, "h2d_us": 0.0, "d2h_n": 0.0}
        self._comm_names: dict[str, bool] = {}
        self._sized_calls = False

    def take(self, events: list[Event]) -> None:
        for cat, name, pid, _tid, ts, dur, args in events:
            try:
                start, length = float(ts), float(dur)
            except ValueError:
                continue
            if not (-LARGEST < start < LARGEST and 0 <= length < LARGEST):
                continue
            if self.base is None:
                self.base = start
            start -= self.base
            if cat in _KERNEL:
                self._kernel(name, pid, start, length, args)
            elif cat in _COPY:
                self._copy(name, pid, start, length, args)
            elif cat.startswith("gpu_"):
                if name.startswith("ProfilerStep"):
                    self._step(self.gpu_steps, name, start, length)
            elif cat != "Trace":
                self._host(name, start, length, args)
        self.events += len(events)

    def _kernel(self, name: str, pid: str, start: float, length: float, args: str | dict[str, Any]) -> None:
        device = self.devices.get(pid)
        if device is None:
            device = self.devices[pid] = Device()
        device.time += length
        comm = self._comm_names.get(name)
        if comm is None:
            if len(self._comm_names) > KERNELS:
                self._comm_names.clear()
            comm = self._comm_names[name] = COMM_KERNEL.search(name) is not None
        if comm:
            device.comm.add(start, start + length)
            self.comm.kernel(name, start, length, args)
            return
        device.compute.add(start, start + length)
        key = (name, grid_of(args))
        known = self.kernels.get(key)
        if known is not None:
            known[0] += 1
            known[1] += length
        elif len(self.kernels) < KERNELS:
            self.kernels[key] = [1, length]

    def _copy(self, name: str, pid: str, start: float, length: float, args: str | dict[str, Any]) -> None:
        self.devices.setdefault(pid, Device()).copies.add(start, start + length)
        if "HtoD" in name:
            self.copied["h2d_us"] += length
            if "Pageable" in name:
                self.copied["pageable_n"] += 1
                self.copied["pageable_us"] += length
                self.copied["pageable_bytes"] += number_of(args, "bytes") or 0
        elif "DtoH" in name:
            self.copied["d2h_n"] += 1

    def _step(self, steps: dict[int, Span], name: str, start: float, length: float) -> None:
        found = _STEP.match(name)
        if found and (len(steps) < STEPS or int(found[1]) in steps):
            number = int(found[1])
            first, last = steps.get(number, (start, start + length))
            steps[number] = (min(first, start), max(last, start + length))

    def _host(self, name: str, start: float, length: float, args: str | dict[str, Any]) -> None:
        end = start + length
        if name.startswith("ProfilerStep"):
            self._step(self.steps, name, start, length)
        elif name.startswith("enumerate(DataLoader)"):
            self.loads += 1
            self.data.add(start, end)
        elif name == "record_param_comms":
            size, _ = message(args)
            collective = text_of(args, "Collective name")
            if collective and size:
                self._sized_calls = True
                self.comm.call(collective, start, size)
        elif name.startswith("nccl:"):
            if not self._sized_calls:
                self.comm.call(name, start, shape(args))
        elif _CPU_COMM.match(name):
            self.cpu_comm.add(start, end)
            self.cpu_kinds.annotation(name, start, length, args, self.world)
        elif _SYNC.match(name):
            self.sync_calls += 1
            self.syncs.add(start, end)
        elif name in _ITEM:
            if name == _ITEM[0]:
                self.item_calls += 1
                self.item_time += length
        elif not _NO_COMPUTE.match(name):
            self.annotations.add(name, start, end)
            if "::" in name:
                self.cpu.add(start, end)

    def short(self) -> dict[str, Any]:
        """The summary."""
        device = max(self.devices.values(), key=lambda d: d.time, default=None)
        gpu = device is not None and device.time > 0
        if gpu and device is not None:
            compute, comm, copies = device.compute.union(), device.comm.union(), device.copies.union()
        else:
            compute, comm, copies = self.cpu.union(), self.cpu_comm.union(), []
        data = self.data.union()
        busy = merged(compute + comm + copies)
        steps = sorted((span, number) for number, span in (self.steps or self.gpu_steps).items())
        window = _window([s for s, _ in steps], busy if gpu else merged(busy + data))
        found: dict[str, Any] = {"events": self.events, "gpu": gpu, "devices": len(self.devices)}
        if window is None:
            return found
        exposed = minus(comm, compute)
        lines = {"comm": comm, "exposed": exposed, "compute": compute, "busy": busy, "data": data}
        found["span"] = round(window[1] - window[0], 1)
        for name, spans in lines.items():
            found[name] = round(total(clip(spans, *window)), 1)
        found["copies"] = round(total(clip(copies, *window)), 1)
        found["steps"] = _steps(steps, lines)
        if gpu:
            step = found["steps"]["us"] if found["steps"]["n"] else 0.0
            found["idle"] = idle(busy, window, data, self.syncs.union(), self.annotations, step).short()
        else:
            open_time = minus(gaps(busy, *window), data)
            found["idle"] = Idle(total=round(total(open_time), 1)).short()
        found["kinds"] = (self.comm if gpu else self.cpu_kinds).short(self.world)
        found["sync"] = {"n": self.sync_calls, "us": round(total(self.syncs.union()), 1)}
        found["item"] = {"n": self.item_calls, "us": round(self.item_time, 1)}
        found["loads"] = self.loads
        found["copied"] = {k: round(v, 1) for k, v in self.copied.items() if v}
        found["kernels"] = self._top()
        return found

    def _top(self) -> dict[str, list[float]]:
        """The kernels that took the most time, by a mark of name and grid: the same work on every rank has the same mark."""
        top = sorted(self.kernels.items(), key=lambda item: (-item[1][1], item[0]))[:KEPT]
        found: dict[str, list[float]] = {}
        for (name, grid), (count, time) in top:
            mark = f"{name}|{''.join(grid.split())}"
            found[f"{zlib.crc32(mark.encode()):08x}"] = [int(count), round(time, 1)]
        return found


def _window(steps: list[Span], busy: list[Span]) -> Span | None:
    """From the first step to the end of the last one and of what it set going; without steps all that was traced."""
    if steps:
        end = max(e for _, e in steps)
        late = [e for s, e in busy[-50:] if s < end]
        return steps[0][0], max([end, *late])
    return (busy[0][0], busy[-1][1]) if busy else None


def _steps(steps: list[tuple[Span, int]], lines: dict[str, list[Span]]) -> dict[str, Any]:
    """Length and parts of the steps: their medians, and which steps are far longer than the rest."""
    if not steps:
        return {"n": 0}
    lengths = [end - start for (start, end), _ in steps]
    middle = median(lengths)
    found: dict[str, Any] = {"n": len(steps), "us": round(middle, 1), "max": round(max(lengths), 1)}
    found["spread"] = round(median(abs(x - middle) for x in lengths), 1)
    for name, spans in lines.items():
        found[name] = round(median(total(clip(spans, *span)) for span, _ in steps), 1)
    found["each"] = [[n, round(total(clip(lines["comm"], *span)), 1)] for span, n in steps[:EACH]]
    slow = [(n, e - s) for (s, e), n in steps if e - s > 1.5 * middle and e - s > middle + 5e4]
    found["slow"] = [[n, round(length, 1)] for n, length in slow[:8]]
    found["slow_n"] = len(slow)
    return found
