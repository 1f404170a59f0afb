"""The stack machine of `assistant.intake.safe_pickle`: its state, its bounds and the steps that build plain data."""

from __future__ import annotations

import codecs
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

MEMO = 2_000_000
#: Bytes of an integer.
INTEGER = 32
LINE = 1 << 16
KEY = 1 << 60


class PickleError(ValueError):
    """The bytes are no pickle of plain data."""


class PickleTooLarge(PickleError):
    """A bound was reached."""


def put(container: dict[Any, Any], items: list[Any]) -> None:
    """Adds key, value, key, value ... Keys are plain and small: hashing a deep tuple would overflow the stack of this program."""
    for index in range(0, len(items) - 1, 2):
        key = items[index]
        if not isinstance(key, str | bytes) and not (isinstance(key, int) and abs(key) < KEY):
            raise PickleError(f"a key of type {type(key).__name__}; only text and small integers are read")
        container[key] = items[index + 1]


class Cut(Exception):
    """The bytes ended in the middle."""


@dataclass
class Machine:
    data: bytes
    at: int = 0
    stack: list[Any] = field(default_factory=list)
    marked: list[list[Any]] = field(default_factory=list)
    memo: dict[int, Any] = field(default_factory=dict)

    def take(self, size: int) -> bytes:
        found = self.data[self.at : self.at + size]
        if len(found) < size:
            raise Cut
        self.at += size
        return found

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def line(self) -> bytes:
        end = self.data.find(b"\n", self.at, self.at + LINE)
        if end < 0:
            if len(self.data) - self.at < LINE:
                raise Cut
            raise PickleError(f"no pickle: line without end at byte {self.at}")
        found = self.data[self.at : end]
        self.at = end + 1
        return found

    def items(self) -> list[Any]:
        """What was pushed since the last mark."""
        found = self.stack
        self.stack = self.marked.pop()
        return found

    def remember(self, index: int) -> None:
        if len(self.memo) >= MEMO and index not in self.memo:
            raise PickleTooLarge(f"more than {MEMO} remembered values")
        self.memo[index] = self.stack[-1]


def _push(value: Any) -> Callable[[Machine], None]:
    def step(m: Machine) -> None:
        m.stack.append(value)

    return step


def _text(size: int) -> Callable[[Machine], None]:
    def step(m: Machine) -> None:
        m.stack.append(m.take(m.number(size)).decode("utf-8", "surrogatepass"))

    return step


def _bytes(size: int) -> Callable[[Machine], None]:
    def step(m: Machine) -> None:
        m.stack.append(m.take(m.number(size)))

    return step


def _old_text(size: int) -> Callable[[Machine], None]:
    def step(m: Machine) -> None:
        m.stack.append(m.take(m.number(size)).decode("latin-1"))

    return step


def _unsigned(size: int) -> Callable[[Machine], None]:
    def step(m: Machine) -> None:
        m.stack.append(m.number(size))

    return step


def _integer(size: int) -> Callable[[Machine], None]:
    def step(m: Machine) -> None:
        length = m.number(size)
        if length > INTEGER:
            raise PickleTooLarge(f"an integer of {length} bytes")
        m.stack.append(int.from_bytes(m.take(length), "little", signed=True))

    return step


def _signed(m: Machine) -> None:
    m.stack.append(int.from_bytes(m.take(4), "little", signed=True))


def _float(m: Machine) -> None:
    m.stack.append(struct.unpack(">d", m.take(8))[0])


def _decimal(m: Machine) -> None:
    raw = m.line()
    if raw in (b"00", b"01"):
        m.stack.append(raw == b"01")
        return
    if len(raw) > 3 * INTEGER:
        raise PickleTooLarge(f"an integer of {len(raw)} digits")
    m.stack.append(int(raw.rstrip(b"L")))


def _decimal_float(m: Machine) -> None:
    m.stack.append(float(m.line()))


def _quoted(m: Machine) -> None:
    raw = m.line().strip()
    if len(raw) < 2 or raw[:1] != raw[-1:] or raw[:1] not in (b"'", b'"'):
        raise PickleError(f"damaged pickle at byte {m.at}")
    m.stack.append(codecs.escape_decode(raw[1:-1])[0].decode("latin-1"))


def _raw_unicode(m: Machine) -> None:
    m.stack.append(m.line().decode("raw-unicode-escape"))


def _tuple(count: int) -> Callable[[Machine], None]:
    def step(m: Machine) -> None:
        if len(m.stack) < count:
            raise PickleError(f"damaged pickle at byte {m.at}")
        found = tuple(m.stack[len(m.stack) - count :])
        del m.stack[len(m.stack) - count :]
        m.stack.append(found)

    return step


def _append(m: Machine) -> None:
    value = m.stack.pop()
    _list(m).append(value)


def _appends(m: Machine) -> None:
    items = m.items()
    _list(m).extend(items)


def _list(m: Machine) -> list[Any]:
    if not isinstance(m.stack[-1], list):
        raise PickleError(f"damaged pickle at byte {m.at}")
    return m.stack[-1]


def _set_item(m: Machine) -> None:
    value, key = m.stack.pop(), m.stack.pop()
    put(_dict(m), [key, value])


def _set_items(m: Machine) -> None:
    items = m.items()
    put(_dict(m), items)


def _dict(m: Machine) -> dict[Any, Any]:
    if not isinstance(m.stack[-1], dict):
        raise PickleError(f"damaged pickle at byte {m.at}")
    return m.stack[-1]


def _new_dict(m: Machine) -> None:
    items = m.items()
    found: dict[Any, Any] = {}
    put(found, items)
    m.stack.append(found)


def _skip(size: int) -> Callable[[Machine], None]:
    """Protocol and frame marks say nothing about the data."""

    def step(m: Machine) -> None:
        m.take(size)

    return step


def _pop(m: Machine) -> None:
    m.stack.pop()


def _pop_mark(m: Machine) -> None:
    m.items()


def _wrap(m: Machine, kind: Callable[[list[Any]], Any]) -> None:
    items = m.items()
    m.stack.append(kind(items))


STEPS: dict[int, Callable[[Machine], None]] = {
    0x80: _skip(1),
    0x95: _skip(8),
    0x58: _text(4),
    0x8C: _text(1),
    0x8D: _text(8),
    0x42: _bytes(4),
    0x43: _bytes(1),
    0x8E: _bytes(8),
    0x54: _old_text(4),
    0x55: _old_text(1),
    0x4D: _unsigned(2),
    0x4A: _signed,
    0x8A: _integer(1),
    0x8B: _integer(4),
    0x47: _float,
    0x49: _decimal,
    0x4C: _decimal,
    0x46: _decimal_float,
    0x53: _quoted,
    0x56: _raw_unicode,
    0x4E: _push(None),
    0x88: _push(True),
    0x89: _push(False),
    0x29: _push(()),
    0x5D: lambda m: m.stack.append([]),
    0x7D: lambda m: m.stack.append({}),
    0x85: _tuple(1),
    0x86: _tuple(2),
    0x87: _tuple(3),
    0x74: lambda m: _wrap(m, tuple),
    0x6C: lambda m: _wrap(m, list),
    0x64: _new_dict,
    0x61: _append,
    0x65: _appends,
    0x73: _set_item,
    0x75: _set_items,
    0x30: _pop,
    0x31: _pop_mark,
    0x32: lambda m: m.stack.append(m.stack[-1]),
    0x72: lambda m: m.remember(m.number(4)),
    0x94: lambda m: m.remember(len(m.memo)),
    0x6A: lambda m: m.stack.append(m.memo[m.number(4)]),
    0x67: lambda m: m.stack.append(m.memo[int(m.line())]),
    0x70: lambda m: m.remember(int(m.line())),
}
