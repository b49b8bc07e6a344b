"""One endpoint's turn: which sentences of a profile bear on which part of the tension, and what is new of
it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tongyao.llm.extractive import wording
from tongyao.llm.extractive.axes import opposed
from tongyao.llm.extractive.cues import ALLOWING, NOTHING_NEW, REFUSING, Cue
from tongyao.llm.extractive.formulation import sentences_of
from tongyao.llm.extractive.likeness import Likeness, tokens, weight_of
from tongyao.llm.extractive.sentences import Sentence, single, split
from tongyao.protocol.model.projection import Dimension, ItemDraft, Projection, ProjectionDraft
from tongyao.protocol.model.requests import EndpointRequest, Mandate
from tongyao.protocol.model.sizes import cut, language_of, units
from tongyao.protocol.model.tension import Tension

TOGETHER: Final = 45
"""Units of a sentence with the one that says more of it, at most."""

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

MOST_OF_WORDS: Final = 40
"""Items that a person's own words are sorted into in one turn: every item is compared with every other of the process."""

REDIRECTED: Final = 0.3
"""How much of its likeness to a gap, to ignored information or to a framework a sentence gains."""

AXIS: Final = 0.2
"""What standing on the opposite pole of a part of the tension adds to a limit."""

QUOTE: Final = 90
"""Units of a quotation; a longer sentence is quoted by its beginning."""

ANSWERS: Final = {"en": 1.0, "zh": 0.5}
"""Weight of the words shared with what nobody answered from which a statement is said for its sake."""

CONCERNED: Final = {"en": 1.2, "zh": 0.45}
"""Weight of the words that a profile shares with the tension, per root of its number of sentences: from here its owner is
concerned. Lower values make the same profiles say the same before any intent (test_extractive_process)."""

STANDING: Final = FLOOR / 100
"""Score of what lies far from the tension: after everything near it, before what its owner merely tells."""

ABLE: Final = 0.15
"""Score of a sentence from which its owner also says what they need, concerned or not, once."""

STANDING_TURNS: Final = 2
"""In so many turns an endpoint also says what lies far from the tension: its owner's offers, needs and limits."""

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
        for sentence in (split(text) or [single(text)])
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
    everything = _with_elaborations(sentences_of(request.material))
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
    whole = concerned([one.text for one in everything], [facet.text for facet in facets], likeness)
    able = turns == 0 and any(choice.score >= ABLE for choice in choices)
    if able or (whole and turns < STANDING_TURNS):
        choices += _standing(aligned, {choice.sentence for choice in choices}, needs_only=not whole)
    choices += _answering(request, likeness, aligned, {choice.sentence for choice in choices if choice.score})
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


def _with_elaborations(sentences: list[Sentence]) -> list[Sentence]:
    """Sentences with the one that follows where it shows nothing of its own: mostly it says more of the same thing."""
    joined: list[Sentence] = []
    for sentence in sentences:
        before = joined[-1] if joined else None
        if (
            before is not None
            and before.heading == sentence.heading
            and 0 <= sentence.start - before.end <= 1
            and before.cues & _SPEAKING
            and not (sentence.cues | sentence.cues_above) & _SPEAKING
            and units(before.text) + units(sentence.text) <= TOGETHER
        ):
            space = " " * (language_of(sentence.text) == "en")
            joined[-1] = Sentence(before.start, sentence.end, before.text + space + sentence.text, before.heading)
        else:
            joined.append(sentence)
    return joined


_SPEAKING: Final = {Cue.OFFER, Cue.NEED, Cue.LIMIT, Cue.WISH}


def _bearing(likeness: Likeness, texts: list[str], facets: list[_Facet]) -> NDArray[np.float64]:
    targets = [facet.text for facet in facets]
    english = np.array([[language_of(text) == "en"] for text in texts])
    by_one_word = english & (likeness.shared(texts, targets) < 2)
    return likeness.between(texts, targets) * np.where(by_one_word, BY_ONE_WORD, 1.0)


def concerned(profile: Sequence[str], tension: Sequence[str], likeness: Likeness) -> bool:
    """Whether a profile has enough words of the tension for its owner to be heard on what lies beside it too."""
    said, wanted = ({word for text in texts for word in likeness.tokens(text)} for texts in (profile, tension))
    least = CONCERNED["zh" if language_of(" ".join(tension)) == "zh" else "en"]
    bearing: float = sum(map(weight_of, said & wanted))
    return bearing >= least * math.sqrt(len(profile))


def _best(aligned: list[tuple[Sentence, _Choice | None]]) -> _Choice | None:
    return max((choice for _, choice in aligned if choice), key=lambda choice: choice.score, default=None)


def _standing(
    aligned: list[tuple[Sentence, _Choice | None]], near: set[Sentence], *, needs_only: bool
) -> list[_Choice]:
    """Offers, needs and limits that lie far from the tension by their words; of who is not concerned just the needs.

    They point at nothing of it: they are there for the others in the room, whose words they may share.
    """
    best = _best(aligned)
    if best is None:
        return []
    found = []
    for sentence, near_to in aligned:
        kind = said_kind(sentence)
        if sentence in near or not (kind or _OWN.search(sentence.text)) or (needs_only and kind is not Cue.NEED):
            continue
        found.append(
            _Choice(
                sentence,
                _DIMENSION[kind or Cue.OFFER],
                _READING[kind or Cue.OFFER],
                near_to.targets[:1] if near_to and kind is Cue.OFFER else (),
                near_to.facet if near_to and kind is Cue.OFFER else best.facet,
                STANDING if kind else 0.0,
            )
        )
    return found


_OWN: Final = re.compile(r"[我有]|\b(?:I|we|my|our|there's|there (?:is|are))\b", re.IGNORECASE)


_DIMENSION: Final = {
    Cue.NEED: Dimension.DIRECTION,
    Cue.WISH: Dimension.DIRECTION,
    Cue.LIMIT: Dimension.BOUNDARY,
    Cue.OFFER: Dimension.CAPABILITY,
}
_READING: Final = {Cue.NEED: "need", Cue.WISH: "direction", Cue.LIMIT: "limit", Cue.OFFER: "offer"}


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


def _answering(
    request: EndpointRequest,
    likeness: Likeness,
    aligned: list[tuple[Sentence, _Choice | None]],
    chosen: set[Sentence],
) -> list[_Choice]:
    """Statements with the words of what the last observation says that nobody answered; no needs and no limits."""
    notes = request.observations[-1].ignored if request.observations else ()
    best = _best(aligned)
    if best is None or not notes:
        return []
    asked = [frozenset(tokens(note.text)) for note in notes if request.alias not in note.about]
    found = []
    for sentence, near_to in aligned:
        words = frozenset(likeness.tokens(sentence.text))
        met = max((sum(map(weight_of, words & wanted)) for wanted in asked), default=0.0)
        if sentence in chosen or said_kind(sentence) not in (Cue.OFFER, None):
            continue
        if met >= ANSWERS[request.language]:
            facet = near_to.facet if near_to else best.facet
            found.append(_Choice(sentence, Dimension.CAPABILITY, "offer", (), facet, FLOOR + STANDING * float(met)))
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
    return _Choice(sentence, dimension, reading, tuple(near)[:2], facets[best], float(score[best]) * boost + gain)


def _sorted_words(request: EndpointRequest, facets: list[_Facet]) -> list[_Choice]:
    """A person's own sentences, all of them, each under its dimension; nothing is added and nothing left
    out. Those of a very long text are sorted several at a time.
    """
    words = request.words or ""
    if not words.strip() or NOTHING_NEW.match(words.strip()):
        return []
    sentences = _stretches(words, split(words) or [single(words)])
    likeness = Likeness([one.text for one in sentences] + [facet.text for facet in facets])
    bearing = _bearing(likeness, [one.text for one in sentences], facets)
    choices = []
    for sentence, row in zip(sentences, bearing, strict=True):
        choice = _aligned(sentence, row, facets, 0.0) or _unplaced(sentence)
        if (kind := _kind_of_words(sentence)) is not None:
            choice = replace(choice, dimension=_DIMENSION[kind], reading=_READING[kind])
        choices.append(choice)
    return choices


def _kind_of_words(sentence: Sentence) -> Cue | None:
    """What a person's own sentence is, where its words say so clearly; None leaves it to what it bears on.

    What somebody looks for is their direction, also where the demander can give it.
    """
    if REFUSING.search(sentence.text):
        return Cue.LIMIT
    if ALLOWING.search(sentence.text):
        return Cue.OFFER
    return Cue.NEED if said_kind(sentence) is Cue.NEED else None


def _stretches(words: str, sentences: list[Sentence]) -> list[Sentence]:
    """At most `MOST_OF_WORDS` of them: where there are more sentences, so many that follow each other are one."""
    together = math.ceil(len(sentences) / MOST_OF_WORDS)
    if together == 1:
        return sentences
    groups = [sentences[at : at + together] for at in range(0, len(sentences), together)]
    return [
        Sentence(one[0].start, one[-1].end, " ".join(words[one[0].start : one[-1].end].split()), one[0].heading)
        for one in groups
    ]


def _unplaced(sentence: Sentence) -> _Choice:
    cues = sentence.cues
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
        premise=quote,
        claim=wording.bearing(
            request.language,
            target=choice.facet.target,
            tension=choice.facet.text,
            reading=choice.reading,
        ),
        targets=list(choice.targets),
        quotes=[quote],
    )
