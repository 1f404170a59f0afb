r"""CUDA runtime that a framework loads, against the compute capability of the GPU that it finds.

Successfully opened dynamic library libcudart.so.10.1
pciBusID: 0000:01:00.0 name: RTX A6000 computeCapability: 8.6
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from assistant.facts import Fact
from assistant.intake.document import Document

NAME = "CUDA runtime and compute capability"
TRIGGERS = ("libcudart.so",)
VERSIONS = "TensorFlow 2.0 to 2.10 and others that print libcudart.so.N beside computeCapability"

#: Compute capability -> first CUDA release that has code for it.
FIRST_CUDA = {
    (7, 0): (9, 0),
    (7, 5): (10, 0),
    (8, 0): (11, 0),
    (8, 6): (11, 1),
    (8, 9): (11, 8),
    (9, 0): (11, 8),
    (10, 0): (12, 8),
    (12, 0): (12, 8),
}


def parse(document: Document) -> Iterable[Fact]:
    runtime: tuple[int, int] | None = None
    for index, text in enumerate(document.messages):
        found = re.search(r"libcudart\.so\.(\d+)\.(\d+)", text)
        if found:
            runtime = (int(found[1]), int(found[2]))
            continue
        found = re.search(r"compute ?[cC]apability:? (\d+)\.(\d)", text)
        first = FIRST_CUDA.get((int(found[1]), int(found[2]))) if found else None
        if found and first and runtime and runtime < first:
            yield Fact(
                "gpu.arch_newer_than_cuda",
                f"{found[1]}.{found[2]} with CUDA {runtime[0]}.{runtime[1]}",
                document.origin(index),
            )
            return
