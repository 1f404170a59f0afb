"""`ncclinic causes`: what the knowledge base knows, without a diagnosis."""

from __future__ import annotations

import json
import sys

from assistant.errors import UserError


def causes(wanted: str | None, as_json: bool) -> int:
    """Lists all causes, or shows one whole."""
    from knowledge.load import knowledge

    kb = knowledge()
    if wanted is None:
        if as_json:
            print(json.dumps([{"id": c["id"], "title": c["title"]} for c in kb.causes.values()], indent=1))
        else:
            width = max(map(len, kb.causes), default=0)
            for cause in kb.causes.values():
                print(f"{cause['id']:<{width}}  {cause['title']}")
        return 0
    if wanted not in kb.causes:
        near = [c for c in kb.causes if wanted.rsplit(".", 1)[-1] in c]
        hint = f"Did you mean {', '.join(near[:4])}?" if near else "`ncclinic causes` lists them all."
        raise UserError(f"there is no cause {wanted!r}", hint)
    if as_json:
        print(json.dumps(kb.causes[wanted], indent=1))
    else:
        _show(kb.causes[wanted])
    return 0


def _show(cause: dict[str, object]) -> None:
    from assistant.diagnosis.diagnose import FixOffer
    from assistant.report.as_text import blocks_to_text
    from assistant.report.words import Block, confirm_step, fix_blocks

    fixes = cause["fixes"]
    confirm = cause["confirm"]
    sources = cause["sources"]
    assert isinstance(fixes, list) and isinstance(confirm, list) and isinstance(sources, list)
    blocks = [
        Block("title", f"{cause['id']}: {cause['title']}"),
        Block("text", str(cause["explanation"])),
        Block("heading", "How it shows"),
        Block("text", str(cause["shows"])),
        Block("heading", "To make sure"),
    ]
    blocks += [block for step in confirm for block in confirm_step(step)]
    for fix in fixes:
        fields = {
            k: fix.get(k) for k in ("id", "title", "kind", "who", "steps", "gain", "verify", "risk", "undo", "hides")
        }
        blocks += fix_blocks(FixOffer(**fields, commands=fix.get("commands", []), effort=fix.get("effort", "minutes")))
    blocks.append(Block("heading", "Sources"))
    blocks += [Block("item", str(s)) for s in sources]
    sys.stdout.write(blocks_to_text(blocks))
