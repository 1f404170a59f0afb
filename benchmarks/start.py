"""What starting costs: `ncclinic triage` of a small log beside `python -c pass`.

    python benchmarks/start.py [--runs 15] [--max-s 0.5]

Exit status 1 where the median of triage is above --max-s.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LOG = "n1:201:230 [0] include/shm.h:28 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-k2x9 (size 9637888)\n"
SAID = "two nodes of 8 A100 on 25 GbE, training is four times slower than on one node and the GPUs are idle"


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return time.perf_counter() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--max-s", type=float, default=0.5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "small.log"
        log.write_text(LOG * 50)
        program = str(Path(sys.executable).parent / "ncclinic")
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "ncclinic --version": [program, "--version"],
            "ncclinic triage small.log": [program, "triage", str(log)],
            "ncclinic triage --say ... small.log": [program, "triage", "--say", SAID, str(log)],
        }
        for command in commands.values():
            seconds(command)  # fills the caches
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(options.runs):
            for name, command in commands.items():
                times[name].append(seconds(command))
    base = statistics.median(times["python -c pass"])
    for name, values in times.items():
        middle = statistics.median(values)
        print(f"{name:38} median {middle:.3f} s  ({middle / base:5.1f} x python -c pass)")
    return 0 if statistics.median(times["ncclinic triage small.log"]) <= options.max_s else 1


if __name__ == "__main__":
    sys.exit(main())
