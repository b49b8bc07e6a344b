"""Bad input, refused at the door: nothing was stored and nothing started."""

from __future__ import annotations

SCENES = "`GET /scenes` (over MCP `scenes`, on the command line `tongyao field stats`) lists those there are"
PEOPLE = "introduce people to it (`POST /profiles`, over MCP `join`, on the command line `tongyao field import`)"
"""What to do about a scene that is not there, and about one in which nobody is."""


class BadInput(ValueError):
    """What was wrong, where, and what to do. `field` names the part of the input, `code` is a closed word."""

    def __init__(self, code: str, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.field = field


class AddressTaken(Exception):
    """The gateway cannot listen on its address. The message says what to do."""
