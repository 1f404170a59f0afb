"""The forms in which a job leaves its logs behind: one file a rank in several namings, or one stream of all ranks with marks."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tests.simulated.nccl_job import Job

Files = Iterator[tuple[str, str]]
"""Name and text of each file."""

Mark = Callable[[Job, int], str]


def write(job: Job, form: str, folder: Path, size: int = 0) -> list[str]:
    """Writes the logs of a job in this form; the paths of the files."""
    paths = []
    for name, text in FORMS[form](job, size):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        paths.append(str(path))
    return paths


def _each(name: Callable[[Job, int], str]) -> Callable[[Job, int], Files]:
    def files(job: Job, size: int) -> Files:
        for rank in job.ranks():
            yield name(job, rank), job.log(rank, size)

    return files


def _stream(name: str, mark: Mark) -> Callable[[Job, int], Files]:
    def files(job: Job, size: int) -> Files:
        yield name, mixed({r: (mark(job, r), job.lines(r, size)) for r in job.ranks()})

    return files


def mixed(streams: Mapping[int, tuple[str, list[str]]]) -> str:
    """Lines of all ranks in turn, a few of each, as a launcher collects them."""
    chance = random.Random(7)
    places = dict.fromkeys(streams, 0)
    out: list[str] = []
    while places:
        for rank in list(places):
            mark, lines = streams[rank]
            some = chance.randint(1, 6)
            out += [mark + line for line in lines[places[rank] : places[rank] + some]]
            places[rank] += some
            if places[rank] >= len(lines):
                del places[rank]
    return "\n".join(out) + "\n"


def _by_node(name: Callable[[Job, int], str]) -> Callable[[Job, int], Files]:
    """One file a node, in which torchrun marks each line with the local rank."""

    def files(job: Job, size: int) -> Files:
        for node in range(job.nodes):
            ranks = [r for r in range(node * job.gpus, (node + 1) * job.gpus) if r not in job.absent]
            if ranks:
                streams = {r: (f"[default{r % job.gpus}]:", job.lines(r, size)) for r in ranks}
                yield name(job, ranks[0]), mixed(streams)

    return files


FORMS: dict[str, Callable[[Job, int], Files]] = {
    "rank-file": _each(lambda job, r: f"rank_{r:04d}.log"),
    "host-rank": _each(lambda job, r: f"{job.host(r)}-rank{r}.log"),
    "attempt": _each(lambda job, r: f"attempt_0/{r}/stderr.log"),
    "attempt-by-node": _each(lambda job, r: f"{job.host(r)}/attempt_0/{r % job.gpus}/stderr.log"),
    "nccl-file": _each(lambda job, r: f"nccl.{job.host(r)}.{job.pid(r)}.log"),
    "slurm": _stream("slurm-81422.out", lambda job, r: f"{r:>{len(str(job.size - 1))}d}: "),
    "torchrun-rank": _stream("train.log", lambda job, r: f"[rank{r}]:"),
    "torchrun-node": _by_node(lambda job, r: f"{job.host(r)}.log"),
    "mpirun": _stream("mpirun.log", lambda job, r: f"[1,{r}]<stdout>:"),
}
