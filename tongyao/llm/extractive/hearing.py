"""What was said in the rounds so far, as the catalyst of the extractive engine hears it: voices, and the words they share."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tongyao.llm.extractive import wording
from tongyao.llm.extractive.cues import Cue, cues_in, offers_now, seeks, without_conditions
from tongyao.llm.extractive.likeness import Likeness, stem, tokens, weight_of
from tongyao.llm.extractive.places import is_place_for
from tongyao.llm.extractive.sentences import single, split
from tongyao.protocol.model.projection import Dimension, Item
from tongyao.protocol.model.requests import CatalystRequest, Language, PlannerRequest
from tongyao.protocol.rules.identity.common_words import ENGLISH

BY_SAYERS: Final = {2: 1.0, 3: 0.8}
"""What a word shared by two participants weighs when so many in the room say it."""

BY_MANY: Final = 0.25
"""The same when more say it."""

OF_THE_TENSION: Final = 0.5
"""A word of the tension weighs so much less: everybody was asked about it."""

MEETS_NEED: Final[dict[Language, float]] = {"en": 1.0, "zh": 0.5}
"""Weight of shared words (`Hearing.weigh`) from which a statement answers a need, or two wishes are one.

A Chinese word is weighed by its rarity in running text and hardly reaches 1; an English one that is not ordinary weighs 1.
"""

MEETS_DEMANDER: Final[dict[Language, float]] = {"en": 0.6, "zh": 0.5}
"""The same for what the demander gives or has: one English word of the subject, also a common one."""

EVERYDAY: Final = 0.6
"""A common English word weighs so much less: alone it joins nothing, two of them do."""

BY_ONE_PLAIN: Final = 0.6
"""What one word counts that a need shares with a statement which offers nothing: alone it joins nothing. So with a line of the tension."""

_EVERYDAY: Final = frozenset(map(stem, ENGLISH))
_HAVING: Final = re.compile(r"\b(?:I|we)(?:'ve| have| own| hold| keep)\b|\bthere(?:'s| is| are)\b|有", re.IGNORECASE)


def telling(word: str) -> float:
    """What a word says of the subject: `weight_of`, and less for a common English word."""
    return weight_of(word) * (EVERYDAY if word in _EVERYDAY else 1.0)


@dataclass(frozen=True)
class Voice:
    """An item as the catalyst hears it."""

    alias: str
    item: Item
    round: int
    said: str
    cues: frozenset[Cue]

    @property
    def offers(self) -> bool:
        return self.item.dimension is Dimension.CAPABILITY and not self.needs

    @property
    def needs(self) -> bool:
        return Cue.NEED in self.cues and self.item.dimension is not Dimension.BOUNDARY

    @property
    def only_needs(self) -> bool:
        """Whether the voice says what its owner lacks, and offers nothing in the same breath."""
        return self.needs and seeks(self.said)

    @property
    def limits(self) -> bool:
        return self.item.dimension is Dimension.BOUNDARY

    @property
    def wishes(self) -> bool:
        return self.item.dimension is Dimension.DIRECTION

    @property
    def answers(self) -> bool:
        """Whether the voice may meet a need: it is none, and rules nothing out unless it offers as well."""
        return not self.needs and (Cue.OFFER in self.cues or not (self.limits or Cue.LIMIT in self.cues))

    @property
    def holds(self) -> bool:
        """Whether the voice offers something, or says that its owner has it."""
        return Cue.OFFER in self.cues or bool(_HAVING.search(self.said))

    @property
    def sought(self) -> bool:
        """Whether somebody offers, needs or wants what the voice speaks of; a mere account collides with nothing."""
        return self.needs or self.wishes or Cue.OFFER in self.cues


class Hearing:
    """All voices of an exchange, how alike any two of them are, and what the words that they share weigh."""

    def __init__(self, request: CatalystRequest | PlannerRequest) -> None:
        self.language = request.language
        self.voices = [
            Voice(projection.alias, item, turn.round, said, cues_in(said))
            for turn in request.exchange
            for projection in turn.projections
            for item in projection.items
            if (said := wording.said_in(item))
        ]
        texts = [voice.said for voice in self.voices]
        self._parts = request.tension.targets()
        self._targets = list(self._parts.values())
        self._place = {voice.item.id: place for place, voice in enumerate(self.voices)}
        self._words = [frozenset(tokens(text)) for text in texts]
        self._given = [frozenset(tokens(without_conditions(text))) for text in texts]
        self._of_tension = frozenset(word for text in self._targets for word in tokens(text))
        self._sayers: dict[str, set[str]] = {}
        for voice, words in zip(self.voices, self._words, strict=True):
            for word in words:
                self._sayers.setdefault(word, set()).add(voice.alias)

    def of(self, alias: str) -> list[Voice]:
        return [voice for voice in self.voices if voice.alias == alias]

    @cached_property
    def _alike(self) -> NDArray[np.float64]:
        texts = [voice.said for voice in self.voices]
        return Likeness([*texts, *self._targets]).between(texts, texts)

    @cached_property
    def _of_demander(self) -> list[tuple[str, frozenset[str]]]:
        """What the demander gives, and what they say that they have: the part of the tension, and the words of the sentence."""
        return [
            (target, frozenset(tokens(without_conditions(sentence.text))))
            for target, text in self._parts.items()
            if not target.startswith("B")
            for sentence in split(text) or [single(text)]
            if not seeks(sentence.text)
            and (target == "E" or offers_now(sentence.text) or _HAVING.search(sentence.text))
        ]

    def met_by_demander(self, need: Voice) -> str:
        """The part of the tension in which the demander says something for a need, what is offered first; empty where there is none.

        One word of the subject is enough: the demander says little, and all of it is about the matter.
        """
        own = self._words[self._place[need.item.id]]
        met = (
            target
            for target, words in self._of_demander
            if self._weigh_with_demander(_longest(own & words)) >= MEETS_DEMANDER[self.language]
        )
        return min(met, key="EIT".index, default="")

    def _weigh_with_demander(self, words: Iterable[str]) -> float:
        """As `weigh`, where one of the two is the demander."""
        return sum(telling(word) * BY_SAYERS.get(max(2, len(self._sayers[word])), BY_MANY) for word in words)

    def alike(self, a: Voice, b: Voice) -> float:
        return float(self._alike[self._place[a.item.id], self._place[b.item.id]])

    def shared(self, a: Voice, b: Voice) -> frozenset[str]:
        """The words of both; of words inside longer ones only the longest."""
        return _longest(self._words[self._place[a.item.id]] & self._words[self._place[b.item.id]])

    def met(self, need: Voice, answer: Voice) -> frozenset[str]:
        """The words of a need that a statement has too, and not as its condition: who comes "if the van is free" has no van."""
        return _longest(self._words[self._place[need.item.id]] & self._given[self._place[answer.item.id]])

    def touching(self, voice: Voice, line: str) -> frozenset[str]:
        """The words that a statement shares with a line of the tension, but for those of its conditions; empty where they say little.

        How many people say a word does not count: everybody was asked about the line. What somebody only tells needs more of its words.
        """
        words = _longest(self._given[self._place[voice.item.id]] & frozenset(tokens(line)))
        weight = sum(map(telling, words))
        told_only = not (seeks(voice.said) or offers_now(voice.said) or _HAVING.search(voice.said))
        return words if weight * (BY_ONE_PLAIN if told_only else 1.0) >= MEETS_NEED[self.language] else frozenset()

    def meets(self, need: Voice, answer: Voice) -> bool:
        """Whether a statement has enough of the words of a need."""
        return self.bearing(need, answer) >= MEETS_NEED[self.language]

    def bearing(self, need: Voice, answer: Voice) -> float:
        """What the words weigh that a statement shares with a need.

        How rare an English word is, is not known. So one word joins a need with an offer, and not with a plain statement; and
        for an offer the words of the tension count in full, since it speaks to everybody who needs the thing. A free place meets
        the need of one without any word in common.
        """
        words = self.met(need, answer)
        if is_place_for(need.said, answer.said):
            return MEETS_NEED[self.language] + self.weigh(words)
        if self.language == "zh":
            return self.weigh(words)
        weight = self.weigh(words, of_tension=1.0 if Cue.OFFER in answer.cues else OF_THE_TENSION)
        plain = len(words) == 1 and not (answer.holds or Cue.OFFER in need.cues)
        return weight * (BY_ONE_PLAIN if plain else 1.0)

    def weigh(self, words: Iterable[str], *, of_tension: float = OF_THE_TENSION) -> float:
        """How much it says that two people use these words: 1 for each rare one that nobody else in the room has."""
        return sum(
            telling(word)
            * BY_SAYERS.get(len(self._sayers[word]), BY_MANY)
            * (of_tension if word in self._of_tension else 1.0)
            for word in words
        )


def _longest(words: frozenset[str]) -> frozenset[str]:
    return frozenset(word for word in words if not any(word != other and _inside(word, other) for other in words))


def _inside(word: str, other: str) -> bool:
    return "\u3400" <= word[0] <= "\u9fff" and word in other
