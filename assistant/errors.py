"""Errors that a user can do something about."""

from __future__ import annotations

import os


class UserError(Exception):
    """Said to the user as it is: what is wrong, and what to do next. Never a traceback."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message


def strict() -> bool:
    """Whether a defect of a parser ends the program (as in the tests) instead of costing only its own facts."""
    return bool(os.environ.get("NCCLINIC_STRICT"))
