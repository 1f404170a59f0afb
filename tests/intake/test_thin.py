"""Copies of lines that are left out of large inputs, and what of them stays."""

from __future__ import annotations

import re

from assistant.intake.thin import KEPT, SMALL, Thinner

BAR = "Epoch 1:  42%|####      | {n}/900000 [10:00<20:00, {rate:.2f}it/s]"


def _blocks(lines: list[str], size: int = 1 << 20) -> list[str]:
    blocks: list[str] = []
    part: list[str] = []
    for line in lines:
        part.append(line)
        if len(part) * len(line) > size:
            blocks.append("\n".join(part))
            part = []
    return [*blocks, "\n".join(part)] if part else blocks


def _thinned(lines: list[str]) -> list[str]:
    thinner = Thinner()
    return [line for block in _blocks(lines) for line in thinner.thin(block)[0].split("\n")]


def test_a_warning_is_kept_so_often_and_then_counted() -> None:
    thinner = Thinner()
    blocks = _blocks([f"UserWarning: batch {n} is short" for n in range(120_000)])
    kept = repeats = 0
    for block in blocks:
        text, _, copies = thinner.thin(block)
        kept += len(text.split("\n"))
        repeats += sum(copies.values())
    assert kept + repeats == 120_000
    assert thinner.left_out == repeats
    first = SMALL // len("UserWarning: batch 10000 is short")
    assert kept < first + 2 * KEPT + 4000


def test_a_late_change_of_pace_stays_visible() -> None:
    lines = [BAR.format(n=n, rate=4.0 if n < 90_000 else 2.5) for n in range(120_000)]
    kept = _thinned(lines)
    slow = [line for line in kept if "2.50it/s" in line]
    assert len(kept) < 30_000
    assert len(slow) > 50
    numbers = [int(found[1]) for line in slow if (found := re.search(r"(\d+)/900000", line))]
    assert numbers[0] < 92_000  # soon after the change
    assert numbers[-1] == 119_999  # the last state


def test_nccl_lines_of_one_shape_all_stay() -> None:
    lines = [
        f"gpu-1:{100}:{200} [3] NCCL INFO AllReduce: opCount {n:x} sendbuff 0x7f2b6c{n:06x} count {n} datatype 9 op 0 root 0"
        for n in range(30_000)
    ]
    assert _thinned(lines) == lines
