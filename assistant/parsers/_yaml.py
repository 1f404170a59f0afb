"""YAML as far as it is plain data and stays small: with aliases a few lines can name a list a billion times."""

from __future__ import annotations

from typing import Any

import yaml

#: Characters and values of one document with its aliases written out.
LARGEST = 4 << 20


def documents(text: str) -> list[Any]:
    """The documents of a YAML text up to the first one that can't be read."""
    found: list[Any] = []
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text.encode("utf-8", "replace"))
    try:
        while loader.check_node():
            node = loader.get_node()
            if node is None or _size(node, {}) > LARGEST:
                break
            found.append(loader.construct_document(node))
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, RecursionError, OverflowError):
        pass  # also what the constructors of dates and numbers raise
    finally:
        loader.dispose()
    return found


def first_document(text: str) -> Any:
    """The first document; None where it can't be read."""
    return next(iter(documents(text)), None)


def _size(node: Any, known: dict[int, int]) -> int:
    """What a node comes to where each alias counts in full; too much where it holds itself."""
    size = known.get(id(node))
    if size is not None:
        return size
    known[id(node)] = LARGEST + 1
    if isinstance(node, yaml.ScalarNode):
        size = 1 + len(node.value)
    elif isinstance(node, yaml.MappingNode):
        size = 1 + sum(_size(key, known) + _size(value, known) for key, value in node.value)
    else:
        size = 1 + sum(_size(item, known) for item in node.value)
    known[id(node)] = min(size, LARGEST + 1)
    return known[id(node)]
