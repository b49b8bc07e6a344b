"""Texts of commands in the language of the terminal: `tongyao/texts/commands`, and behind them the texts of the console."""

from __future__ import annotations

import os
from decimal import Decimal
from typing import Any, Final

from rich.console import Console

from tongyao.commands.terminal import console, put
from tongyao.texts.catalogue import Language, catalogue, worded

_VARIABLES: Final = ("TONGYAO_LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")


def language() -> Language:
    """Chinese where the first of these variables that is set begins with `zh`; else English."""
    given = next((value for name in _VARIABLES if (value := os.environ.get(name))), "")
    return "zh" if given.lower().startswith("zh") else "en"


def say(key: str, /, **values: Any) -> str:
    """The words of `<page>.<key>`; of `<key>_1` where `n` is 1 and they exist."""
    return say_in(language(), key, **values)


def say_in(chosen: Language, key: str, /, **values: Any) -> str:
    """Like `say`, in a language that is given: that of a process."""
    return worded(catalogue("console", "commands"), chosen, key, **values)


def tell(key: str, /, *, to: Console = console, style: str | None = None, whole: bool = False, **values: Any) -> None:
    """Print the words of a key (`say`), as `put` does."""
    put(say(key, **values), to=to, style=style, whole=whole)


def dollars(cost: Decimal, *, unknown: bool = False) -> str:
    """An amount of US dollars in words. `unknown`: the price of the calls is not known."""
    return say("show.price_unknown") if unknown and not cost else say("show.dollars", cost=f"{cost:.4f}")


def known(key: str) -> bool:
    return key in catalogue("console", "commands")
