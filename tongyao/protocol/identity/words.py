"""Word lists that distinguish names from other words, read from `words.toml`, which explains each list."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

_LISTS: Final[dict[str, dict[str, str]]] = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))


def _words(language: str, name: str) -> tuple[str, ...]:
    return tuple(_LISTS[language][name].split())


def _characters(name: str) -> frozenset[str]:
    return frozenset("".join(_words("chinese", name)))


ENGLISH: Final = frozenset(_words("english", "everyday"))
ALSO_NAMES: Final = frozenset(_words("english", "also_names"))
GIVEN: Final = frozenset(_words("english", "given"))
LANGUAGES: Final = frozenset(_words("english", "languages"))
TIMES: Final = frozenset(_words("english", "times"))
PLACES: Final = frozenset(_words("english", "places"))
PLACE_WORDS: Final = frozenset(_words("english", "place_words"))
ROLE_WORDS: Final = frozenset(_words("english", "role_words"))
CONNECTORS: Final = frozenset(_words("english", "connectors"))

CHINESE: Final = frozenset(_words("chinese", "everyday"))
NO_FAMILIAR: Final = frozenset(_words("chinese", "no_familiar"))
SURNAMES: Final = _characters("surnames") | frozenset(_words("chinese", "surnames_of_two"))
HONORIFICS: Final = _words("chinese", "honorifics")
FAMILIAR: Final = "".join(_words("chinese", "familiar"))
ALSO_WORDS: Final = _characters("also_words")
GIVEN_CHARS: Final = _characters("given")
MOSTLY_GIVEN: Final = _characters("mostly_given")
PLACE_END: Final = _characters("place_end")
NOT_GIVEN: Final = _characters("not_given")
FOREIGN_CHARS: Final = "".join(_words("chinese", "foreign"))
