"""Removes ids from sentences for people. The ids belong to the sources (docs/plans.md). Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from tongyao.protocol.model.ids import ANY_ID, round_of, speaker_of
from tongyao.protocol.model.requests import Language
from tongyao.texts.catalogue import table

_OF_PROCESS: Final = r"(?:[\w-][\w.-]{0,79}/)?"
_ID: Final = rf"{_OF_PROCESS}{ANY_ID}"
_BRACKETED: Final = re.compile(
    rf"\s?[\[(（【⟨]\s{{0,3}}{_ID}(?:\s{{0,3}}[,，、;；]\s{{0,3}}{_ID}){{0,40}}\s{{0,3}}[\])）】⟩]"
)
_BARE: Final = re.compile(rf"(?<![\w/.-]){_ID}(?![\w/])")
_PART: Final = re.compile(r"(?<![A-Za-z0-9/])B(?P<number>\d)(?![A-Za-z0-9/])")
_TASK: Final = re.compile(r"(?<![A-Za-z0-9/])t\d{1,3}(?![A-Za-z0-9/])")
_WORDS: Final = table("protocol", "ids")


def without_ids(text: str, language: Language, steps: Mapping[str, int] | None = None) -> tuple[str, tuple[str, ...]]:
    """Return `text` without item ids, and the ids that it cites in brackets, in order. `steps`: task numbers by id.

    Ids in brackets are removed. An id within a sentence is no citation and is replaced by words (`what P02 said in
    round 1`), as are a barrier (`B2`: `obstacle 2`) and a task (`t3`: `step 3`). Aliases are kept.
    """
    cited = tuple(dict.fromkeys(id for bracket in _BRACKETED.findall(text) for id in _BARE.findall(bracket)))
    words = _WORDS[language]

    def told(match: re.Match[str]) -> str:
        if not round_of(match[0]):
            lens = match[0].rsplit("/", 1)[1]
            return words[lens[0]].format(number=lens[1:])
        who = speaker_of(match[0])
        return words["item" if who else "catalyst"].format(who=who, round=round_of(match[0]))

    bare = _BARE.sub(told, _BRACKETED.sub("", text)) if "/" in text else text
    bare = _PART.sub(lambda match: words["B"].format(number=match["number"]), bare)
    if steps:
        bare = _TASK.sub(
            lambda match: words["step"].format(number=steps[match[0]]) if match[0] in steps else match[0], bare
        )
    return bare.strip(), cited
