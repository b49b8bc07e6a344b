"""The console's texts, from `tongyao/texts/console`, and the choice of a reader's language."""

from __future__ import annotations

from typing import Any

from tongyao.texts.catalogue import LANGUAGES, Language, catalogue, worded

__all__ = ["LANGUAGES", "Language", "known", "preferred", "say"]


def say(language: Language, key: str, /, **values: Any) -> str:
    """Return the text of `key` (`texts.worded`)."""
    return worded(catalogue("console"), language, key, **values)


def known(key: str) -> bool:
    return key in catalogue("console")


def preferred(chosen: str | None, accepted: str | None) -> Language:
    """Return the chosen language, or without a choice the first known language of the browser, or English."""
    asked = [chosen or "", *(part.strip().lower()[:2] for part in (accepted or "").split(","))]
    return "zh" if next((language for language in asked if language in LANGUAGES), "en") == "zh" else "en"
