"""Texts that people read, in English and Chinese: `texts/<room>/<page>.toml`, each key with both languages.

A text is data: `key = ["English with a {value}", "中文和 {value}"]`. This module is the only one that reads the files.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any, Final, Literal

Language = Literal["en", "zh"]
LANGUAGES: Final[tuple[Language, ...]] = ("en", "zh")
FOLDER: Final = Path(__file__).parent


@cache
def catalogue(*rooms: str) -> Mapping[str, tuple[str, str]]:
    """Map `<page>.<key>` to its English and Chinese text. Texts of a later folder replace those of an earlier folder.

    Raises `ValueError` for an entry that is not a pair of texts.
    """
    found: dict[str, tuple[str, str]] = {}
    for file in (file for room in rooms for file in sorted((FOLDER / room).glob("**/*.toml"))):
        for key, pair in tomllib.loads(file.read_text(encoding="utf-8")).items():
            if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(text, str) for text in pair):
                raise ValueError(f"{file.name}: {key} is no pair of English and Chinese")
            found[f"{file.stem}.{key}"] = (pair[0], pair[1])
    return found


def worded(words: Mapping[str, tuple[str, str]], language: str, key: str, /, **values: Any) -> str:
    """The text of `key`, in English for every language except `zh`. If `n` is 1, the key `<key>_1` is used, and if `n`
    is 0, `<key>_0`, where these keys exist.

    In a text, `link{n:s}` and `process{n:es}` become plural unless `n` is 1.
    """
    if "n" in values and f"{key}_{values['n']}" in words:
        key = f"{key}_{values['n']}"
    return _FORMATTER.vformat(words[key][language == "zh"], (), values)


def table(room: str, page: str) -> Mapping[Language, Mapping[str, str]]:
    """The texts of one page by language and key. Raises `KeyError` for a page without texts."""
    pairs = {key.removeprefix(f"{page}."): pair for key, pair in catalogue(room).items() if key.startswith(f"{page}.")}
    if not pairs:
        raise KeyError(page)
    return {language: {key: pair[at] for key, pair in pairs.items()} for at, language in enumerate(LANGUAGES)}


def in_both(room: str, key: str, /, **values: Any) -> tuple[str, str]:
    """The text of `key` in English and in Chinese, where the reader's language is not known yet."""
    return worded(catalogue(room), "en", key, **values), worded(catalogue(room), "zh", key, **values)


class _EndingFormatter(Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec in _ENDINGS:
            return "" if str(value) == "1" else format_spec
        return str(super().format_field(value, format_spec))


_ENDINGS: Final = ("s", "es")
_FORMATTER: Final = _EndingFormatter()
