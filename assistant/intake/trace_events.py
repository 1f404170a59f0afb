"""Events of a Chrome trace (PyTorch's profiler, Kineto) read as a stream: memory stays flat whatever the size.

The file is one JSON value of up to some GB. Kineto writes the fields of an event always in the same order, so that one regular
expression finds the events of interest in a block and nothing else is decoded:

    {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)", "pid": 0, "tid": 40,
     "ts": 4458677009853.422, "dur": 2636.669, "args": {"stream": 40, "Collective name": "allreduce", ...}}

A file in another order (written again by another tool) is decoded event by event.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

#: Characters of a head (before the first event), a single event or a tail that are held at most.
HELD = 64 << 20
BATCH = 2000

#: cat, name, pid, tid, start and length in microseconds (as written, or decoded), args (text within the braces, or decoded).
Event = tuple[str, str, str, str, "str | float", "str | float", "str | dict[str, Any]"]

#: CPU-side events that are of interest, by the beginning of their name.
NAMES = (
    r"record_param_comms|aten::item|aten::_local_scalar_dense|enumerate\(DataLoader\)|(?:nccl|gloo|mpi|ucc|xccl|hccl):"
    r"|(?:cuda|hip)(?:Stream|Device|Event)Synchronize|ProfilerStep"
)
_REST = (
    r'([^"\\]*(?:\\.[^"\\]*)*)",\s*"pid":\s*("[^"]*"|[^,\s]+)\s*,\s*"tid":\s*("[^"]*"|[^,\s]+)\s*'
    r',\s*"ts":\s*([^,\s]+)\s*,\s*"dur":\s*([^,\s}]+)\s*(?:,\s*"args":\s*\{([^{}]*))?'
)
_CATS = rf'(?:kernel|Kernel|gpu_|user_a|Mem(?:cpy|set))[a-z_]*|[A-Za-z_]+(?=",\s*"name":\s*"(?:{NAMES}))'


@cache
def _pattern(*, few: bool) -> re.Pattern[str]:
    """Finds the events of interest, or all that have a length."""
    return re.compile(rf'"ph":\s*"X",\s*"cat":\s*"({_CATS if few else "[A-Za-z_]*"})",\s*"name":\s*"{_REST}')


_START = re.compile(r'"traceEvents"\s*:\s*\[')
_BETWEEN = re.compile(r"[\s,]*")
_CLOSED = re.compile(r"\}\s*\]")
_OPEN_OBJECT = re.compile(r'"ph"\s*:\s*"X"')
_KEYS = ('"deviceProperties"', '"distributedInfo"', '"baseTimeNanoseconds"', '"displayTimeUnit"', '"traceName"')


def is_trace(head: bytes) -> bool:
    """Whether the first bytes are those of a trace: an object with its keys, or a list of events."""
    text = head.decode("latin-1").lstrip("\xef\xbb\xbf \t\r\n")
    if text[:1] == "{":
        if '"traceEvents"' in text:
            return True
        return any(key in text for key in _KEYS[:3]) and ('"schemaVersion"' in text or _KEYS[0] in text)
    if text[:1] == "[":
        return re.match(r"\[\s*\{", text) is not None and re.search(r'"ph"\s*:\s*"[A-Za-z]"', text) is not None
    return False


class Reader:
    """Reads the events of one trace. `head` and `tail` are what stands before and after them, `torn` tells a file cut off."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self.head = ""
        self.tail = ""
        self.torn = False
        self.ordered = True
        self.characters = 0

    def events(self) -> Iterator[list[Event]]:
        """All events of interest, some thousands at a time; those of the CPU in full where the trace has no GPU."""
        carry = self._to_first_event()
        wanted = _pattern(few=not without_gpu(self.head))
        self.ordered = _in_order(carry)
        while self.ordered:
            cut = carry.rfind("{", 0, max(carry.rfind('"ph"'), 0))
            if cut > 0:
                yield wanted.findall(carry, 0, cut)
                carry = carry[cut:]
            block = self._next()
            if not block or len(carry) > HELD:
                yield wanted.findall(carry)
                self._end(carry, 0)
                return
            self.ordered = _in_order(block)
            carry += block
        yield from self._one_by_one(carry)

    def _next(self) -> str:
        block = next(self._blocks, b"")
        self.characters += len(block)
        return block.decode("latin-1")

    def _to_first_event(self) -> str:
        """Fills `head`; what is returned begins with the first event."""
        text = ""
        while len(text) <= HELD:
            block = self._next()
            text += block
            found = _START.search(text)
            if found is None and text.lstrip("\xef\xbb\xbf \t\r\n")[:1] == "[":
                self.head, text = "", text[text.index("[") + 1 :]
                return text if text.strip() or not block else text + self._next()
            if found is not None:
                self.head = text[: found.start()]
                return text[found.end() :]
            if not block:
                break
        self.head, self.torn = text, True
        return ""

    def _one_by_one(self, carry: str) -> Iterator[list[Event]]:
        decode = json.JSONDecoder().raw_decode
        at = 0
        events: list[Event] = []
        while True:
            at = _skip(carry, at)
            if at < len(carry) and carry[at] != "{":
                break
            try:
                value, at = decode(carry, at)
            except (ValueError, RecursionError):
                block = self._next() if len(carry) - at < HELD else ""
                if not block:
                    break
                carry, at = carry[at:] + block, 0
                continue
            event = _plain(value)
            if event is not None:
                events.append(event)
                if len(events) >= BATCH:
                    yield events
                    events = []
        yield events
        rest = carry[at:]
        self.torn = self.torn or not rest.lstrip().startswith("]")
        while len(rest) < HELD and (block := self._next()):
            rest += block
        self.tail = rest

    def _end(self, carry: str, at: int) -> None:
        last = carry.rfind('"ph"')
        closed = _CLOSED.search(carry, max(last, at))
        self.torn = self.torn or closed is None
        self.tail = carry[closed.end() :] if closed else ""


def without_gpu(head: str) -> bool:
    """Whether the head says that no GPU was traced."""
    return re.search(r'"deviceProperties"\s*:\s*\[\s*[^\s{]', head) is not None


def _skip(text: str, at: int) -> int:
    found = _BETWEEN.match(text, at)
    return found.end() if found else at


def _in_order(text: str) -> bool:
    """Whether the events at the beginning of a text have their fields in Kineto's order."""
    sample = text[: 32 << 10]
    return abs(len(_OPEN_OBJECT.findall(sample)) - len(_pattern(few=False).findall(sample))) <= 2


def _plain(value: Any) -> Event | None:
    if not isinstance(value, dict) or value.get("ph") != "X":
        return None
    at, took = value.get("ts"), value.get("dur", 0)
    if not isinstance(at, int | float | str) or not isinstance(took, int | float | str):
        return None
    args = value.get("args")
    cat, name, pid, tid = (str(value.get(key, "")) for key in ("cat", "name", "pid", "tid"))
    return cat, name, pid, tid, at, took, args if isinstance(args, dict) else {}


def number_of(args: str | dict[str, Any], key: str) -> float | None:
    """A number among the args of an event."""
    if isinstance(args, dict):
        value = args.get(key)
        return float(value) if isinstance(value, int | float) else None
    at = args.find(f'"{key}"')
    if at < 0:
        return None
    found = _NUMBER.match(args, at + len(key) + 2)
    return float(found[1]) if found else None


def text_of(args: str | dict[str, Any], key: str) -> str:
    """A text among the args of an event, or a list as it is written."""
    if isinstance(args, dict):
        value = args.get(key, "")
        return value if isinstance(value, str) else json.dumps(value)
    at = args.find(f'"{key}"')
    if at < 0:
        return ""
    found = _TEXT.match(args, at + len(key) + 2)
    return (found[1] if found[1] is not None else found[2]) if found else ""


def grid_of(args: str | dict[str, Any]) -> str:
    """The grid of a kernel, as written: "[24, 1, 1]"."""
    if isinstance(args, dict):
        return text_of(args, "grid")
    at = args.find('"grid"')
    return args[args.find("[", at) : args.find("]", at) + 1] if at >= 0 else ""


_NUMBER = re.compile(r"\s*:\s*(-?\d+(?:\.\d+)?)")
_TEXT = re.compile(r'\s*:\s*(?:"([^"]*)"|(\[[^"]*?\](?=\s*(?:,\s*"|$))))')
