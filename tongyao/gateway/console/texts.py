"""The console's words: `texts/<page>.toml` and `texts/words/<kind>.toml`, each key with its English and its Chinese."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any, Final, Literal

Language = Literal["en", "zh"]
LANGUAGES: Final[tuple[Language, ...]] = ("en", "zh")
_FOLDER: Final = Path(__file__).parent / "texts"


@cache
def catalogue(folder: Path = _FOLDER) -> dict[str, tuple[str, str]]:
    """`<page>.<key>` with the English and the Chinese. Raises `ValueError` for an entry that is not such a pair."""
    found: dict[str, tuple[str, str]] = {}
    for file in sorted(folder.glob("**/*.toml")):
        for key, pair in tomllib.loads(file.read_text(encoding="utf-8")).items():
            if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(one, str) for one in pair):
                raise ValueError(f"{file.name}: {key} is no pair of English and Chinese")
            found[f"{file.stem}.{key}"] = (pair[0], pair[1])
    return found


def say(language: Language, key: str, /, **values: Any) -> str:
    """The words of `key`. With `n` given, `<key>_1` is taken for one and `<key>_0` for none, where they exist."""
    return worded(catalogue(), language, key, **values)


def worded(words: Mapping[str, tuple[str, str]], language: Language, key: str, /, **values: Any) -> str:
    """As `say`, from any catalogue. `link{n:s}` and `process{n:es}` in a text have their ending unless `n` is 1."""
    if "n" in values and f"{key}_{values['n']}" in words:
        key = f"{key}_{values['n']}"
    return _TEXT.vformat(words[key][LANGUAGES.index(language)], (), values)


class _Text(Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec in _ENDINGS:
            return "" if str(value) == "1" else format_spec
        return str(super().format_field(value, format_spec))


_ENDINGS: Final = ("s", "es")
_TEXT: Final = _Text()


def known(key: str) -> bool:
    return key in catalogue()


def preferred(chosen: str | None, accepted: str | None) -> Language:
    """The language a person chose. Without a choice, the first of their browser's that there is, or English."""
    asked = [chosen or "", *(one.strip().lower()[:2] for one in (accepted or "").split(","))]
    return "zh" if next((one for one in asked if one in LANGUAGES), "en") == "zh" else "en"
