"""Errors that a user can cause and mend."""

from __future__ import annotations


class UserError(Exception):
    """Shown without traceback (exit status 2): what is wrong, and what to do next."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
