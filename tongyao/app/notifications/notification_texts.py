"""The texts of notifications: the open ask, its place and its deadline. They contain no text and name of people."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from tongyao.protocol.life.asks import KINDS as KINDS_OF_ASKS
from tongyao.protocol.life.asks import Told, does
from tongyao.texts.catalogue import catalogue, worded


def said(what: str, about: Mapping[str, Any], ask: Told | None, language: str) -> str:
    """Return the sentence of a notification. For an `ask`, it is the sentence of the table of asks."""
    if ask is not None and what in KINDS_OF_ASKS:
        sentence = does(ask, language)
        return f"请{sentence}" if language == "zh" else sentence[:1].upper() + sentence[1:]
    word = _in(language)
    return word(what, alias=about.get("alias") or word("somebody"), round=about.get("round", ""))


def subject(sentence: str) -> str:
    return f"Tongyao: {sentence}"


def text(
    sentence: str,
    *,
    process: str,
    due: datetime | None,
    where: str,
    personal: bool,
    language: str,
    first: Sequence[str] = (),
) -> str:
    """Return the body of a notification.

    `personal`: whether `where` is a link that signs the reader in. `first`: paragraphs before the sentence.
    """
    said = _in(language)
    lines = [line for paragraph in first for line in (paragraph, "")]
    lines += [sentence, ""]
    if process:
        lines.append(said("process", process=process))
    if due is not None:
        lines.append(said("until", until=f"{due:%Y-%m-%d %H:%M} UTC"))
    if where:
        lines.append(said("personal_link" if personal else "where", where=where))
    return "\n".join(lines) + "\n"


def code_mail(code: str, language: str) -> tuple[str, str]:
    """Return subject and text of the mail with a code."""
    said = _in(language)
    return said("code_subject"), said("code", code=code)


def _in(language: str) -> Callable[..., str]:
    def said(key: str, **values: object) -> str:
        return worded(catalogue("app"), language, f"notification.{key}", **values)

    return said
