"""Contradictions between what was said, what was set and what was seen."""

from __future__ import annotations

from assistant.facts import RELIABILITY, CaseFile, Fact

_TOLD = ("say", "stated", "answer")

#: Facts about the whole job of which only one value can be true.
SINGLE = (
    "nodes",
    "gpus_per_node",
    "world_size",
    "gpu_family",
    "network_kind",
    "framework",
    "nccl_version",
    "torch_version",
    "backend",
    "launcher",
    "scheduler",
)


def contradictions(case: CaseFile) -> list[str]:
    """A sentence for each fact that the user tells one way and the evidence another."""
    out = []
    for key in SINGLE:
        facts = [f for f in case.about(key) if f.subject.kind in ("job", "host")]
        told = [f for f in facts if f.origin.kind in _TOLD]
        seen = [f for f in facts if f.origin.kind in ("config", "log", "tool", "probe")]
        if not told or not seen:
            continue
        said = max(enumerate(told), key=lambda p: (RELIABILITY.index(p[1].origin.kind), p[0]))[1]
        if any(_agree(said, f) for f in seen):
            continue
        out.append(
            f"You say {key.replace('_', ' ')} is {said.value}, but {_source(seen[0])} shows {seen[0].value}; "
            "what was seen counts for more here."
        )
    return out


def _agree(a: Fact, b: Fact) -> bool:
    x, y = str(a.value).casefold(), str(b.value).casefold()
    return x == y or x.startswith(y) or y.startswith(x)


def _source(fact: Fact) -> str:
    origin = fact.origin
    name = origin.file.rsplit("/", 1)[-1] if origin.file else "an attachment"
    return f"{name}, line {origin.line}," if origin.line else name
