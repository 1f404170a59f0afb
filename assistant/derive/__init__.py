"""Facts that follow from several others: one module an idea, each with `derive(case) -> Iterable[Fact]`.

Modules run in the order of their names, later ones see what earlier ones found. A module with ATTACHMENTS_ONLY = True draws on
nothing but what logs, tools, probes and settings told; what it finds is kept as long as the attachments stay the same.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from pathlib import Path

from assistant.errors import strict
from assistant.facts import CaseFile, Fact


@cache
def _modules() -> list[str]:
    return sorted(m.name for m in pkgutil.iter_modules([str(Path(__file__).parent)]) if not m.name.startswith("_"))


def derive(case: CaseFile) -> list[Fact]:
    """All derived facts. `case` itself is left as it is."""
    work = case.working_copy()
    new: list[Fact] = []
    for name in _modules():
        module = importlib.import_module(f"assistant.derive.{name}")
        found = case.kept.get(name)
        if found is None:
            try:
                found = list(module.derive(work))
            except Exception:
                if strict():
                    raise
                continue
            if getattr(module, "ATTACHMENTS_ONLY", False):
                case.kept[name] = found
        work.add_derived(found)
        new += found
    return new
