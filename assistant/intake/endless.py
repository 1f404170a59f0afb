"""Lines that never end: a progress bar that writes a million states between carriage returns."""

from __future__ import annotations

#: States of a progress bar, between carriage returns, of which one is kept where they never end their line.
STATES = 25
_TROUBLE = (
    b"error",
    b"exception",
    b"traceback",
    b"warn",
    b"fail",
    b"killed",
    b"abort",
    b"timeout",
    b"timed out",
    b"\n",
)


def fewer_states(block: bytes) -> bytes:
    """A block of a line without end: of many states of a progress bar every 25th, and those that tell of trouble."""
    states = block.split(b"\r")
    if len(states) < 4 * STATES:
        return block
    kept = set(range(0, len(states), STATES)) | {len(states) - 1}
    lower = block.lower()
    for word in _TROUBLE:
        number = done = 0
        while (at := lower.find(word, done)) != -1 and len(kept) < len(states) // 4:
            number += lower.count(b"\r", done, at)
            kept.add(number)
            done = at + 1
    return b"\r".join([states[n] for n in sorted(kept)])
