"""Triage of the logs of thousands of ranks, beside ripgrep's search with the same signatures on the same files.

    python benchmarks/scale.py [--folder FOLDER] [--ranks 64,256,1024,4096] [--bytes 1000000] [--runs 3] [--max-ratio 1]

Writes NCCL logs of a faultless job, one file a rank, into FOLDER (a temporary one where none is named) and runs in turn

    rg -c -f SIGNATURES FOLDER
    ncclinic triage --json FOLDER

ripgrep gets the patterns of all signatures (named groups made plain, escapes that it refuses undone, the one or two with
look-around left out). Medians of --runs. Exit status 1 where the ratio at 1,024 ranks is above --max-ratio.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.measure import Measured, run
from knowledge.load import knowledge
from tests.simulated.nccl_job import Job

GPUS = 8


def write_logs(folder: Path, ranks: int, size: int) -> int:
    """The logs of all ranks; returns their bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    job = Job(nodes=ranks // GPUS)
    total = 0
    for rank in job.ranks():
        path = folder / f"rank_{rank:04d}.log"
        if not path.exists():
            path.write_text(job.log(rank, size))
        total += path.stat().st_size
    return total


def write_patterns(path: Path) -> tuple[int, int]:
    """The signatures' patterns for ripgrep; returns how many there are and how many it refuses."""
    good: list[str] = []
    refused = 0
    for signature in knowledge().signatures.values():
        pattern = re.sub(r"\(\?P<\w+>", "(?:", signature["match"])
        pattern = re.sub(r"\\([^\w\s\\.+*?()|\[\]{}^$#&\-~])", r"\1", pattern)
        tried = subprocess.run(["rg", "-c", "-e", pattern, "/dev/null"], capture_output=True, check=False)
        if tried.returncode == 2:
            refused += 1
        else:
            good.append(pattern)
    path.write_text("\n".join(good) + "\n")
    return len(good), refused


def medians(runs: list[Measured]) -> tuple[float, float, int]:
    return (
        statistics.median(r.wall for r in runs),
        statistics.median(r.cpu for r in runs),
        max(r.memory for r in runs),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--ranks", default="64,256,1024,4096")
    parser.add_argument("--bytes", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--max-ratio", type=float, default=1.0)
    options = parser.parse_args()
    if shutil.which("rg") is None:
        print("ripgrep (rg) is not installed; Debian's package is `ripgrep`", file=sys.stderr)
        return 2
    folder = options.folder or Path(tempfile.mkdtemp(prefix="ncclinic-scale-"))
    program = [sys.executable, "-c", "from assistant.cli import main; main()", "triage", "--json"]
    root = {"PYTHONPATH": str(Path(__file__).parent.parent), "PYTHONDONTWRITEBYTECODE": ""}
    bad = False
    try:
        folder.mkdir(parents=True, exist_ok=True)
        patterns = folder / "signatures.txt"
        count, refused = write_patterns(patterns)
        print(f"{count} patterns for rg, {refused} left out")
        run([*program, "--say", "slow"], **root)
        print("ranks       GB    rg s  rg cpu  triage s  cpu  ratio   GB/s  peak MB")
        for ranks in [int(n) for n in options.ranks.split(",")]:
            logs = folder / f"logs-{ranks}"
            total = write_logs(logs, ranks, options.bytes)
            peers: list[Measured] = []
            ours: list[Measured] = []
            for _ in range(options.runs):
                peers.append(run(["rg", "-c", "-f", str(patterns), str(logs)]))
                ours.append(run([*program, str(logs)], **root))
            (wall, cpu, _), (our_wall, our_cpu, memory) = medians(peers), medians(ours)
            ratio = our_wall / wall
            bad = bad or (ranks == 1024 and ratio > options.max_ratio)
            print(
                f"{ranks:5d} {total / 1e9:8.3f} {wall:7.2f} {cpu:7.2f} {our_wall:9.2f} {our_cpu:5.2f} {ratio:6.2f} "
                f"{total / our_wall / 1e9:6.2f} {memory / 1e6:8.0f}"
            )
            if options.folder is None:
                shutil.rmtree(logs)
    finally:
        if options.folder is None:
            shutil.rmtree(folder, ignore_errors=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
