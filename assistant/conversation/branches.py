"""Where in the diagnosis tree a session stands: which branches are open, which are closed and by what."""

from __future__ import annotations

from typing import Any

from assistant.diagnosis.diagnose import Diagnosis
from assistant.diagnosis.rank import Ranked
from assistant.report.words import Block
from knowledge.load import Knowledge


def tree_blocks(diagnosis: Diagnosis, ranked: list[Ranked], kb: Knowledge) -> list[Block]:
    """The branches with the share of probability that lies in them; the likeliest path is followed down."""
    weights = {r.id: r.probability for r in ranked}
    closed = {r.id: r.why for r in diagnosis.ruled_out}
    out = [Block("heading", kb.tree.get("title", "The tree of causes"))]
    nodes = kb.tree.get("children", [])
    if diagnosis.symptom is not None:
        nodes = [n for n in nodes if n["id"] == diagnosis.symptom] or nodes
    for node in nodes:
        out += _branch(node, weights, closed, kb, 0)
    return out


def _causes(node: dict[str, Any]) -> list[str]:
    return [*node.get("causes", ()), *(c for child in node.get("children", ()) for c in _causes(child))]


def _branch(
    node: dict[str, Any], weights: dict[str, float], closed: dict[str, str], kb: Knowledge, depth: int
) -> list[Block]:
    causes = [c for c in _causes(node) if c in kb.causes]
    share = sum(weights.get(c, 0.0) for c in set(causes))
    shut = causes and all(c in closed for c in causes)
    state = "closed" if shut else f"{round(share * 100)} %"
    out = [Block("text", f"{'  ' * depth}{'>' * (depth + 1)} {node['title']} ({state})")]
    if shut:
        out.append(Block("item", closed[causes[0]]))
        return out
    if share < 0.1 and depth:
        return out
    for child in node.get("children", ()):
        out += _branch(child, weights, closed, kb, depth + 1)
    for cause in node.get("causes", ()):
        if cause in kb.causes and weights.get(cause, 0.0) >= 0.03:
            out.append(Block("item", f"{kb.causes[cause]['title']} [{cause}]: {round(weights[cause] * 100)} %"))
    return out
