"""XML that NCCL dumps, read with every bound that a foreign file needs: no document type, no entities, little depth and size."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers.expat import ExpatError, ParserCreate

#: Characters of one element tree; NCCL's own reader takes 256 to 1024 nodes of some 200 characters.
LARGEST = 4 << 20
DEPTH = 32
NODES = 20_000
TREES = 64

_START = re.compile(r'<(system|graphs)\s+version="\d+"')


@dataclass(slots=True)
class Node:
    name: str
    attributes: dict[str, str]
    line: int
    """Index of the line in the document."""
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)

    def get(self, key: str) -> str:
        return self.attributes.get(key, "")

    def number(self, key: str) -> float:
        """The number an attribute begins with ("16.0 GT/s PCIe"); 0 where it has none."""
        found = re.match(r"\d+(?:\.\d+)?", self.get(key))
        return float(found[0]) if found else 0.0

    def walk(self) -> Iterator[Node]:
        yield self
        for child in self.children:
            yield from child.walk()

    def above(self, name: str) -> Node | None:
        """The nearest node of this name over this one."""
        node = self.parent
        while node is not None and node.name != name:
            node = node.parent
        return node


class _Refused(Exception):
    """The text has what no dump of NCCL has."""


def trees(text: str) -> Iterator[Node]:
    """All topologies and graphs of a text; of one that breaks off, what stands before the break."""
    at = 0
    for _ in range(TREES):
        start = _START.search(text, at)
        if start is None:
            return
        end = text.find(f"</{start[1]}>", start.end())
        stop = len(text) if end == -1 else end + len(start[1]) + 3
        following = _START.search(text, start.end())
        if following is not None and following.start() < stop:
            stop = following.start()
        at = stop
        if stop - start.start() <= LARGEST:
            root = _tree(text[start.start() : stop], text.count("\n", 0, start.start()))
            if root is not None:
                yield root


def _tree(text: str, line: int) -> Node | None:
    roots: list[Node] = []
    stack: list[Node] = []
    count = 0
    parser = ParserCreate()

    def begin(name: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if len(stack) >= DEPTH or count > NODES:
            raise _Refused
        node = Node(name, attributes, line + parser.CurrentLineNumber - 1, stack[-1] if stack else None)
        if stack:
            stack[-1].children.append(node)
        else:
            roots.append(node)
        stack.append(node)

    def end(_: str) -> None:
        stack.pop()

    def refuse(*_: object) -> None:
        raise _Refused

    parser.StartElementHandler = begin
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(text, True)
    except ExpatError:
        pass
    except _Refused:
        return None
    return roots[0] if roots else None
