"""What commands print, in the language of the terminal: `commands/texts/<page>.toml`, and behind them the texts of the console."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any, Final

from tongyao.gateway.console.texts import Language, catalogue, worded

TEXTS: Final = Path(__file__).parents[1] / "texts"
_VARIABLES: Final = ("TONGYAO_LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")


def language() -> Language:
    """Chinese where the first of these variables that is set begins with `zh`; else English."""
    given = next((value for name in _VARIABLES if (value := os.environ.get(name))), "")
    return "zh" if given.lower().startswith("zh") else "en"


def say(key: str, /, **values: Any) -> str:
    """The words of `<page>.<key>`; of `<key>_1` where `n` is 1 and they exist."""
    return worded(_catalogue(), language(), key, **values)


def say_in(tongue: Language, key: str, /, **values: Any) -> str:
    """As `say`, in a language of its own."""
    return worded(_catalogue(), tongue, key, **values)


def known(key: str) -> bool:
    return key in _catalogue()


@cache
def _catalogue() -> dict[str, tuple[str, str]]:
    return {**catalogue(), **catalogue(TEXTS)}
