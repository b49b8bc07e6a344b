"""Lines over parts of an intent, with which somebody says what a part is about: whoever formulates it keeps it there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

Lens = Literal["T", "I", "B", "E"]

OVER: Final[Mapping[Lens, Mapping[Literal["en", "zh"], str]]] = {
    "T": {"en": "What changes", "zh": "要变的"},
    "I": {"en": "Where I stand", "zh": "我眼下的处境"},
    "B": {"en": "What is in the way", "zh": "挡在路上的"},
    "E": {"en": "What I can give", "zh": "我能拿出的"},
}
_LENS_OF: Final[Mapping[str, Lens]] = {words.casefold(): lens for lens, each in OVER.items() for words in each.values()}


def under(lens: Lens, words: str, language: Literal["en", "zh"]) -> str:
    """These words as a part of an intent, under the line that says what they are about."""
    return f"{OVER[lens][language]}{'：' if language == 'zh' else ':'}\n\n{words}"


def lens_over(heading: str) -> Lens | None:
    """Return the part that this heading names; None for any other heading."""
    return _LENS_OF.get(heading.partition(": ")[0].strip(" :：").casefold())
