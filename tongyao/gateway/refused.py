"""Bad input, refused at the door: nothing was stored and nothing started."""

from __future__ import annotations


class BadInput(ValueError):
    """What was wrong, where, and what to do. `field` names the part of the input, `code` is a closed word."""

    def __init__(self, code: str, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.field = field


class AddressTaken(Exception):
    """The gateway cannot listen on its address. The message says what to do."""
