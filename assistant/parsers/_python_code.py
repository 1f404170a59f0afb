"""Python source as lines with indentation: enough structure for excerpts that no parser would accept."""

from __future__ import annotations

import re
from dataclasses import dataclass

_CODE = re.compile(
    r"^\s*(?:import |from \S+ import|def |class |for .*:|while .*:|if .*:|with .*:|return\b|@\w|[\w.\[\]'\"]+(?:, [\w.]+)* = |[\w.]+\()"
)
_LOG = re.compile(r"^\s*(?:Traceback|File \"|\[|\d{4}-\d\d-\d\d|[A-Z]+:|E\d{4}|W\d{4})")
_RANK_TEST = re.compile(
    r"^\s*(?:el)?if\b.*(?:\b\w*rank\w*(?:\(\))?\s*(?:==|in|<)\s*[\[(]?0|\bnot (?:\w+\.)*\w*rank\b|is_(?:main|local_main|master|global_zero|world_process_zero|rank_?(?:0|zero)|local_process_zero|primary)\w*|is_global_zero|on_main_process|main_process\b|rank0\b|process_index\(\)\s*==\s*0)"
)
_LOOP = re.compile(
    r"^\s*(?:async )?(?:for\b.*\b\w*(?:loader|dataset|batches|data_iter|iterator|dl|ds|train|take|dist_dataset)\w*\b.*:|for\b.*\b(?:step|it|i|iteration|batch|_)\b in\b.*:|while\b.*(?:step|iter).*:)"
)


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A line of code with what surrounds it."""

    index: int
    text: str
    indent: int
    in_loop: bool
    """Inside a loop over batches or steps."""
    in_rank_test: bool
    """Inside a block that only one rank (or some ranks) enters."""
    in_condition: bool
    """Inside another `if` of the innermost loop: not in every step."""


def looks_like_code(name: str, lines: list[str]) -> bool:
    if name.endswith((".py", ".ipynb")):
        return True
    sample = lines[:2000]
    code = sum(1 for line in sample if _CODE.match(line))
    logs = sum(1 for line in sample if _LOG.match(line))
    return code >= 3 and code > 2 * logs and any(re.match(r"\s*(?:import|from|def|for|if)\b", line) for line in sample)


def read_code(lines: list[str]) -> list[CodeLine]:
    """Lines without comments and empty ones, each with the blocks it stands in."""
    result: list[CodeLine] = []
    blocks: list[tuple[int, str]] = []
    for index, raw in enumerate(lines[:20_000]):
        text = raw.expandtabs(4)
        stripped = text.strip()
        if not stripped or stripped.startswith("#"):
            continue
        indent = len(text) - len(text.lstrip())
        while blocks and blocks[-1][0] >= indent and not (stripped.startswith((")", "]", "}"))):
            blocks.pop()
        kinds = [kind for _, kind in blocks]
        loop = max((i for i, k in enumerate(kinds) if k == "loop"), default=-1)
        result.append(
            CodeLine(
                index,
                text,
                indent,
                loop >= 0,
                "rank" in kinds,
                "if" in kinds[loop + 1 :] if loop >= 0 else "if" in kinds,
            )
        )
        if _RANK_TEST.match(text):
            blocks.append((indent, "rank"))
        elif _LOOP.match(text) and not re.search(
            r"\bepochs?\b.{0,300}:\s*$|range\(\s*\d?,?\s*(?:\w+\.)*(?:n_?)?(?:num_?)?epochs?\b", text
        ):
            blocks.append((indent, "loop"))
        elif re.match(r"\s*(?:if|elif|else)\b.*", text):
            blocks.append((indent, "if"))
        elif re.match(r"\s*(?:def|class)\b", text):
            blocks.append((indent, "def"))
    return result
