"""`ncclinic chat`: opens the conversation."""

from __future__ import annotations

from collections.abc import Sequence


def chat(*, plain: bool = False, attach: Sequence[str] = ()) -> int:
    """Runs a conversation until the user leaves or the input ends. Returns the exit status.

    Only the line-based form exists so far, so `plain` makes no difference yet."""
    from assistant.plain import run_plain

    return run_plain(attach)
