"""The console's words, `tongyao/texts/console`, and the language in which somebody reads them."""

from __future__ import annotations

from typing import Any

from tongyao.texts.catalogue import LANGUAGES, Language, catalogue, worded

__all__ = ["LANGUAGES", "Language", "known", "preferred", "say"]


def say(language: Language, key: str, /, **values: Any) -> str:
    """The words of `key` (`texts.worded`)."""
    return worded(catalogue("console"), language, key, **values)


def known(key: str) -> bool:
    return key in catalogue("console")


def preferred(chosen: str | None, accepted: str | None) -> Language:
    """The language a person chose. Without a choice, the first of their browser's that there is, or English."""
    asked = [chosen or "", *(part.strip().lower()[:2] for part in (accepted or "").split(","))]
    return "zh" if next((language for language in asked if language in LANGUAGES), "en") == "zh" else "en"
