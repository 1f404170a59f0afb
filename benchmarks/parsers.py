"""What each parser costs on texts of several kinds: python benchmarks/parsers.py [--size KIB] [--only NAME ...] [--least MS_PER_MB]

Every parser is timed on every text, whether its triggers occur there or not; `*` marks those that are asked, and the last
column tells by which trigger. CPU time, the least of three runs, in milliseconds a megabyte: 10 is 100 MB/s.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))


from assistant.facts import Input
from assistant.intake.chunks import Chunker
from assistant.intake.document import Document
from assistant.intake.prefix import Splitter
from assistant.parsers import marks
from tests.simulated.nccl_job import Job

ROOT = Path(__file__).parent.parent
RUNS = 3


@dataclass
class Cost:
    parser: str
    by_text: dict[str, float]
    asked: dict[str, list[str]]

    @property
    def most(self) -> float:
        """The cost on the dearest text for which the parser is asked."""
        return max((cost for text, cost in self.by_text.items() if self.asked[text]), default=0.0)


def texts(size: int) -> dict[str, str]:
    """Texts of `size` characters by kind."""
    return {
        "nccl": Job(nodes=4).log(3, size)[:size],
        "training": _filled(training_lines(), size),
        "kernel": _filled(kernel_lines(), size),
        "inspector": _filled(inspector_lines(), size),
        "mixed": mixed(size),
    }


def one_rank() -> str:
    """What is kept of one rank's log of thousands."""
    return "\n".join(Job(nodes=4).log(3).split("\n")[:70])


def training_lines() -> list[str]:
    lines: list[str] = []
    for step in range(400):
        lines.append(
            f" [2025-03-04 11:{step // 60 % 60:02d}:{step % 60:02d}] iteration {step + 1:8d}/  500000 | consumed samples: {(step + 1) * 1024:12d} | "
            f"elapsed time per iteration (ms): {5120.0 + step % 17:.1f} | throughput per GPU (TFLOP/s/GPU): 402.{step % 10} | learning rate: 1.2E-04 | "
            f"global batch size:  1024 | lm loss: {7 - step / 400:.6E} | loss scale: 1.0 | grad norm: 0.{300 + step % 90} | "
            "number of skipped iterations:   0 | number of nan iterations:   0 |"
        )
        if step % 3 == 0:
            lines.append(
                f"Epoch 3:  {step // 4:2d}%|{'█' * (step // 40)}{' ' * (10 - step // 40)}| {step}/400 [0{step // 60}:{step % 60:02d}<06:12,  1.{step % 90:02d}it/s, v_num=0, loss=2.31]"
            )
        if step % 7 == 0:
            lines.append(
                "/opt/conda/lib/python3.11/site-packages/torch/utils/checkpoint.py:434: UserWarning: torch.utils.checkpoint: please pass in "
                "use_reentrant=True or use_reentrant=False explicitly. The default value of use_reentrant will be updated to be False in the future."
            )
            lines.append("  warnings.warn(")
        if step % 50 == 0:
            lines.append(
                f"INFO:trainer:rank 0 of 32 on gpu-0001 (node 0, GPU 0): step {step} to host memory -> {step} ms"
            )
    return lines


def kernel_lines() -> list[str]:
    lines: list[str] = []
    for n in range(400):
        lines.append(
            f"[{n * 3}.{n:06d}] pci 0000:{n % 256:02x}:00.0: BAR {n % 6}: assigned [mem 0x{n << 20:x}-0x{(n << 20) + 0xFFFFF:x} 64bit pref]"
        )
        lines.append(f"[{n * 3}.{n + 1:06d}] systemd[1]: Started Session {n} of User root.")
        if n % 5 == 0:
            lines.append(f"[{n * 3}.{n + 2:06d}] mlx5_core 0000:{n % 256:02x}:00.0 eth{n % 8}: Link up")
        if n % 40 == 0:
            lines.append(f"[{n * 3}.{n + 3:06d}] NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen off the bus.")
    return lines


def inspector_lines() -> list[str]:
    return [
        json.dumps(
            {
                "header": {"id": "0x7f8c496ae9f661", "rank": n % 8, "n_ranks": 8, "nnodes": 1},
                "metadata": {
                    "inspector_output_format_version": "v4.0",
                    "git_rev": "9019a1912",
                    "rec_mechanism": "profiler_plugin",
                    "dump_timestamp_us": 1748030377748202 + n,
                    "hostname": "gpu-0001",
                    "pid": 1639453,
                },
                "coll_perf": {
                    "coll": ("AllReduce", "ReduceScatter", "AllGather")[n % 3],
                    "coll_sn": 1407 + n,
                    "coll_msg_size_bytes": 17179869184,
                    "coll_exec_time_us": 61974 + n % 7,
                    "coll_algobw_gbs": 277.2,
                    "coll_busbw_gbs": 485.1 + n % 5,
                },
            }
        )
        for n in range(400)
    ]


def mixed(size: int) -> str:
    parts: list[str] = []
    files = sorted(
        f for f in (ROOT / "tests" / "cases").glob("*/*") if f.suffix not in {".yaml", ".md"} and f.is_file()
    )
    for path in files:
        parts.append(path.read_text(encoding="utf-8", errors="replace")[: max(4000, 2 * size // max(len(files), 1))])
    return "\n".join(parts)[:size]


def _filled(lines: list[str], size: int) -> str:
    text = "\n".join(lines) + "\n"
    return (text * (size // len(text) + 1))[:size]


def cost(parser: str, text: str, runs: int = RUNS) -> float:
    """Seconds of CPU time of one parser on a text that has been cut into lines and messages for others before."""
    module = importlib.import_module(f"assistant.parsers.{parser}")
    best = float("inf")
    for _ in range(runs):
        document = prepared(text)
        start = time.process_time()
        for _fact in module.parse(document):
            pass
        best = min(best, time.process_time() - start)
    return best


def prepared(text: str) -> Document:
    document = Document("log.txt", text)
    _ = document.marks, document.lines
    for _ in document.messages:
        break
    return document


def shared_cost(text: str) -> float:
    """Seconds of what is done once for all parsers of a document, and only where one asks for its messages."""
    splitter = Splitter.of(text)
    best = float("inf")
    for _ in range(RUNS):
        document = Document("log.txt", text, splitter=Splitter(splitter.marks))
        start = time.process_time()
        for _ in document.messages:
            break
        best = min(best, time.process_time() - start)
    return best


def measure(kinds: dict[str, str], only: list[str]) -> list[Cost]:
    found: list[Cost] = []
    for parser, (triggers, _) in marks().items():
        if only and parser not in only:
            continue
        by_text = {k: cost(parser, t) * 1e3 / (len(t) / 1e6) for k, t in kinds.items()}
        asked = {k: [x for x in triggers if x in t] for k, t in kinds.items()}
        found.append(Cost(parser, by_text, asked))
    return sorted(found, key=lambda c: -max(c.most, max(c.by_text.values()) / 1000))


def report(costs: list[Cost], kinds: dict[str, str], least: float) -> None:
    print("milliseconds a megabyte; * asked\n" + f"{'parser':22}" + "".join(f"{k:>12}" for k in kinds) + "   triggers")
    for c in costs:
        if max(c.most, max(c.by_text.values())) < least:
            continue
        row = "".join(f"{c.by_text[k]:11.1f}{'*' if c.asked[k] else ' '}" for k in kinds)
        which = sorted({t for ts in c.asked.values() for t in ts})
        print(f"{c.parser:22}{row}   {', '.join(map(repr, which[:6]))}")
    shared = {k: shared_cost(t) * 1e3 / (len(t) / 1e6) for k, t in kinds.items()}
    print(f"{'(lines, messages)':22}" + "".join(f"{shared[k]:11.1f} " for k in kinds))
    total = {k: sum(c.by_text[k] for c in costs if c.asked[k]) for k in kinds}
    print(f"{'all that are asked':22}" + "".join(f"{total[k]:11.1f} " for k in kinds))
    read = {k: reading(t) * 1e3 / (len(t) / 1e6) for k, t in kinds.items()}
    print(f"{'(reading the text)':22}" + "".join(f"{read[k]:11.1f} " for k in kinds))
    text = one_rank()
    asked = [c.parser for c in costs if any(t in text for t in marks()[c.parser][0])]
    spent = together(text, asked)
    whole = sum(spent.values())
    print(
        f"one rank's {text.count(chr(10)) + 1} lines: {whole * 1e3:.2f} ms by "
        + ", ".join(f"{name} {spent[name] * 1e3:.2f}" for name in sorted(spent, key=lambda n: -spent[n]))
    )


def reading(text: str) -> float:
    """Seconds of CPU time of what stands before the parsers: decoding, cleaning, redaction, thinning, cutting."""
    raw = text.encode("utf-8", "surrogatepass")
    best = float("inf")
    for _ in range(RUNS):
        chunker = Chunker(Input("log.txt", 0, 0, "text"))
        start = time.process_time()
        for at in range(0, len(raw), 1 << 20):
            for _document in chunker.feed(raw[at : at + (1 << 20)]):
                pass
        for _document in chunker.finish():
            pass
        best = min(best, time.process_time() - start)
    return best


def together(text: str, asked: list[str]) -> dict[str, float]:
    """Seconds of CPU time of these parsers, one after the other on one document, so that they share what they can."""
    best: dict[str, float] = {}
    for _ in range(20):
        document = Document("rank_3.log", text)
        spent: dict[str, float] = {}
        for parser in asked:
            module = importlib.import_module(f"assistant.parsers.{parser}")
            start = time.process_time()
            for _fact in module.parse(document):
                pass
            spent[parser] = time.process_time() - start
        if not best or sum(spent.values()) < sum(best.values()):
            best = spent
    return best


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--size", type=int, default=512, metavar="KIB")
    options.add_argument("--only", nargs="*", default=[])
    options.add_argument("--least", type=float, default=0.0, metavar="MS_PER_MB")
    chosen = options.parse_args()
    kinds = texts(chosen.size << 10)
    report(measure(kinds, chosen.only), kinds, chosen.least)


if __name__ == "__main__":
    main()
