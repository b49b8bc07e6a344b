"""The help of commands in Chinese: `commands/texts/help.toml` has the English of the code and the Chinese for it."""

from __future__ import annotations

import copy
import re
from functools import cache
from typing import Any, Final

from tongyao.commands.shared.words import TEXTS
from tongyao.gateway.console.texts import catalogue

RUN: Final = 18
"""Characters: two columns each, in a window of 80 columns."""
_MARKS: Final = "。，、：；？）"
_MARK: Final = re.compile(r"[。，、：；？）\s]")


def in_chinese(command: Any) -> Any:
    """A copy of a command, or of a group with its commands, with Chinese help where there is one."""
    words = _words()
    made = copy.copy(command)
    made.help = words.get(command.help, command.help)
    made.params = [copy.copy(param) for param in command.params]
    for param in made.params:
        if (said := getattr(param, "help", None)) in words:
            param.help = words[said]
    if subcommands := getattr(command, "commands", None):
        made.commands = {name: in_chinese(one) for name, one in subcommands.items()}
    return made


def breakable(text: str) -> str:
    """`text` with a space after a mark wherever more than `RUN` characters follow each other without one.

    The help is laid out in columns. They break lines at spaces, and cut what has none and is too wide.
    """
    shown, run = "", 0
    for at, char in enumerate(text):
        shown, run = shown + char, 0 if char.isspace() else run + 1
        following = _MARK.search(text, at + 1)
        ahead = (following.end() if following else len(text)) - at
        if char in _MARKS and run + ahead > RUN and at + 1 < len(text) and not text[at + 1].isspace():
            shown, run = shown + " ", 0
    return shown


@cache
def _words() -> dict[str, str]:
    return {
        english: breakable(chinese) for key, (english, chinese) in catalogue(TEXTS).items() if key.startswith("help.")
    }
