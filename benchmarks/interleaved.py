"""One job's interleaved log of a million progress lines with one failure: the right origin, how soon, in how much memory.

    python benchmarks/interleaved.py [--lines 1000000] [--gzip] [--max-seconds 2]

The log is that of `srun -l` with 64 ranks: every rank prints its iterations, rank 37 raises an exception in the middle, the
others' collectives time out half a minute later, and Slurm ends the job. Printed: the time of `cat` on the file beside the
triage, and what the triage says. Exit status 1 where the origin is wrong or the verdict comes more than --max-seconds after the
time that reading alone takes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.measure import run

RANKS = 64
GUILTY = 37
TRACEBACK = """Traceback (most recent call last):
  File "/workspace/train.py", line 412, in <module>
    main()
  File "/workspace/train.py", line 371, in main
    loss = model(batch["input_ids"].cuda(), labels=batch["labels"].cuda())
  File "/workspace/data.py", line 88, in __getitem__
    return self.samples[index]
KeyError: 'labels'"""


def lines(count: int) -> Iterator[str]:
    """About `count` lines of progress, and the failure after two thirds of them."""
    steps = count // RANKS
    failing = steps * 2 // 3
    for step in range(steps):
        clock = f"2026-03-11 {10 + step // 3600:02d}:{step // 60 % 60:02d}:{step % 60:02d}"
        for rank in range(RANKS):
            if step > failing and rank == GUILTY:
                continue
            yield (
                f"{rank}:  [{clock}] iteration {step:8d}/ {steps:8d} | consumed samples: {step * 1024:12d} | "
                f"elapsed time per iteration (ms): {1000 + (step * 7 + rank * 3) % 23:.1f} | learning rate: 1.500E-04 | "
                f"global batch size:  1024 | lm loss: {2.5 - step / steps:.6E} | loss scale: 1.0 | grad norm: 0.{step % 997:03d} |"
            )
        if step == failing:
            yield from (f"{GUILTY}: {line}" for line in TRACEBACK.splitlines())
        if step == failing + 40:
            for rank in range(RANKS):
                if rank != GUILTY:
                    yield (
                        f"{rank}: [rank{rank}]:[E311 {clock[11:]}.123456789 ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught "
                        f"collective operation timeout: WorkNCCL(SeqNum={step}, OpType=ALLREDUCE, NumelIn=26214400, NumelOut=26214400, "
                        "Timeout(ms)=600000) ran for 600012 milliseconds before timing out."
                    )
    yield "slurmstepd: error: *** STEP 81234.0 ON gpu-0000 CANCELLED AT 2026-03-11T16:01:00 ***"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--gzip", action="store_true")
    parser.add_argument("--max-seconds", type=float, default=2.0)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="ncclinic-interleaved-"))
    program = [sys.executable, "-c", "from assistant.cli import main; main()", "triage", "--json"]
    root = {"PYTHONPATH": str(Path(__file__).parent.parent), "PYTHONDONTWRITEBYTECODE": ""}
    try:
        path = folder / ("slurm-81234.out.gz" if options.gzip else "slurm-81234.out")
        size = 0
        with gzip.open(path, "wt", compresslevel=1) if options.gzip else path.open("w") as out:
            for line in lines(options.lines):
                size += out.write(line + "\n")
        run([*program, "--say", "slow"], **root)
        read = run(["gzip", "-dc", str(path)] if options.gzip else ["cat", str(path)])
        ours = run([*program, str(path)], **root)
        answer = json.loads(ours.output)
        first = answer["causes"][0]
        quote = next(e for e in first["evidence"] if e["origin"].get("line"))
        print(f"{size / 1e6:.0f} MB; reading alone {read.wall:.2f} s; triage {ours.wall:.2f} s, {ours.cpu:.2f} s CPU,")
        print(f"memory {ours.memory / 1e6:.0f} MB")
        print(
            f"verdict {answer['verdict']}: {first['id']} ({first['probability']:.2f}), ranks {first['where']['ranks']}"
        )
        print(f"line {quote['origin'].get('line')}: {quote.get('quote')}")
        right = first["where"]["ranks"] == [GUILTY] and answer["verdict"] == "problem"
        return 0 if right and ours.wall - read.wall <= options.max_seconds else 1
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
