"""The help of commands in Chinese: `commands/texts/help.toml` has the English of the code and the Chinese for it."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

from tongyao.commands.shared.words import TEXTS
from tongyao.gateway.console.texts import catalogue


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


@cache
def _words() -> dict[str, str]:
    return {english: chinese for key, (english, chinese) in catalogue(TEXTS).items() if key.startswith("help.")}
