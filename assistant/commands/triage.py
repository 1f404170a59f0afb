"""`ncclinic triage`: texts in, diagnosis out, without a conversation."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import Literal

from assistant.errors import UserError

Format = Literal["text", "json", "md", "html"]

EXIT = {"healthy": 0, "problem": 1, "inconclusive": 3}
"""Exit status by verdict; 2 is unusable input or arguments."""


def parse_facts(pairs: Sequence[str]) -> list[tuple[str, str]]:
    """KEY=VALUE arguments as pairs. Raises UserError for one that is not of that form."""
    out = []
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise UserError(
                f"--fact {pair!r} is not of the form KEY=VALUE",
                "Write for example --fact nodes=2 or --fact network='infiniband HDR'.",
            )
        out.append((key.strip(), value.strip()))
    return out


def triage(paths: Sequence[str], says: Sequence[str], facts: Sequence[str], form: Format, output: str | None) -> int:
    """Runs a triage and writes the result. Returns the exit status."""
    from assistant.diagnosis.diagnose import diagnose
    from assistant.triage import triage_paths
    from knowledge.load import knowledge

    stated = parse_facts(facts)
    if not paths and not says and not stated:
        raise UserError(
            "there is nothing to triage",
            "Give files or folders (or - for standard input), a sentence with --say, or facts with --fact KEY=VALUE.",
        )
    kb = knowledge()
    case = triage_paths(kb, paths, says=says, stated=stated)
    diagnosis = diagnose(case, kb)
    if form == "json":
        from assistant.report.as_json import to_json

        text = json.dumps(to_json(diagnosis), indent=1, ensure_ascii=True) + "\n"
    elif form == "md":
        from assistant.report.as_markdown import to_markdown

        text = to_markdown(diagnosis)
    elif form == "html":
        from assistant.report.as_html import to_html

        text = to_html(diagnosis)
    else:
        from assistant.report.as_text import to_text

        to_screen = output is None and sys.stdout.isatty()
        colour = to_screen and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        text = to_text(diagnosis, _width() if to_screen else 100, colour=colour)
    _write(text, output)
    return EXIT[diagnosis.verdict]


def _width() -> int:
    import shutil

    return max(40, min(shutil.get_terminal_size().columns, 110))


def _write(text: str, output: str | None) -> None:
    if output is None or output == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    try:
        with open(output, "w", encoding="utf-8") as out:
            out.write(text)
    except OSError as error:
        raise UserError(
            f"can't write {output!r}: {error.strerror}", "Name a file in a folder that exists and is yours to write."
        ) from None
