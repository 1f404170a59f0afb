"""The command `ncclinic`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Optional

import typer

app = typer.Typer(no_args_is_help=False, add_completion=True, pretty_exceptions_enable=False)
knowledge_app = typer.Typer(help="Look after the knowledge base.")
app.add_typer(knowledge_app, name="knowledge")


@app.command()
def triage(
    paths: Annotated[Optional[list[Path]], typer.Argument()] = None,
    as_json: Annotated[bool, typer.Option("--json")] = False,
    say: Annotated[Optional[list[str]], typer.Option("--say")] = None,
    fact: Annotated[Optional[list[str]], typer.Option("--fact")] = None,
) -> None:
    from assistant.diagnosis.rank import rank
    from assistant.intake.document import Document
    from assistant.triage import build
    from knowledge.load import knowledge

    kb = knowledge()
    documents = [Document(str(p), p.read_text(errors="replace")) for p in paths or []]
    stated = [tuple(f.partition("=")[::2]) for f in fact or []]
    case = build(kb, says=say or [], stated=stated, documents=documents)  # type: ignore[arg-type]
    ranked = rank(case, kb)[:5]
    causes = [
        {
            "id": r.id,
            "probability": round(r.probability, 3),
            "evidence": [{"rule": e.rule, "text": e.text, "strength": e.strength, "quotes": [o.quote for o in e.support.origins[:2]]} for e in r.evidence],
        }
        for r in ranked
    ]
    verdict = "healthy" if causes and causes[0]["id"] == "healthy" else "problem"
    print(json.dumps({"verdict": verdict, "causes": [c for c in causes if c["id"] != "healthy"], "facts": [f"{f.subject}: {f.key}={f.value}" for f in case.facts]}, indent=1))


@knowledge_app.command("check")
def knowledge_check(only: Annotated[str, typer.Argument(help="Only files whose path contains this.")] = "") -> None:
    """Check the knowledge base and run all its examples."""
    from assistant.selfcheck import check

    count = 0
    for problem in check(only):
        print(problem)
        count += 1
    print(f"{count} problems", file=sys.stderr)
    raise typer.Exit(1 if count else 0)


def main() -> None:
    app()
