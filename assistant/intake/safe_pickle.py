"""Reads pickles of plain data: dict, list, tuple, str, bytes, int, float, bool and None. Nothing in them can run.

A pickle is a program for a small stack machine. The opcodes that name, call or fill in objects are refused here, the rest
can only build plain data. Sizes, counts and the memo are bounded. What a truncated pickle had built so far is given back.

    loaded = load(data)
    loaded.value, loaded.truncated
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from assistant.intake.pickle_machine import STEPS, Cut, Machine, PickleError, PickleTooLarge, put

__all__ = ["Loaded", "PickleError", "PickleRefused", "PickleTooLarge", "load"]

SIZE = 64 << 20
OPCODES = 20_000_000
MARKS = 200

_REFUSED = {
    0x63: "GLOBAL",
    0x93: "STACK_GLOBAL",
    0x52: "REDUCE",
    0x62: "BUILD",
    0x69: "INST",
    0x6F: "OBJ",
    0x81: "NEWOBJ",
    0x92: "NEWOBJ_EX",
    0x82: "EXT1",
    0x83: "EXT2",
    0x84: "EXT4",
    0x50: "PERSID",
    0x51: "BINPERSID",
    0x8F: "EMPTY_SET",
    0x90: "ADDITEMS",
    0x91: "FROZENSET",
    0x96: "BYTEARRAY8",
    0x97: "NEXT_BUFFER",
    0x98: "READONLY_BUFFER",
}


class PickleRefused(PickleError):
    """The pickle would name or call something when loaded."""


@dataclass(frozen=True, slots=True)
class Loaded:
    value: Any
    truncated: bool = False
    """The pickle ended too early; `value` holds what stood before that."""


def load(data: bytes) -> Loaded:
    """The value of a pickle. Raises PickleError where there is none."""
    if len(data) > SIZE:
        raise PickleTooLarge(f"larger than {SIZE >> 20} MiB")
    machine = _Loader(data)
    try:
        return Loaded(machine.run())
    except Cut:
        return Loaded(machine.salvage(), truncated=True)
    except (IndexError, TypeError, KeyError, ValueError, struct.error, OverflowError) as error:
        if isinstance(error, PickleError):
            raise
        raise PickleError(f"damaged pickle at byte {machine.at}") from error


class _Loader(Machine):
    def run(self) -> Any:
        """Runs to the STOP."""
        data, memo = self.data, self.memo
        end = len(data)
        for _ in range(OPCODES):
            if self.at >= end:
                raise Cut
            start = self.at
            op = data[start]
            self.at = start + 1
            if op == 0x68:  # BINGET
                if start + 1 >= end:
                    raise Cut
                self.stack.append(memo[data[start + 1]])
                self.at = start + 2
            elif op == 0x71:  # BINPUT
                if start + 1 >= end:
                    raise Cut
                self.remember(data[start + 1])
                self.at = start + 2
            elif op == 0x4B:  # BININT1
                if start + 1 >= end:
                    raise Cut
                self.stack.append(data[start + 1])
                self.at = start + 2
            elif op == 0x28:  # MARK
                if len(self.marked) >= MARKS:
                    raise PickleTooLarge(f"nested deeper than {MARKS}")
                self.marked.append(self.stack)
                self.stack = []
            elif op == 0x2E:  # STOP
                return self.stack.pop()
            else:
                step = STEPS.get(op)
                if step is None:
                    name = _REFUSED.get(op)
                    if name is not None:
                        raise PickleRefused(f"opcode {name} at byte {start} could run code; only plain data is read")
                    raise PickleError(f"no pickle: unknown opcode {op:#04x} at byte {start}")
                step(self)
        raise PickleTooLarge(f"more than {OPCODES} steps")

    def salvage(self) -> Any:
        """What was built before the cut: open dicts and lists get what was ready for them."""
        while self.marked:
            items = self.stack
            self.stack = self.marked.pop()
            if self.stack:
                _fill(self.stack[-1], items)
            else:
                self.stack = items[:1]
        # A dict that waits for the rest of its items still lies above the list it belongs to.
        while len(self.stack) > 1:
            top = self.stack.pop()
            below = self.stack[-1]
            if isinstance(below, list) and below is not top:
                below.append(top)
        if not self.stack:
            raise PickleError("cut off before any data")
        return self.stack[0]


def _fill(container: Any, items: list[Any]) -> None:
    """Puts the items that are ready into an open container."""
    if isinstance(container, list):
        container.extend(items)
    elif isinstance(container, dict):
        put(container, items)
