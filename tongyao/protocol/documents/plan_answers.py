"""How a plan was answered, as the last section of its page: who committed, declined or proposed what, in their words. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tongyao.protocol.documents.page import Entry, Group, Section
from tongyao.protocol.model.requests import Language
from tongyao.protocol.model.value import Value

_WORDS: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {
        "answers": "What is agreed so far",
        "lead": "The plan holds for those who have committed.",
        "commit": "Committed",
        "decline": "Declined",
        "propose": "Proposed a change",
        "": "No answer",
        "name": "{alias} ({name})",
        "said": "{who}:",
        "words": "“{words}”",
    },
    "zh": {
        "answers": "到现在谈定了什么",
        "lead": "方案只对已经接下的人作数。",
        "commit": "接下的",
        "decline": "不接的",
        "propose": "提了修改的",
        "": "没有答复的",
        "name": "{alias}（{name}）",
        "said": "{who}：",
        "words": "“{words}”",
    },
}


class GivenAnswer(Value):
    """What one person answered to the plan that holds. `decision`: commit, decline, propose; empty: no answer, or none yet.

    `name`: where the reader may know it. `words`: what they wrote with it.
    """

    alias: str
    decision: str = ""
    words: str = ""
    name: str = ""


def answers_section(answers: Sequence[GivenAnswer], language: Language) -> Section | None:
    """A group for each decision, with everybody who made it; None where nobody is asked."""
    words = _WORDS[language]
    groups = tuple(
        Group(heading=words[decision], entries=tuple(_entry(one, words) for one in those))
        for decision in ("commit", "decline", "propose", "")
        if (those := [one for one in answers if one.decision == decision])
    )
    return Section(kind="answers", heading=words["answers"], lead=words["lead"], groups=groups) if groups else None


def _entry(answer: GivenAnswer, words: Mapping[str, str]) -> Entry:
    who = words["name"].format(alias=answer.alias, name=answer.name) if answer.name else answer.alias
    if not answer.words:
        return Entry(text=who)
    return Entry(label=words["said"].format(who=who), text=words["words"].format(words=answer.words))
