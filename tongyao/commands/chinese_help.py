"""The help of commands in Chinese: `texts/commands/help.toml` has the English help of the code with its translation."""

from __future__ import annotations

import copy
import re
from functools import cache
from typing import Any, Final

from tongyao.texts.catalogue import catalogue

RUN: Final = 18
"""The longest run of Chinese characters without a space. Each character takes two of a window's 80 columns."""
_MARKS: Final = "。，、：；？）"
_MARK: Final = re.compile(r"[。，、：；？）\s]")


def in_chinese(command: Any) -> Any:
    """Return a copy of a command, or of a group with its commands, with the available Chinese help."""
    words = _words()
    made = copy.copy(command)
    made.help = words.get(command.help, command.help)
    made.params = [copy.copy(param) for param in command.params]
    for param in made.params:
        if (said := getattr(param, "help", None)) in words:
            param.help = words[said]
    if subcommands := getattr(command, "commands", None):
        made.commands = {name: in_chinese(command) for name, command in subcommands.items()}
    return made


def breakable(text: str) -> str:
    """Return `text` with spaces after punctuation marks where more than `RUN` characters would follow without a space.

    The columns of the help break lines only at spaces, and cut wider texts without spaces.
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
        english: breakable(chinese)
        for key, (english, chinese) in catalogue("commands").items()
        if key.startswith("help.")
    }
