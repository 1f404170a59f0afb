"""What a training program and PyTorch write beside NCCL: iterations, tracebacks, watchdog reports."""

from __future__ import annotations

import random
from collections.abc import Iterator

STAMP = "2026-02-11 10:{minute:02d}:{second:02d}"
GROUP = "PG ID 0 PG GUID 0(default_pg)"


def iterations(rank: int, style: str, usual: float, factor: float = 1.0, count: int = 24) -> Iterator[str]:
    """Lines of iterations with the time that this rank took itself, in seconds `usual` with 3 % of noise."""
    chance = random.Random(rank)
    for step in range(1, count + 1):
        seconds = usual * factor * (1 + chance.uniform(-0.03, 0.03))
        loss = 9.1 - 0.02 * step
        stamp = STAMP.format(minute=16 + step // 60, second=step % 60)
        if style == "megatron":
            yield (
                f" [{stamp}] iteration {step:8d}/  500000 | consumed samples: {step * 512:12d} | "
                f"elapsed time per iteration (ms): {seconds * 1000:.1f} | learning rate: 1.500000E-05 | "
                f"global batch size:   512 | lm loss: {loss:.6E} | loss scale: 1.0 | grad norm: 2.113 | "
                "number of skipped iterations:   0 | number of nan iterations:   0 |"
            )
        else:
            yield f"[{stamp}] step {step} loss {loss:.4f} grad_norm 2.11 step_time {seconds:.4f} s"


def raised(rank: int, minute: int = 14) -> list[str]:
    """A program that stops on its own error while it starts."""
    return [
        f"[{STAMP.format(minute=minute, second=2)}] building tokenizer",
        "Traceback (most recent call last):",
        '  File "/opt/train/pretrain.py", line 412, in <module>',
        "    main()",
        '  File "/opt/train/pretrain.py", line 371, in main',
        "    tokenizer = build_tokenizer(args)",
        '  File "/opt/train/tokenizer.py", line 58, in build_tokenizer',
        "    with open(args.tokenizer_model, 'rb') as file:",
        f"FileNotFoundError: [Errno 2] No such file or directory: '/local/tokenizer/{rank}.model'",
    ]


def watchdog(
    rank: int, work: int, enqueued: int, completed: int, op: str = "ALLREDUCE", numel: int = 26214400
) -> list[str]:
    """Reports of PyTorch's watchdog (2.5 and later) on the collective that did not finish."""
    at = "[rank{}]:[E211 10:46:{:02d}.204055508 ProcessGroupNCCL.cpp:{}] [{} Rank {}]"
    return [
        at.format(rank, 10 + rank % 3, 632, GROUP, rank)
        + f" Watchdog caught collective operation timeout: WorkNCCL(SeqNum={work}, OpType={op}, NumelIn={numel}, NumelOut={numel}, "
        f"Timeout(ms)=600000) ran for {600001 + rank % 70} milliseconds before timing out.",
        at.format(rank, 10 + rank % 3, 2268, GROUP, rank)
        + f"  failure detected by watchdog at work sequence id: {work} PG status: last enqueued work: {enqueued}, "
        f"last completed work: {completed}",
        at.format(rank, 11 + rank % 3, 670, GROUP, rank)
        + " Stack trace of the failed collective not found, potentially because FlightRecorder is disabled.",
        at.format(rank, 11 + rank % 3, 684, GROUP, rank)
        + " Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA kernels, subsequent GPU "
        "operations might run on corrupted/incomplete data.",
        at.format(rank, 11 + rank % 3, 698, GROUP, rank)
        + " To avoid data inconsistency, we are taking the entire process down.",
    ]


def kernel_log(host: str, xid: int | None = None) -> str:
    """A host's kernel log, with an Xid of a GPU or without any."""
    lines = [
        f"Feb 11 10:{m:02d}:07 {host} kernel: [{918 + 60 * m}.413000] {text}"
        for m, text in enumerate(
            (
                "mlx5_core 0000:4a:00.0 ens1np0: Link up",
                "nvidia-nvlink: Nvlink Core is being initialized, major device number 511",
                "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build",
                "EXT4-fs (nvme0n1p2): mounted filesystem with ordered data mode. Quota mode: none.",
                'audit: type=1400 audit(1770804300.120:71): apparmor="STATUS" operation="profile_load" name="docker-default"',
            )
        )
    ]
    if xid is not None:
        what = {79: "GPU has fallen off the bus.", 94: "Contained: SM (0x1). RST: No, D-RST: No"}[xid]
        lines.append(
            f"Feb 11 10:46:03 {host} kernel: [3681.220000] NVRM: Xid (PCI:0000:9d:00): {xid}, pid=180123, name=python3, {what}"
        )
    return "\n".join(lines) + "\n"
