"""Makes the flight recorder dump sets of this folder: small gloo jobs on the CPU in which one thing goes wrong.

    python make_dumps.py OUT [NAME ...]

Needs torch 2.13. Each set becomes OUT/NAME.tar.xz with one dump a rank and `truth.yaml` (fault, guilty ranks, ranks).
The dumps hold the path of this program, so it is best run from a copy in a neutral folder.
"""

from __future__ import annotations

import ctypes
import datetime
import io
import os
import random
import shutil
import signal
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Set:
    """One job. `lost` are ranks whose dumps are left out of the set, `torn` those whose dumps are cut off."""

    name: str
    fault: str
    ranks: int
    guilty: tuple[int, ...]
    tp: int = 1
    pp: int = 1
    step: int = 6
    steps: int = 60
    buffer: int = 200
    dump: str = "thread"
    """thread: a thread of each rank dumps while the job hangs. after: when an operation has failed. stale: every 0.2 s."""
    form: str = "pickle"
    file: str = "nccl_trace_rank_{}"
    where: str = "dp"
    lost: tuple[int, ...] = ()
    torn: tuple[int, ...] = ()


def sets() -> list[Set]:
    """All sets of this folder."""
    found: list[Set] = []

    def add(fault: str, ranks: int, guilty: tuple[int, ...], **more: Any) -> None:
        number = sum(s.fault == fault for s in found)
        found.append(Set(f"{fault}-{number:02d}", fault, ranks, guilty, **more))

    add("sigkill", 4, (2,))
    add("sigkill", 8, (5,), tp=2)
    add("sigkill", 8, (1,), tp=2, where="tp", dump="after")
    add("sigkill", 16, (11,), tp=4, form="json", file="trace_rank_{}.json")
    add("sigkill", 4, (0,), dump="after", form="json", file="fr_{}.json")
    add("sigkill", 6, (3, 4), tp=2, where="tp")
    add("sigkill", 4, (3,), dump="after")
    add("sigkill", 8, (6,), tp=2, pp=2, where="tp")
    add("sigstop", 4, (1,))
    add("sigstop", 8, (6,), tp=2, dump="stale")
    add("sigstop", 8, (3,), tp=4, dump="stale", where="tp", form="json", file="rank{}.json")
    add("sigstop", 16, (9,), tp=2, dump="stale")
    add("sigstop", 4, (0,), dump="after")
    add("sigstop", 6, (2,), dump="stale", buffer=24, steps=80, step=30)
    add("sigstop", 8, (4,), tp=2, pp=2, dump="stale")
    add("exception", 4, (3,))
    add("exception", 4, (1,), dump="after")
    add("exception", 8, (2,), tp=2)
    add("exception", 8, (7,), tp=2, dump="after", where="tp")
    add("exception", 12, (10,), tp=2, pp=3)
    add("exception", 16, (4,), tp=4, form="json", file="dump_{}.json")
    add("exception", 6, (0,), dump="after", buffer=20, steps=80, step=40)
    add("exception", 8, (1, 6), tp=2, where="tp")
    add("exception", 4, (2,), dump="after", form="json", file="trace_{}.json")
    add("exception", 8, (5,), tp=4, torn=(0, 6))
    add("skip", 4, (2,))
    add("skip", 6, (4,), where="loss")
    add("skip", 8, (3,), where="loss", dump="after")
    add("skip", 8, (6,), tp=2, pp=2, where="loss")
    add("skip", 12, (7,), tp=2, where="dp")
    add("skip", 4, (1,), form="json", file="nccl_trace_rank_{}.json")
    add("skip", 16, (13,), tp=4, where="loss", dump="after")
    add("shape", 4, (3,))
    add("shape", 6, (2,), buffer=24, step=9)
    add("shape", 8, (5,), tp=2)
    add("shape", 16, (8,), tp=4, form="json", file="_dump_{}.json")
    add("shape", 4, (0,), where="loss")
    add("shape", 12, (11,), tp=2, where="loss")
    add("dtype", 4, (1,))
    add("dtype", 6, (5,), step=9)
    add("dtype", 8, (2,), tp=2, form="json", file="trace_rank_{}.json")
    add("dtype", 8, (4,), where="loss")
    add("op", 4, (2,))
    add("op", 8, (7,), tp=2, where="loss")
    add("op", 6, (1,), dump="after")
    add("gil", 4, (3,), dump="stale")
    add("gil", 8, (2,), tp=2, dump="stale", where="tp")
    add("gil", 16, (10, 15), tp=2, dump="stale", where="tp")
    add("gil", 8, (5,), tp=2)
    add("gil", 12, (6,), tp=2, pp=3, dump="stale", form="json", file="fr_rank{}.json")
    add("gil", 6, (0,), dump="after")
    add("gil", 8, (7,), tp=4, dump="stale", torn=(1,))
    add("loader", 4, (2,))
    add("loader", 8, (4,), tp=2)
    add("loader", 8, (1,), tp=4, dump="after")
    add("loader", 16, (12,), tp=2, form="json", file="trace_rank_{}.json")
    add("loader", 6, (5,), buffer=30, steps=80, step=50)
    add("loader", 4, (0,), lost=(3,))
    add("loader", 8, (6,), tp=2, lost=(1,))
    add("late", 4, (2,), steps=24, buffer=400)
    add("late", 8, (5,), steps=24, buffer=400)
    add("early", 4, (1,), step=10)
    add("early", 8, (3,), step=9, dump="after")
    add("early", 8, (6,), tp=2, step=8, torn=(2, 5))
    add("early", 16, (9,), tp=4, step=8, lost=(2,))
    add("early", 6, (5,), step=10, form="json", file="rank_{}.json", torn=(1,))
    add("healthy", 4, (), steps=12)
    add("healthy", 8, (), tp=2, steps=12, form="json", file="trace_rank_{}.json")
    add("healthy", 8, (), tp=2, pp=2, steps=40, buffer=40)
    return found


class Job:
    """One rank's part of a job."""

    def __init__(self, job: Set, rank: int, folder: Path) -> None:
        import torch
        import torch.distributed as dist

        self.job, self.rank, self.folder = job, rank, folder
        self.torch, self.dist = torch, dist
        torch.set_num_threads(1)
        limit = 2.0 if job.dump == "after" else 60.0
        dist.init_process_group(
            "gloo",
            init_method=f"file://{folder}/store",
            rank=rank,
            world_size=job.ranks,
            timeout=datetime.timedelta(seconds=limit),
        )
        self.tp = self._group(job.tp, 1)
        self.dp = self._group(job.ranks // job.tp // job.pp, job.tp)
        self.pp = self._group(job.pp, job.ranks // job.pp) if job.pp > 1 else None
        self.lock = threading.Lock()

    def _group(self, size: int, stride: int) -> Any:
        """Of the groups of this shape, all of which every rank must make, the one that holds this rank."""
        mine, left = None, set(range(self.job.ranks))
        while left:
            first = min(left)
            members = [first + stride * i for i in range(size)]
            left -= set(members)
            group = self.dist.new_group(
                members, timeout=datetime.timedelta(seconds=2.0 if self.job.dump == "after" else 60.0)
            )
            if self.rank in members:
                mine = (group, members)
        return mine

    def write(self) -> None:
        recorder = self.torch._C._distributed_c10d
        data = recorder._dump_fr_trace_json() if self.job.form == "json" else recorder._dump_fr_trace()
        with self.lock:
            target = self.folder / self.job.file.format(self.rank)
            target.with_suffix(".part").write_bytes(data)
            target.with_suffix(".part").replace(target)

    def watch(self) -> None:
        """Dumps when asked to, or again and again."""
        often = self.job.dump == "stale" or self.job.fault in ("shape", "dtype")
        while not (self.folder / "dump").exists():
            if often:
                self.write()
            time.sleep(0.2 if often else 0.02)
        self.write()

    def run(self) -> None:
        if self.job.dump != "after":
            threading.Thread(target=self.watch, daemon=True).start()
        try:
            for step in range(self.job.steps):
                self.step(step)
        except Exception:
            (self.folder / f"failed{self.rank}").touch()
        if self.job.dump == "after":
            self.write()
            time.sleep(0.3)
            os._exit(1)
        (self.folder / f"ended{self.rank}").touch()
        time.sleep(600)

    def step(self, step: int) -> None:
        job, dist, torch = self.job, self.dist, self.torch
        fault = job.fault if self.rank in job.guilty and step == job.step else ""
        if job.fault == "late":
            time.sleep(0.06 if self.rank in job.guilty else 0.01)
        if fault in ("loader", "early") or (fault and job.where == "tp"):
            self.fail(fault)
        hidden = torch.ones(64, 8)
        if job.tp > 1:
            group, members = self.tp
            dist.all_reduce(hidden, group=group)
            parts = [torch.empty(64, 8) for _ in members]
            dist.all_gather(parts, hidden, group=group)
        if self.pp is not None:
            group, members = self.pp
            for stage in members:
                dist.broadcast(hidden, stage, group=group)
        if fault and job.where == "dp":
            self.fail(fault)
        group, _ = self.dp
        for bucket in (1000, 300):
            both = fault == "skip" or bucket == 1000
            self.reduce(bucket, group, fault if both and job.where == "dp" else "")
        if step % 3 == 0 or step == job.step:
            if fault and job.where == "loss":
                self.fail(fault)
            self.reduce(1, None, fault if job.where == "loss" else "")
        if step % 10 == 9:
            dist.barrier()

    def reduce(self, size: int, group: Any, fault: str) -> None:
        torch, dist = self.torch, self.dist
        if fault == "skip":
            return
        if fault == "shape":
            size = size * 2 + 5
        if fault in ("shape", "dtype"):
            time.sleep(0.8)  # gloo ends the processes that get more than they expect: let them dump before
        value = torch.ones(size, dtype=torch.float64 if fault == "dtype" else torch.float32)
        if fault == "op":
            dist.barrier(group=group)
        else:
            dist.all_reduce(value, group=group)

    def fail(self, fault: str) -> None:
        job = self.job
        if fault == "sigkill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif fault == "sigstop":
            time.sleep(0.3)
            os.kill(os.getpid(), signal.SIGSTOP)
        elif fault == "gil":
            time.sleep(0.3)
            ctypes.PyDLL(None).sleep(600)
        elif fault == "loader":
            time.sleep(600)
        elif fault == "early":
            self.job = replace(job, steps=0)
            raise StopIteration
        elif fault == "exception":
            raise ValueError("bad batch")


def make(job: Set, out: Path) -> str:
    """Runs the job and packs its dumps; says what was got."""
    folder = Path(tempfile.mkdtemp(prefix="fr"))
    os.environ["TORCH_FR_BUFFER_SIZE"] = str(job.buffer)
    children = [_fork(lambda r=rank: Job(job, r, folder).run()) for rank in range(job.ranks)]  # type: ignore[misc]
    _wait(job, folder, children)
    (folder / "dump").touch()
    names = {rank: job.file.format(rank) for rank in range(job.ranks)}
    end = time.time() + 3
    while time.time() < end and not all((folder / n).exists() for n in names.values()):
        time.sleep(0.05)
    time.sleep(0.4)
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    got = _pack(job, folder, out, names)
    shutil.rmtree(folder)
    return f"{job.name}: dumps of {got}"


def _fork(work: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        try:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 2)
            work()
        finally:
            os._exit(1)
    return child


def _wait(job: Set, folder: Path, children: list[int]) -> None:
    """Until the job has ended, or has hung for a while: longer where ranks must first run into their time limit."""
    if job.fault in ("healthy", "late"):
        end = time.time() + 40
        while time.time() < end and sum(1 for _ in folder.glob("ended*")) < job.ranks:
            time.sleep(0.1)
        return
    start = time.time()
    while not (folder / "store").exists() and time.time() < start + 10:
        time.sleep(0.05)
    time.sleep(1.5 + 0.35 * job.ranks + 0.012 * job.step * job.ranks + (3.5 if job.dump == "after" else 0))


def _pack(job: Set, folder: Path, out: Path, names: dict[int, str]) -> list[int]:
    got = []
    chance = random.Random(job.name)
    with tarfile.open(out / f"{job.name}.tar.xz", "w:xz", preset=9) as archive:
        for rank, name in names.items():
            file = folder / name
            if not file.exists() or not file.stat().st_size or rank in job.lost:
                continue
            data = file.read_bytes()
            if rank in job.torn:
                data = data[: int(len(data) * chance.uniform(0.3, 0.9))]
            _add(archive, name, data)
            got.append(rank)
        truth = f"fault: {job.fault}\nranks: {job.ranks}\nguilty: [{', '.join(str(r) for r in job.guilty)}]\n"
        _add(archive, "truth.yaml", truth.encode())
    return got


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    archive.addfile(info, io.BytesIO(data))


def main() -> None:
    import torch.distributed  # once, before the ranks are forked, as is the slow start of the naming of stack frames

    profiler = torch._C._profiler
    profiler.symbolize_tracebacks([profiler.gather_traceback(python=True, script=False, cpp=False)])
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    wanted = sys.argv[2:]
    for job in sets():
        if not wanted or job.name in wanted:
            print(make(job, out), flush=True)


if __name__ == "__main__":
    main()
