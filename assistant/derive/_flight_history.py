"""What the recorded histories of the ranks tell: operations that do not match, and a rank that always comes last."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import median

from assistant.derive._flight_ranks import Job

#: Collectives that lateness is measured on, its share of the recorded time, and how far ahead of the next rank.
MEETINGS = 8
LATE_SHARE = 0.2
LATE_RATIO = 3.0


@dataclass(frozen=True, slots=True)
class Mismatch:
    group: str
    seq: int
    kind: str
    """op, shape or dtype."""
    odd: tuple[int, ...]
    """The minority; empty where there is none."""
    text: str
    open: bool
    """Some rank still waits in it."""


def _history(job: Job, name: str) -> dict[int, dict[int, tuple[str, int]]]:
    """For each member with a dump: sequence number -> (operation, time)."""
    found: dict[int, dict[int, tuple[str, int]]] = {}
    for number in job.readable(name):
        group = job.ranks[number].summary["groups"].get(name, {})
        ops, texts, times = group.get("ops"), group.get("texts"), group.get("times")
        if isinstance(ops, dict) and isinstance(texts, list) and isinstance(times, list) and len(times) == len(ops):
            found[number] = {int(seq): (texts[index], at) for (seq, index), at in zip(ops.items(), times, strict=True)}
    return found


def mismatches(job: Job) -> list[Mismatch]:
    """The first operation of each group in which ranks differ, by the time it was called."""
    found: list[tuple[int, Mismatch]] = []
    for name in job.groups:
        history = _history(job, name)
        if len(history) < 2:
            continue
        oldest = {n: min(h) for n, h in history.items()}
        for seq in sorted(set().union(*history.values())):
            there = {
                n: h[seq] for n, h in history.items() if seq in h and (seq > oldest[n] or "coalesced" not in h[seq][0])
            }
            if len({text for text, _ in there.values()}) < 2:
                continue
            mismatch = _compare(job, name, seq, {n: text for n, (text, _) in there.items()})
            if mismatch is not None:
                found.append((min(at for _, at in there.values()), mismatch))
                break
    return [m for _, m in sorted(found, key=lambda pair: pair[0])]


def _compare(job: Job, name: str, seq: int, texts: dict[int, str]) -> Mismatch | None:
    parts = {n: text.split("|") for n, text in texts.items()}
    if any(len(p) < 4 or p[0] == "coalesced" for p in parts.values()):
        return None
    for position, kind in ((0, "op"), (1, "shape"), (2, "dtype")):
        values = {n: p[position] for n, p in parts.items() if p[position]}
        if len(set(values.values())) < 2:
            continue
        counts = Counter(values.values())
        most, times = counts.most_common(1)[0]
        odd = tuple(sorted(n for n, v in values.items() if v != most)) if 2 * times > len(values) else ()
        shown = [
            f"{_ranks(n for n, v in values.items() if v == value)}: {_shown(parts, value, position)}"
            for value, _ in counts.most_common(3)
        ]
        waiting = any(not (job.done(n, name) >= seq) for n in texts)
        return Mismatch(
            name, seq, kind, odd, f"{kind} of #{seq} of group {name} differs: {'; '.join(shown)}"[:300], waiting
        )
    return None


def _shown(parts: dict[int, list[str]], value: str, position: int) -> str:
    example = next(p for p in parts.values() if p[position] == value)
    return " ".join(p for p in (example[0], example[3], example[2]) if p)


def _ranks(numbers: object) -> str:
    ordered = sorted(numbers)  # type: ignore[call-overload]
    text = ",".join(str(n) for n in ordered[:8])
    return f"rank{'s' if len(ordered) > 1 else ''} {text}{' ...' if len(ordered) > 8 else ''}"


def late(job: Job) -> dict[int, float]:
    """A rank that comes last to most collectives while the others wait: seconds lost in the recorded time.

    Clocks of hosts differ by a constant, so that each rank's least lateness is taken as its clock's error."""
    best: dict[int, float] = {}
    for name, members in job.members.items():
        history = _history(job, name)
        if len(history) < max(3, (len(members) + 1) // 2):
            continue
        common = sorted(set.intersection(*(set(h) for h in history.values())))
        if len(common) < MEETINGS or not all(h[s][1] > 0 for h in history.values() for s in common):
            continue
        lost: dict[int, float] = {}
        middle = {s: median(h[s][1] for h in history.values()) for s in common}
        for number, own in history.items():
            after = [own[s][1] - middle[s] for s in common]
            base = min(after)
            lost[number] = sum(a - base for a in after if a - base > 5) / 1000
        span = (middle[common[-1]] - middle[common[0]]) / 1000
        ranked = sorted(lost, key=lambda n: -lost[n])
        worst, second = lost[ranked[0]], lost[ranked[1]]
        if span > 0.2 and worst >= LATE_SHARE * span and worst >= LATE_RATIO * max(second, 0.001):
            best[ranked[0]] = max(best.get(ranked[0], 0.0), worst)
    return best if len(best) == 1 else {}
