"""Texts of commands in the language of the terminal, from `tongyao/texts/commands` and `tongyao/texts/console`."""

from __future__ import annotations

import os
from decimal import Decimal
from typing import Any, Final

from rich.console import Console

from tongyao.commands.terminal import console, put
from tongyao.texts.catalogue import Language, catalogue, worded

_VARIABLES: Final = ("TONGYAO_LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")


def language() -> Language:
    """Return `zh` if the first variable of `_VARIABLES` that is set begins with `zh`, otherwise `en`."""
    given = next((value for name in _VARIABLES if (value := os.environ.get(name))), "")
    return "zh" if given.lower().startswith("zh") else "en"


def say(key: str, /, **values: Any) -> str:
    """Return the text of `key`, or of `<key>_<n>` if `n` is given and that text exists."""
    return say_in(language(), key, **values)


def say_in(chosen: Language, key: str, /, **values: Any) -> str:
    """Return the text of a key (`say`) in a given language."""
    return worded(catalogue("console", "commands"), chosen, key, **values)


def tell(key: str, /, *, to: Console = console, style: str | None = None, whole: bool = False, **values: Any) -> None:
    """Print the text of a key (`say`) with `put`."""
    put(say(key, **values), to=to, style=style, whole=whole)


def dollars(cost: Decimal, *, unknown: bool = False) -> str:
    """An amount of US dollars in words. `unknown`: the price of the calls is not known."""
    return say("show.price_unknown") if unknown and not cost else say("show.dollars", cost=f"{cost:.4f}")


def known(key: str) -> bool:
    return key in catalogue("console", "commands")
