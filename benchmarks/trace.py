"""Reading profiler traces: python benchmarks/trace.py [FILE...]

MB/s of JSON (by CPU time) beside `json.load` of the same file in the same run, and the most memory that each took. Without a
file a trace of a data-parallel job is written first: 60 MB of little but kernels, the densest kind.
"""

from __future__ import annotations

import gzip
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]


def opened(path: str) -> IO[bytes]:
    return gzip.open(path, "rb") if path.endswith(".gz") else open(path, "rb")


def ours(path: str) -> int:
    from assistant.facts import Input
    from assistant.intake.packed import Counted
    from assistant.intake.traces import read_trace

    record = Input(path, 0, 0, "text")
    with opened(path) as file:
        read_trace(record, Counted(file))
    return record.bytes


def theirs(path: str) -> int:
    with opened(path) as file:
        text = file.read()
    json.loads(text)
    return len(text)


def measure(path: str, what: str) -> dict[str, Any]:
    """In a process of its own, for its memory."""
    out = subprocess.run([sys.executable, __file__, "--one", what, path], check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(out.stdout)
    return found


def one(what: str, path: str) -> None:
    start = time.process_time()
    size = (ours if what == "ours" else theirs)(path)
    seconds = time.process_time() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"mb": size / 1e6, "mb_s": size / 1e6 / seconds, "memory_mb": memory}))


def main() -> int:
    paths = sys.argv[1:]
    if paths[:1] == ["--write"]:
        from kineto_writer import Job

        Path(paths[1]).write_text(Job(world=2, steps=1200, items=20).traces()[0])
        return 0
    if paths[:1] == ["--one"]:
        one(paths[1], paths[2])
        return 0
    with tempfile.TemporaryDirectory() as folder:
        if not paths:
            paths = [str(Path(folder) / "rank0.pt.trace.json")]
            subprocess.run([sys.executable, __file__, "--write", paths[0]], check=True)  # its memory is not ours
        for name in paths:
            mine, plain = (
                min((measure(name, w) for _ in range(3)), key=lambda m: -m["mb_s"]) for w in ("ours", "json")
            )
            print(
                f"{Path(name).name}: {mine['mb']:.0f} MB, {mine['mb_s']:.0f} MB/s in {mine['memory_mb']:.0f} MB of memory; "
                f"json.load {plain['mb_s']:.0f} MB/s in {plain['memory_mb']:.0f} MB; ratio {mine['mb_s'] / plain['mb_s']:.2f}"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
