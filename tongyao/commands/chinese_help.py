"""The help of commands in Chinese: `texts/commands/help.toml` has the English help of the code with its translation."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

from tongyao.texts.catalogue import catalogue

RUN: Final = 18
"""The longest run of Chinese characters without a space. Each character takes two of a window's 80 columns."""
_MARKS: Final = "。，、：；？）"
_MARK: Final = re.compile(r"[。，、：；？）\s]")


_USAGE: Final = "Usage:"
_PANELS: Final = {
    "ARGUMENTS_PANEL_TITLE": "typed.arguments",
    "OPTIONS_PANEL_TITLE": "typed.options",
    "COMMANDS_PANEL_TITLE": "typed.commands",
    "ERRORS_PANEL_TITLE": "typed.error",
    "REQUIRED_LONG_STRING": "typed.required",
    "DEFAULT_STRING": "typed.default",
    "RICH_HELP": "typed.try_help",
    "ABORTED_TEXT": "typed.aborted",
}
"""Texts of Typer's screens, by the names of the constants in `typer.rich_utils`."""
_VALUES: Final = (
    (re.compile(r"No such command '(.{0,200})'\."), "typed.no_command"),
    (re.compile(r"No such command '(.{0,200})'\. Did you mean (.{0,200})\?"), "typed.did_you_mean"),
    (re.compile(r"No such option: (\S{0,200})"), "typed.no_option"),
    (re.compile(r"Missing command\."), "typed.missing_command"),
    (re.compile(r"Missing (?:argument|option|parameter) (.{0,200}?)\."), "typed.missing"),
    (re.compile(r"Option (.{0,200}) requires an argument\.?"), "typed.requires"),
    (re.compile(r"Option (.{0,200}) does not take a value\."), "typed.takes_none"),
    (re.compile(r"Got unexpected extra argument(?:s|\(s\))? \((.{0,400})\)"), "typed.extra"),
    (
        re.compile(r"Invalid value for (.{0,200}?): Input should be a valid (?:number|integer).{0,200}"),
        "typed.no_number",
    ),
    (re.compile(r"Invalid value for (.{0,200}?): Input should be a valid date.{0,200}"), "typed.no_date"),
    (re.compile(r"Invalid value for (.{0,200}?): Input should be less than or equal to (\S{1,40})"), "typed.at_most"),
    (
        re.compile(r"Invalid value for (.{0,200}?): Input should be greater than or equal to (\S{1,40})"),
        "typed.at_least",
    ),
    (
        re.compile(r"Invalid value for (.{0,200}?): Value error, (.{0,200}) is not one of (.{0,400}?)\.?"),
        "typed.not_one_of",
    ),
    (re.compile(r"Invalid value for (.{0,200}?): (.{0,400})"), "typed.invalid"),
)
"""Typer's usage errors, and the keys of their translations. The groups of a pattern are values of the translation."""


@contextmanager
def chinese_screens() -> Iterator[None]:
    """Make the titles and marks of Typer's help and errors Chinese inside the block."""
    from typer import rich_utils

    before = {name: getattr(rich_utils, name) for name in _PANELS}
    for name, key in _PANELS.items():
        setattr(rich_utils, name, catalogue("commands")[key][1])
    try:
        yield
    finally:
        for name, words in before.items():
            setattr(rich_utils, name, words)


def error_in_chinese(message: str) -> str:
    """Return the message of a usage error in Chinese, or the message itself if there is no Chinese for it."""
    for pattern, key in _VALUES:
        if found := pattern.fullmatch(message):
            return catalogue("commands")[key][1].format(*found.groups())
    return message


def usage_in_chinese(usage: str) -> str:
    return usage.replace(_USAGE, catalogue("commands")["typed.usage"][1], 1)


def in_chinese(command: Any) -> Any:
    """Return a copy of a command, or of a group with its commands, with the available Chinese help."""
    words = _words()
    made = copy.copy(command)
    made.help = words.get(command.help, command.help)
    made.params = [copy.copy(param) for param in command.params]
    made.get_usage = lambda ctx: usage_in_chinese(type(made).get_usage(made, ctx))
    made.get_help_option = lambda ctx: _help_option(made, ctx)
    made._help_option = None
    for param in made.params:
        if (said := getattr(param, "help", None)) in words:
            param.help = words[said]
    if subcommands := getattr(command, "commands", None):
        made.commands = {name: in_chinese(command) for name, command in subcommands.items()}
    return made


def _help_option(command: Any, ctx: Any) -> Any:
    option = type(command).get_help_option(command, ctx)
    if option is not None:
        option.help = catalogue("commands")["typed.show_help"][1]
    return option


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
