"""One endpoint's turn: which sentences of a profile bear on which part of the tension, and what is new of
it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tongyao.llm.extractive import wording
from tongyao.llm.extractive.axes import opposed
from tongyao.llm.extractive.cues import NOTHING_NEW, Cue, cues_in, cues_of_heading, weight
from tongyao.llm.extractive.formulation import sentences_of
from tongyao.llm.extractive.likeness import Likeness, tokens
from tongyao.llm.extractive.sentences import Sentence, split
from tongyao.protocol.model.projection import Dimension, ItemDraft, Projection, ProjectionDraft
from tongyao.protocol.model.requests import EndpointRequest, Mandate
from tongyao.protocol.model.sizes import cut, language_of
from tongyao.protocol.model.tension import Tension

FLOOR: Final = 0.075
"""Least likeness to a part of the tension for a sentence to be said in a first turn."""

BY_ONE_WORD: Final = 0.7
"""What likeness counts for where a single English word makes it: it may be any word, its rarity is not known
here."""

RISE: Final = 0.25
"""With each turn spoken the floor rises by this share of itself: later turns say less, and so processes
end.
"""

PER_TURN: Final = 6
PER_DIMENSION: Final = {Dimension.CAPABILITY: 3, Dimension.DIRECTION: 2, Dimension.BOUNDARY: 2}

REDIRECTED: Final = 0.3
"""How much of its likeness to a gap, to ignored information or to a framework a sentence gains."""

AXIS: Final = 0.2
"""What standing on the opposite pole of a part of the tension adds to a limit."""

QUOTE: Final = 90
"""Units of a quotation; a longer sentence is quoted by its beginning."""

ABLE: Final = 0.25
"""Score of an ability from which its owner also says what they need and where their limits are, near the
tension or not."""

STANDING_TURNS: Final = 3
"""In so many turns."""

SAME: Final = 0.8
"""A sentence as like one already said as this says nothing new."""


@dataclass(frozen=True)
class _Facet:
    """A sentence of one part of the tension."""

    target: str
    text: str


@dataclass(frozen=True)
class _Choice:
    sentence: Sentence
    dimension: Dimension
    reading: str
    targets: tuple[str, ...]
    facet: _Facet
    score: float


def project(request: EndpointRequest) -> ProjectionDraft:
    """The draft of one turn; `nothing_new` when no sentence that was not said lies above the floor."""
    facets = _facets(request.tension, request.mandate)
    if request.words is not None:
        choices = _sorted_words(request, facets)
    elif request.mandate.may_speak:
        choices = _picked(request, facets)
    else:
        choices = []
    items = [_item(request, choice) for choice in choices]
    return ProjectionDraft(nothing_new=not items, items=items)


def _facets(tension: Tension, mandate: Mandate) -> list[_Facet]:
    """The tension's sentences, less those a claim may not repeat: a word of `never` is not said in any
    quotation."""
    return [
        _Facet(target, sentence.text)
        for target, text in tension.targets().items()
        for sentence in (split(text) or [Sentence(0, text)])
        if not _forbidden(sentence.text, mandate)
    ]


def _forbidden(text: str, mandate: Mandate) -> bool:
    return any(word.strip() and word.strip().casefold() in text.casefold() for word in mandate.never)


def allowed(sentence: Sentence, mandate: Mandate) -> bool:
    """Whether the mandate lets `sentence` be said: no word of `never` in it or its heading, and one of
    `topics` if any."""
    place = f"{sentence.heading}\n{sentence.text}".casefold()
    if _forbidden(place, mandate):
        return False
    topics = [topic for topic in mandate.topics if topic.strip()]
    return not topics or any(topic.casefold() in place or set(tokens(topic)) & set(tokens(place)) for topic in topics)


def _picked(request: EndpointRequest, facets: list[_Facet]) -> list[_Choice]:
    everything = sentences_of(request.material)
    candidates = [sentence for sentence in everything if allowed(sentence, request.mandate)]
    if not candidates or not facets:
        return []
    texts = [sentence.text for sentence in candidates]
    likeness = Likeness([sentence.text for sentence in everything] + [facet.text for facet in facets])
    bearing = _bearing(likeness, texts, facets)
    gain = likeness.between(texts, _redirections(request)).max(axis=1, initial=0.0) * REDIRECTED
    said = _said(request.own, candidates)
    turns = sum(1 for turn in request.own if turn.items)
    floor = FLOOR * (1 + RISE * turns)

    aligned = [
        (sentence, _aligned(sentence, row, facets, float(more)))
        for sentence, row, more in zip(candidates, bearing, gain, strict=True)
    ]
    choices = [choice for _, choice in aligned if choice and choice.score >= floor]
    if turns < STANDING_TURNS:
        choices += _standing(aligned, choices or _spoken_choices(aligned, said))
    choices = [choice for choice in choices if choice.sentence not in said]
    choices.sort(key=lambda choice: (-choice.score, choice.sentence.start))
    taken: list[_Choice] = []
    spoken = [sentence.text for sentence in said]
    for choice in choices:
        of_kind = sum(1 for other in taken if other.dimension is choice.dimension)
        if len(taken) == PER_TURN or of_kind == PER_DIMENSION[choice.dimension]:
            continue
        if likeness.between([choice.sentence.text], spoken).max(initial=0.0) < SAME:
            taken.append(choice)
            spoken.append(choice.sentence.text)
    return sorted(taken, key=lambda choice: (list(Dimension).index(choice.dimension), choice.sentence.start))


def _bearing(likeness: Likeness, texts: list[str], facets: list[_Facet]) -> NDArray[np.float64]:
    targets = [facet.text for facet in facets]
    english = np.array([[language_of(text) == "en"] for text in texts])
    by_one_word = english & (likeness.shared(texts, targets) < 2)
    return likeness.between(texts, targets) * np.where(by_one_word, BY_ONE_WORD, 1.0)


def _spoken_choices(aligned: list[tuple[Sentence, _Choice | None]], said: list[Sentence]) -> list[_Choice]:
    return [choice for sentence, choice in aligned if choice and sentence in said]


def _standing(aligned: list[tuple[Sentence, _Choice | None]], near: list[_Choice]) -> list[_Choice]:
    """Needs and limits that lie far from the tension by their words, of somebody whose abilities lie near it.

    They point at nothing of it; they are said beside the ability that brought their owner here.
    """
    able = [one for one in near if one.dimension is Dimension.CAPABILITY and one.score >= ABLE]
    if not able:
        return []
    best = max(able, key=lambda choice: (choice.score, -choice.sentence.start))
    chosen = {choice.sentence for choice in near}
    found = []
    for sentence, _ in aligned:
        cues, under = cues_in(sentence.text), cues_of_heading(sentence.heading)
        if sentence in chosen:
            continue
        if Cue.NEED in cues:
            found.append(_Choice(sentence, Dimension.DIRECTION, "need", (), best.facet, 0.0))
        elif Cue.LIMIT in cues and (not sentence.heading or under & {Cue.LIMIT, Cue.NEED}):
            found.append(_Choice(sentence, Dimension.BOUNDARY, "limit", (), best.facet, 0.0))
    return found


def _redirections(request: EndpointRequest) -> list[str]:
    """What the last observation drew attention to: gaps that somebody may fill, what nobody answered,
    frameworks."""
    if not request.observations:
        return []
    last = request.observations[-1]
    targets = request.tension.targets()
    gaps = [f"{gap.text} {targets.get(gap.target, '')}" for gap in last.gaps if gap.kind == "overlooked"]
    return gaps + [note.text for note in last.ignored] + [f"{note.name} {note.text}" for note in last.frameworks]


def _said(own: tuple[Projection, ...], candidates: list[Sentence]) -> list[Sentence]:
    spans = [span for turn in own for item in turn.items for span in item.spans if span.source == "profile"]
    return [one for one in candidates if any(one.start < span.end and span.start < one.end for span in spans)]


def _aligned(sentence: Sentence, row: NDArray[np.float64], facets: list[_Facet], gain: float) -> _Choice | None:
    """What kind of contribution a sentence is, and to which part; None for what the protocol has no place
    for."""
    cues, under = cues_in(sentence.text), cues_of_heading(sentence.heading)
    limited = weight(Cue.LIMIT, sentence.text, sentence.heading)
    offered = weight(Cue.OFFER, sentence.text, sentence.heading)
    needing = Cue.NEED in cues or (Cue.NEED in under and Cue.OFFER not in cues)
    score = np.asarray(row, dtype=np.float64).copy()
    if needing:
        # A need that the demander can meet is an exchange; one that the demander has too is a shared
        # direction.
        dimension, kinds = Dimension.DIRECTION, "TBE"
    elif limited > offered or (limited and Cue.LIMIT in under):
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
    return _Choice(sentence, dimension, reading, tuple(near)[:2], facets[best], float(score[best]) * boost + gain)


def _sorted_words(request: EndpointRequest, facets: list[_Facet]) -> list[_Choice]:
    """A person's own sentences, all of them, each under its dimension; nothing is added and nothing left
    out.
    """
    words = request.words or ""
    if not words.strip() or NOTHING_NEW.match(words.strip()):
        return []
    sentences = split(words) or [Sentence(words.index(words.strip()), words.strip())]
    likeness = Likeness([one.text for one in sentences] + [facet.text for facet in facets])
    bearing = _bearing(likeness, [one.text for one in sentences], facets)
    choices = []
    for sentence, row in zip(sentences, bearing, strict=True):
        choice = _aligned(sentence, row, facets, 0.0) or _unplaced(sentence)
        choices.append(choice)
    return choices


def _unplaced(sentence: Sentence) -> _Choice:
    cues = cues_in(sentence.text)
    dimension = (
        Dimension.DIRECTION
        if cues & {Cue.WISH, Cue.NEED}
        else Dimension.BOUNDARY
        if Cue.LIMIT in cues and Cue.OFFER not in cues
        else Dimension.CAPABILITY
    )
    return _Choice(sentence, dimension, dimension.value, (), _Facet("", ""), 0.0)


def _item(request: EndpointRequest, choice: _Choice) -> ItemDraft:
    if request.words is not None:
        text = choice.sentence.text
        return ItemDraft(dimension=choice.dimension, claim=text, targets=list(choice.targets), quotes=[text])
    quote = cut(choice.sentence.text, QUOTE)
    return ItemDraft(
        dimension=choice.dimension,
        claim=wording.claim(
            request.language,
            said=quote,
            target=choice.facet.target,
            tension=choice.facet.text,
            reading=choice.reading,
        ),
        targets=list(choice.targets),
        quotes=[quote],
    )
