"""Marks the words of a text that are about its reader. In these texts everybody has an alias. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from tongyao.protocol.documents.page import Page, PageEntry, PageSection
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.requests import Language

_ALIAS: Final = re.compile(r"(?<![A-Za-z0-9/])(?P<alias>P\d{2,3})(?P<owns>['’]s(?![A-Za-z]))?(?![A-Za-z0-9/])")
_PLAIN: Final = re.compile(r"(?<![A-Za-z0-9])P\d{2,3}(?![A-Za-z0-9])")
_AS_PARTICIPANT: Final[Mapping[Language, str]] = {"en": "you ({alias})", "zh": "你（{alias}）"}
_YOU: Final[Mapping[Language, str]] = {"en": "you", "zh": "你"}
_SPACE_AROUND_YOU: Final = re.compile(r" ?(你(?:（P\d+）)?) ?")


def to_reader(text: str, alias: str, language: Language) -> str:
    """Return a sentence that addresses its reader: `P02 (you) has a boat`, `your boat`; `你（P02）有一条船`.

    Chinese verbs are the same for all persons, so `你` replaces the alias.
    """
    if not alias or alias not in text:
        return text
    if language == "zh":
        you = called(alias, alias, language)
        told = _ALIAS.sub(lambda found: you if found["alias"] == alias else found.group(), text)
        return _SPACE_AROUND_YOU.sub(r"\1", told).replace(f"（{alias}）（", f"（{alias}，")

    def named(found: re.Match[str]) -> str:
        if found["alias"] != alias:
            return found.group()
        if not found["owns"]:
            return f"{alias} (you)"
        return "Your" if _begins(text, found.start()) else "your"

    return _ALIAS.sub(named, text)


def _begins(text: str, at: int) -> bool:
    """Whether a sentence begins at this position."""
    before = text[max(0, at - 6) : at].rstrip("“‘\"'(")
    if not before.strip():
        return True
    return before[-1].isspace() and before.rstrip().rstrip("”’\"')")[-1:] in (".", "!", "?", "…", ":")


def called(alias: str, reader: str, language: Language) -> str:
    """Return a person's name in a table: for the reader `you` (demander) or `you (P02)` (participant), else the
    alias."""
    if not alias or alias != reader:
        return alias
    return (_YOU if alias == DEMANDER else _AS_PARTICIPANT)[language].format(alias=alias)


def addressed(page: Page, reader: str) -> Page:
    """Return the page as this person reads it. The texts of sources are unchanged."""

    def told(sections: tuple[PageSection, ...]) -> tuple[PageSection, ...]:
        return tuple(_section(section, reader, page.language) for section in sections)

    lead = None if page.lead is None else _entry(page.lead, reader, page.language)
    return page.model_copy(update={"lead": lead, "sections": told(page.sections), "appendix": told(page.appendix)})


def _section(section: PageSection, reader: str, language: Language) -> PageSection:
    groups = tuple(
        group.model_copy(
            update={
                "heading": to_reader(group.heading, reader, language),
                "entries": tuple(_entry(entry, reader, language) for entry in group.entries),
            }
        )
        for group in section.groups
    )
    return section.model_copy(update={"groups": groups})


def _entry(entry: PageEntry, reader: str, language: Language) -> PageEntry:
    label = entry.label
    if reader:
        label = _PLAIN.sub(lambda found: called(found.group(), reader, language), label)
    if language == "zh":
        label = _SPACE_AROUND_YOU.sub(r"\1", label)
    return entry.model_copy(update={"text": to_reader(entry.text, reader, language), "label": label})
