"""The texts of notifications: what waits, where and until when. They contain nobody's text and no name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from tongyao.texts.catalogue import catalogue, worded


def subject(what: str, about: Mapping[str, Any], language: str) -> str:
    said = _in(language)
    alias = about.get("alias") or said("somebody")
    return "Tongyao: " + said(what, alias=alias, round=about.get("round", ""))


def text(
    what: str,
    about: Mapping[str, Any],
    *,
    process: str,
    due: datetime | None,
    where: str,
    language: str,
    first: Sequence[str] = (),
) -> str:
    """The body of a notification. `first`: paragraphs that stand before everything else."""
    said = _in(language)
    lines = [line for paragraph in first for line in (paragraph, "")]
    lines += [subject(what, about, language).removeprefix("Tongyao: "), ""]
    if process:
        lines.append(said("process", process=process))
    if due is not None:
        lines.append(said("until", until=f"{due:%Y-%m-%d %H:%M} UTC"))
    if where:
        lines.append(said("where", where=where))
    return "\n".join(lines) + "\n"


def code_mail(code: str, language: str) -> tuple[str, str]:
    """Subject and text of the mail with a code."""
    said = _in(language)
    return said("code_subject"), said("code", code=code)


def _in(language: str) -> Callable[..., str]:
    def said(key: str, **values: object) -> str:
        return worded(catalogue("app"), "zh" if language == "zh" else "en", f"notification.{key}", **values)

    return said
