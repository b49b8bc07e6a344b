"""The catalyst stops at visibility: no recommendation, no judgement of a person. Pure.

See docs/protocol.md §5.4. What somebody said they recommend is visible matter and stays; the same words as the
catalyst's own go. So what stands in quotation marks, or follows "P02 said", is left out before a sentence is
judged. Not so where another participant is named in it: put into somebody's mouth, "P01 and P03 should talk"
weighs as much.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple

from tongyao.protocol.guards.wordings import (
    ALIAS,
    ALONE,
    JUDGES,
    MAY_JUDGE,
    MAY_RECOMMEND,
    MAY_TAKE_ASIDE,
    NEUTRAL,
    QUOTED,
    RECOMMENDS,
    REPORTS_EN,
    REPORTS_ZH,
    TALKED,
    TOLD,
    WISHES_ZH,
)
from tongyao.protocol.model.observation import Observation, ObservationDraft
from tongyao.protocol.model.value import Value

_SENTENCE: Final = re.compile(
    r"(?:“[^“”\n]{0,400}”|「[^「」\n]{0,400}」|『[^『』\n]{0,400}』|\.(?=\S)|[^.。！？!?；;\n])*"
    r"(?:[。！？!?；;\n]+|\.+(?:\s+|$)|$)"
)
"""One sentence with what ends it. Marks inside quotation marks end nothing, nor does a full stop within a number."""

_ANY_ALIAS: Final = re.compile(ALIAS)
_NEAR: Final = 40
"""Characters before and after a quotation in which its speaker is looked for."""
_WINDOW: Final = 600
_OVERLAP: Final = 200
"""Longer sentences are judged in pieces of so many characters, so that the time grows with their length only."""
_SPEAKS_BEFORE: Final = re.compile(rf"{ALIAS}[^。；.;“”「」\"\n]{{0,24}}$")
_SPEAKS_AFTER: Final = re.compile(
    rf"\s{{0,4}}+(?:[,，。]\s{{0,4}}+)?(?:(?:\w{{1,24}} )?{ALIAS}|(?:is|was|are) (?:how|what) {ALIAS})"
)
"""An alias shortly before a quotation, or right after it: whose words they are."""

_BESIDE_CHINESE: Final = re.compile(
    r"(?<=[\u3400-\u9fff，。；：、！？]) (?=[A-Za-z0-9])|(?<=[A-Za-z0-9]) (?=[\u3400-\u9fff])"
)
"""A space between Chinese and Latin letters or digits: some writers set it, and it changes no meaning."""

_EDGES: Final = " .。!！?？;；,，:：、\n"
"""What stands around words and is not quoted with them."""

RECOMMENDATION: Final = "recommendation"
PRIVATE_TALK: Final = "private_talk"
JUDGEMENT: Final = "judgement"

Reason = Literal["recommendation", "private_talk", "judgement", ""]

_WORDS_OF_OTHERS: Final = ("a_words", "b_words")
_OWN_TEXTS: Final = ("text", "markdown", "name")


class Finding(NamedTuple):
    """Why a sentence is not the catalyst's to say, and the words of it that say so."""

    reason: Reason
    words: str


class Breach(Value):
    """One sentence that goes beyond visibility, and the words in it that do."""

    sentence: str
    words: str
    reason: Reason


class Remark(Value):
    """One sentence that may go beyond visibility, and the words in it that may."""

    sentence: str
    words: str
    reason: Reason


def breach_of(sentence: str) -> Reason:
    """Why `sentence` is not the catalyst's to say; empty when it is, or when that is not certain."""
    found = _breach_in(sentence)
    return found.reason if found else ""


def doubt_of(sentence: str) -> Reason:
    """Why `sentence` may not be the catalyst's to say; empty when nothing in it suggests that."""
    found = _doubt_in(sentence)
    return found.reason if found else ""


@lru_cache(maxsize=1024)  # what is looked for, to send a draft back, is looked for again to strike it
def _breach_in(sentence: str) -> Finding | None:
    parts = (part for part in _parts(_own_words(sentence)) if not NEUTRAL.search(part))
    return next((found for part in parts if (found := _goes_beyond(part))), None)


def _doubt_in(sentence: str) -> Finding | None:
    parts = _parts(_own_words(sentence))
    return next((found for part in parts if (found := _goes_beyond(part) or _may_go_beyond(part))), None)


def _may_go_beyond(own: str) -> Finding | None:
    if (found := MAY_TAKE_ASIDE.search(own)) and not TALKED.search(own):
        return _finding(PRIVATE_TALK, found)
    if (found := MAY_RECOMMEND.search(own)) and not TOLD.search(own):
        return _finding(RECOMMENDATION, found)
    return _finding(JUDGEMENT, found) if (found := MAY_JUDGE.search(own)) else None


def _parts(own: str) -> list[str]:
    """`own` itself, or overlapping pieces of a very long sentence."""
    if len(own) <= _WINDOW:
        return [own]
    return [own[start : start + _WINDOW] for start in range(0, len(own), _WINDOW - _OVERLAP)]


def _goes_beyond(own: str) -> Finding | None:
    if (found := ALONE.search(own)) and not TALKED.search(own):
        return _finding(PRIVATE_TALK, found)
    if found := RECOMMENDS.search(own):
        return _finding(RECOMMENDATION, found)
    return _finding(JUDGEMENT, found) if (found := JUDGES.search(own)) else None


def _finding(reason: Reason, found: re.Match[str]) -> Finding:
    words = found.group().strip()
    return Finding(reason, words.strip(_EDGES) or words)


def breaches(draft: ObservationDraft) -> tuple[Breach, ...]:
    """Every breach in any text of `draft`."""
    found: list[Breach] = []

    def look(text: str) -> str:
        for sentence in _sentences(text):
            if breach := _breach_in(sentence):
                found.append(Breach(sentence=sentence.strip(), words=breach.words, reason=breach.reason))
        return text

    _each_text(draft.model_dump(), look)
    return tuple(found)


def strike(draft: ObservationDraft) -> tuple[ObservationDraft, int]:
    """`draft` without the sentences that breach visibility, and how many they were; the rest stays."""
    struck = 0

    def clean(text: str) -> str:
        nonlocal struck
        sentences = _sentences(text)
        kept = [sentence for sentence in sentences if not breach_of(sentence)]
        struck += len(sentences) - len(kept)
        return text if len(kept) == len(sentences) else "".join(kept).strip()

    cleaned = _each_text(draft.model_dump(), clean)
    return ObservationDraft.model_validate(cleaned), struck


def remarks(seen: Observation) -> tuple[Remark, ...]:
    """Sentences of an observation that may go beyond visibility, found with too little certainty to strike them."""
    found: dict[str, Remark] = {}

    def look(text: str) -> str:
        for sentence in _sentences(text):
            if not breach_of(sentence) and (doubt := _doubt_in(sentence)):
                told = sentence.strip()
                found.setdefault(told, Remark(sentence=told, words=doubt.words, reason=doubt.reason))
        return text

    stated = seen.model_copy(
        update={"pairs": tuple(pair for pair in seen.pairs if pair.stated_in == seen.round), "markdown": ""}
    )
    _each_text(stated.model_dump(mode="json"), look)
    return tuple(found.values())


def _own_words(sentence: str) -> str:
    """`sentence` without what it only reports, and without spaces around what is not Chinese in it."""
    sentence = _BESIDE_CHINESE.sub("", sentence)

    def unless_it_names_somebody(match: re.Match[str]) -> str:
        named = len(set(_ANY_ALIAS.findall(match.group())))
        before = sentence[max(0, match.start() - _NEAR) : match.start()]
        after = sentence[match.end() : match.end() + _NEAR]
        attributed = _SPEAKS_BEFORE.search(before) is not None or _SPEAKS_AFTER.match(after) is not None
        return match.group() if named > attributed else " "

    def to_the_verb(match: re.Match[str]) -> str:
        return match.group() if _ANY_ALIAS.search(match.group("said")) else match.group("who") + "…"

    bare = QUOTED.sub(unless_it_names_somebody, sentence)
    if not bare.strip(_EDGES):
        bare = sentence  # nothing but a quotation, and nobody it would be of
    bare = WISHES_ZH.sub(to_the_verb, bare)
    return REPORTS_ZH.sub(to_the_verb, REPORTS_EN.sub(to_the_verb, bare))


def _sentences(text: str) -> list[str]:
    return [match.group() for match in _SENTENCE.finditer(text) if match.group()]


def _each_text(value: Any, act: Any, name: str = "") -> Any:
    """`value` with `act` applied to every free text in it.

    Words copied from participants are theirs, whatever they advise; but no participant calls another by an alias.
    """
    if isinstance(value, dict):
        return {key: _each_text(item, act, key) for key, item in value.items()}
    if isinstance(value, list):
        return [_each_text(item, act, name) for item in value]
    if not isinstance(value, str):
        return value
    free = name in _OWN_TEXTS or (name in _WORDS_OF_OTHERS and _ANY_ALIAS.search(value))
    return act(value) if free else value
