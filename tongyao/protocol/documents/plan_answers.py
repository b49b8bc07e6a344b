"""Answers to a plan in words: the last section of its page, a sentence, a table cell, the reader's own answer. Pure.

All texts about answers use this module.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from tongyao.protocol.documents.page import Group, PageEntry, PageSection
from tongyao.protocol.model.record import EarlierAnswer
from tongyao.protocol.model.requests import Language
from tongyao.protocol.model.value import Value
from tongyao.texts.catalogue import table

_WORDS: Final = table("protocol", "answers")
_DECISIONS: Final = ("commit", "decline", "propose", "erased", "")

OwnAnswer = Literal["later", "asked", "possible", "given", "over", "unasked"]
"""The state of the reader's own answer. `later`: not possible yet. `asked`: awaited. `possible`: possible and not
awaited, because a proxy spoke. `given`: answered. `over`: no longer possible. `unasked`: no longer possible, and never
awaited."""
_OWN: Final = table("protocol", "own_answer")


class GivenAnswer(Value):
    """One person's answer to the current plan. `decision`: commit, decline, propose, `erased` (the person was erased),
    or empty.

    `name`: set if the reader may know it. `words`: the text of the answer.
    """

    alias: str
    decision: str = ""
    words: str = ""
    name: str = ""


def answers_section(answers: Sequence[GivenAnswer], language: Language) -> PageSection | None:
    """Return a group for each decision, with the people who made it; None if nobody is asked."""
    words, groups = _WORDS[language], _groups(answers, language)
    return PageSection(kind="answers", heading=words["answers"], lead=words["lead"], groups=groups) if groups else None


def earlier_answers_sections(answers: Sequence[EarlierAnswer], language: Language) -> list[PageSection]:
    """Return the answers to each replaced plan, latest plan first."""
    words = _WORDS[language]
    sections = []
    for revision in sorted({answer.revision for answer in answers}, reverse=True):
        given = [
            GivenAnswer(alias=answer.alias, decision=answer.decision, words=answer.words)
            for answer in answers
            if answer.revision == revision
        ]
        heading, lead = words["before"].format(revision=revision), words["before_lead"]
        sections.append(PageSection(kind="answers_before", heading=heading, lead=lead, groups=_groups(given, language)))
    return sections


def answered_by(answers: Sequence[GivenAnswer], language: Language, *, still_open: bool = False) -> str:
    """Return the answers and the people without an answer, in one line. Empty if nobody has a part. `still_open`:
    whether the plan can be answered."""
    words = _WORDS[language]
    said = (
        words["heading"].format(
            heading=words["open"] if still_open and not those[0].decision else heading,
            who=words["and"].join(_who(answer, words) for answer in those),
        )
        for heading, those in _by_decision(answers, language)
    )
    return words["between"].join(said)


def decision_in_words(decision: str, language: Language, *, still_open: bool = False) -> str:
    """Return the heading of a decision. `decision`: empty for none. `still_open`: whether the plan can be answered."""
    return _WORDS[language]["open" if still_open and not decision else decision]


def own_answer_in_words(own: OwnAnswer, language: Language) -> str:
    """Return the sentence about the reader's own answer."""
    return _OWN[language][own]


def _groups(answers: Sequence[GivenAnswer], language: Language) -> tuple[Group, ...]:
    return tuple(
        Group(heading=heading, entries=tuple(_entry(answer, _WORDS[language]) for answer in those))
        for heading, those in _by_decision(answers, language)
    )


def _by_decision(answers: Sequence[GivenAnswer], language: Language) -> list[tuple[str, list[GivenAnswer]]]:
    """Return each decision that somebody made, as a heading, with the answers of this decision."""
    found = ((decision, [answer for answer in answers if answer.decision == decision]) for decision in _DECISIONS)
    return [(_WORDS[language][decision], those) for decision, those in found if those]


def _who(answer: GivenAnswer, words: Mapping[str, str]) -> str:
    return words["name"].format(alias=answer.alias, name=answer.name) if answer.name else answer.alias


def _entry(answer: GivenAnswer, words: Mapping[str, str]) -> PageEntry:
    who = _who(answer, words)
    if not answer.words:
        return PageEntry(text=who)
    return PageEntry(label=words["said"].format(who=who), text=words["words"].format(words=answer.words))
