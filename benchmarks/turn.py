"""The time of one turn of the conversation with many facts in the session.

    python benchmarks/turn.py [--facts 10000] [--max-ms 50]

Exit status 1 where the median is above --max-ms.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from assistant.conversation import Attached, Conversation
from knowledge.load import knowledge

MESSAGES = (
    "gpus are idle",
    "dunno",
    "why?",
    "actually it's RoCE",
    "what did you rule out?",
    "undo",
    "it began after we updated the driver",
    "yes",
    "the network is 100 Gbit/s",
    "no idea",
)
GPU_ROW = "{gpu}, NVIDIA H100 80GB HBM3, {util:.3f} %, {power:.3f} W, 700.00 W, {temp:.3f}, {clock:.3f} MHz, 1980 MHz\n"
HEADER = "index, name, utilization.gpu [%], power.draw [W], power.limit [W], temperature.gpu, clocks.current.sm [MHz], clocks.max.sm [MHz]\n"


def machine_output(host: int) -> Attached:
    """What nvidia-smi prints as CSV on one host of eight GPUs."""
    rows = ""
    for gpu in range(8):
        part = (host * 8 + gpu) / 1000  # every figure differs: of equal facts only some are kept
        rows += GPU_ROW.format(gpu=gpu, util=80 + part, power=600 + part, temp=50 + part, clock=1900 + part)
    return Attached(f"node{host:04d}.txt", HEADER + rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facts", type=int, default=10_000)
    parser.add_argument("--max-ms", type=float, default=50.0)
    options = parser.parse_args()
    talk = Conversation(knowledge())
    reply = talk.turn("many nodes of 8 H100 are slow")
    host = 0
    while len(reply.diagnosis.facts) < options.facts:
        missing = options.facts - len(reply.diagnosis.facts)
        reply = talk.turn("", [machine_output(host + i) for i in range(max(1, missing // 60))])
        if len(reply.diagnosis.facts) == options.facts - missing:
            print("the attachments yield no facts", file=sys.stderr)
            return 2
        host += max(1, missing // 60)
    times = []
    for message in MESSAGES * 3:
        start = time.perf_counter()
        reply = talk.turn(message)
        times.append((time.perf_counter() - start) * 1000)
    median = statistics.median(times)
    print(
        f"facts {len(reply.diagnosis.facts)}  turns {len(times)}  median {median:.1f} ms  largest {max(times):.1f} ms"
    )
    return 0 if median <= options.max_ms else 1


if __name__ == "__main__":
    sys.exit(main())
