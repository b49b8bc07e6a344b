"""What a sentence is, by its words and its heading, and which part of a tension it bears on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tongyao.llm.extractive.axes import opposed
from tongyao.llm.extractive.cues import Cue
from tongyao.llm.extractive.likeness import Likeness, tokens
from tongyao.llm.extractive.sentences import Sentence, single, split
from tongyao.protocol.guards.forbidden import Forbidden
from tongyao.protocol.model.projection import Dimension
from tongyao.protocol.model.requests import Mandate
from tongyao.protocol.model.sizes import language_of
from tongyao.protocol.model.tension import Tension

FLOOR: Final = 0.075
"""Least likeness to a part of the tension for a sentence to be said in a first turn."""

BY_ONE_WORD: Final = 0.7
"""What likeness counts for where a single English word makes it: it may be any word, its rarity is not known
here."""

AXIS: Final = 0.2
"""What standing on the opposite pole of a part of the tension adds to a limit."""

DIMENSION_OF: Final = {
    Cue.NEED: Dimension.DIRECTION,
    Cue.WISH: Dimension.DIRECTION,
    Cue.LIMIT: Dimension.BOUNDARY,
    Cue.OFFER: Dimension.CAPABILITY,
}
READING_OF: Final = {Cue.NEED: "need", Cue.WISH: "direction", Cue.LIMIT: "limit", Cue.OFFER: "offer"}


@dataclass(frozen=True)
class Facet:
    """A sentence of one part of the tension."""

    target: str
    text: str


@dataclass(frozen=True)
class Choice:
    sentence: Sentence
    dimension: Dimension
    reading: str
    targets: tuple[str, ...]
    facet: Facet
    score: float


def facets_of(tension: Tension, never: Forbidden) -> list[Facet]:
    """The tension's sentences, less those a claim may not repeat: a phrase of `never` is not said in any
    quotation."""
    return [
        Facet(target, sentence.text)
        for target, text in tension.targets().items()
        for sentence in (split(text) or [single(text)])
        if not never.stands_in(sentence.text)
    ]


def allowed(sentence: Sentence, mandate: Mandate, never: Forbidden) -> bool:
    """Whether the mandate lets `sentence` be said: no phrase of `never` in it or its heading, and one of
    `topics` if any."""
    if never.stands_in(sentence.heading, sentence.text):
        return False
    place = f"{sentence.heading}\n{sentence.text}".casefold()
    topics = [topic for topic in mandate.topics if topic.strip()]
    return not topics or any(topic.casefold() in place or set(tokens(topic)) & set(tokens(place)) for topic in topics)


def said_kind(sentence: Sentence) -> Cue | None:
    """What a sentence is by its own words and by its heading: a need, a limit, an offer; None for anything else."""
    cues, under = sentence.cues, sentence.cues_above
    limited = sentence.weight(Cue.LIMIT)
    offered = sentence.weight(Cue.OFFER)
    if (Cue.NEED in cues and Cue.OFFER not in under) or (Cue.NEED in under and Cue.OFFER not in cues):
        return Cue.NEED
    if limited and limited > offered:
        return Cue.LIMIT
    return Cue.OFFER if offered else None


def bearing_of(likeness: Likeness, texts: list[str], facets: list[Facet]) -> NDArray[np.float64]:
    targets = [facet.text for facet in facets]
    english = np.array([[language_of(text) == "en"] for text in texts])
    by_one_word = english & (likeness.shared(texts, targets) < 2)
    return likeness.between(texts, targets) * np.where(by_one_word, BY_ONE_WORD, 1.0)


def alignment_of(sentence: Sentence, row: NDArray[np.float64], facets: list[Facet], gain: float) -> Choice | None:
    """What kind of contribution a sentence is, and to which part; None for what the protocol has no place
    for."""
    cues, under = sentence.cues, sentence.cues_above
    limited = sentence.weight(Cue.LIMIT)
    offered = sentence.weight(Cue.OFFER)
    kind = said_kind(sentence)
    needing = kind is Cue.NEED
    score = np.asarray(row, dtype=np.float64).copy()
    if needing:
        # A need that the demander can meet is an exchange; one that the demander has too is a shared direction.
        dimension, kinds = Dimension.DIRECTION, "TBE"
    elif kind is Cue.LIMIT:
        dimension, kinds = Dimension.BOUNDARY, "IB"
        score += [AXIS if opposed(sentence.text, facet.text) else 0.0 for facet in facets]
    elif Cue.WISH in under or (Cue.WISH in cues and Cue.OFFER not in cues):
        dimension, kinds = Dimension.DIRECTION, "TB"
    else:
        dimension, kinds = Dimension.CAPABILITY, "BI" if offered else "B"
    # Out of place is not out of the question: a sentence closest to another part still counts, for less.
    score *= [1.0 if facet.target[0] in kinds else 0.5 for facet in facets]
    best = int(score.argmax())
    if score[best] <= 0:
        return None
    reading: str = dimension.value
    if needing and facets[best].target == "E":
        dimension, reading = Dimension.CAPABILITY, "exchange"
    elif dimension is Dimension.CAPABILITY and facets[best].target == "T":
        dimension, reading = Dimension.DIRECTION, Dimension.DIRECTION.value
    near = {facets[at].target: None for at in np.argsort(-score) if score[at] >= 0.6 * score[best]}
    if score[best] < FLOOR / 2:
        gain = 0.0  # attention drawn to something does not make a sentence bear on the tension that does not
    boost = 1.0 + 0.15 * offered if dimension is Dimension.CAPABILITY else 1.0 + 0.1 * limited + 0.2 * needing
    return Choice(sentence, dimension, reading, tuple(near)[:2], facets[best], float(score[best]) * boost + gain)
