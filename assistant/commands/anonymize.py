"""`ncclinic anonymize`: copies of logs and bundles that can be shown in public."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from assistant.errors import UserError


def anonymize(paths: Sequence[str], output: str | None, map_file: str | None, keep_hosts: bool, force: bool) -> int:
    """Writes the copies. Returns the exit status."""
    from assistant.anonymize.run import Options
    from assistant.anonymize.run import anonymize as run
    from assistant.safe_text import safe_line

    if not paths:
        raise UserError("there is nothing to anonymize", "Give files, folders or archives, or - for standard input.")
    options = Options(output, map_file, keep_hosts, force)
    outcome = run(paths, options, stdin=sys.stdin.buffer, stdout=sys.stdout, progress=_tell)
    for note in dict.fromkeys((*outcome.notes, *outcome.left_out)):
        _tell(safe_line(note))
    counted = ", ".join(f"{count} {kind}" for kind, count in outcome.counts.items())
    _tell(f"{outcome.texts} text{'' if outcome.texts == 1 else 's'} written; replaced: {counted or 'nothing'}")
    if map_file is not None:
        _tell(f"{safe_line(map_file)} tells who is who: keep it to yourself")
    _tell(
        "look through it before you post it: names that no format marks as names may still be there (docs/privacy.md)"
    )
    return 0


def _tell(text: str) -> None:
    print(f"ncclinic: {text}", file=sys.stderr, flush=True)
