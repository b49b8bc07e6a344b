"""One endpoint's turn: which sentences of a profile bear on which part of the tension, and what is new of
it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final

from tongyao.llm.extractive import wording
from tongyao.llm.extractive.alignment import (
    DIMENSION_OF,
    FLOOR,
    READING_OF,
    Choice,
    Facet,
    alignment_of,
    allowed,
    bearing_of,
    facets_of,
    said_kind,
)
from tongyao.llm.extractive.cues import Cue
from tongyao.llm.extractive.formulation import sentences_of
from tongyao.llm.extractive.hearing import telling
from tongyao.llm.extractive.likeness import Likeness, tokens, weight_of
from tongyao.llm.extractive.own_words import sorted_words
from tongyao.llm.extractive.sentences import Sentence
from tongyao.protocol.guards.forbidden import Forbidden
from tongyao.protocol.model.projection import Dimension, ItemDraft, Projection, ProjectionDraft
from tongyao.protocol.model.requests import EndpointRequest
from tongyao.protocol.model.sizes import language_of, units

TOGETHER: Final = 45
"""Units of a sentence with the one that says more of it, at most."""

RISE: Final = 0.25
"""With each turn spoken the floor rises by this share of itself: later turns say less, and so processes
end.
"""

PER_TURN: Final = 6
PER_DIMENSION: Final = {Dimension.CAPABILITY: 3, Dimension.DIRECTION: 2, Dimension.BOUNDARY: 2}

REDIRECTED: Final = 0.3
"""How much of its likeness to a gap, to ignored information or to a framework a sentence gains."""

QUOTE: Final = 90
"""Units of a quotation; a longer sentence is quoted by its beginning."""

ANSWERS: Final = {"en": 1.0, "zh": 0.5}
"""Weight of the words shared with a need for which nothing was found, from which a statement is said for its sake."""

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

SAID_IN_OTHER_WORDS: Final = 0.6
"""Share of the words of a profile's sentence from which it repeats what its owner said in person."""


def project(request: EndpointRequest) -> ProjectionDraft:
    """The draft of one turn; `nothing_new` when no sentence that was not said lies above the floor."""
    never = Forbidden(request.mandate.never)
    facets = facets_of(request.tension, never)
    if request.words is not None:
        choices = sorted_words(request.words, facets)
    elif request.mandate.may_speak:
        choices = _picked(request, facets, never)
    else:
        choices = []
    items = [_item(request, choice) for choice in choices]
    return ProjectionDraft(nothing_new=not items, items=items)


def _picked(request: EndpointRequest, facets: list[Facet], never: Forbidden) -> list[Choice]:
    everything = _with_elaborations(sentences_of(request.material))
    candidates = [sentence for sentence in everything if allowed(sentence, request.mandate, never)]
    if not candidates or not facets:
        return []
    texts = [sentence.text for sentence in candidates]
    likeness = Likeness([sentence.text for sentence in everything] + [facet.text for facet in facets])
    bearing = bearing_of(likeness, texts, facets)
    gain = likeness.between(texts, _redirections(request)).max(axis=1, initial=0.0) * REDIRECTED
    said = _said(request.own, candidates)
    turns = sum(1 for turn in request.own if turn.items)
    floor = FLOOR * (1 + RISE * turns)

    aligned = [
        (sentence, alignment_of(sentence, row, facets, float(more)))
        for sentence, row, more in zip(candidates, bearing, gain, strict=True)
    ]
    choices = [choice for _, choice in aligned if choice and choice.score >= floor]
    whole = concerned([one.text for one in everything], [facet.text for facet in facets], likeness)
    able = turns == 0 and any(choice.score >= ABLE for choice in choices)
    if able or (whole and turns < STANDING_TURNS):
        choices += _standing(aligned, {choice.sentence for choice in choices}, needs_only=not whole)
    choices += _answering(request, likeness, aligned, {choice.sentence for choice in choices if choice.score})
    in_person = [frozenset(tokens(text)) for text in _said_in_person(request.own)]
    choices = [one for one in choices if one.sentence not in said and not _repeats(one.sentence, in_person)]
    choices.sort(key=lambda choice: (-choice.score, choice.sentence.start))
    taken: list[Choice] = []
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


def concerned(profile: Sequence[str], tension: Sequence[str], likeness: Likeness) -> bool:
    """Whether a profile has enough words of the tension for its owner to be heard on what lies beside it too."""
    said, wanted = ({word for text in texts for word in likeness.tokens(text)} for texts in (profile, tension))
    least = CONCERNED["zh" if language_of(" ".join(tension)) == "zh" else "en"]
    bearing: float = sum(map(weight_of, said & wanted))
    return bearing >= least * math.sqrt(len(profile))


def _best(aligned: list[tuple[Sentence, Choice | None]]) -> Choice | None:
    return max((choice for _, choice in aligned if choice), key=lambda choice: choice.score, default=None)


def _standing(aligned: list[tuple[Sentence, Choice | None]], near: set[Sentence], *, needs_only: bool) -> list[Choice]:
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
            Choice(
                sentence,
                DIMENSION_OF[kind or Cue.OFFER],
                READING_OF[kind or Cue.OFFER],
                near_to.targets[:1] if near_to and kind is Cue.OFFER else (),
                near_to.facet if near_to and kind is Cue.OFFER else best.facet,
                STANDING if kind else 0.0,
            )
        )
    return found


_OWN: Final = re.compile(r"[我有]|\b(?:I|we|my|our|there's|there (?:is|are))\b", re.IGNORECASE)


def _answering(
    request: EndpointRequest,
    likeness: Likeness,
    aligned: list[tuple[Sentence, Choice | None]],
    chosen: set[Sentence],
) -> list[Choice]:
    """Statements with the words of needs for which, by the last observation, nothing was found; no needs and no limits."""
    notes = request.observations[-1].ignored if request.observations else ()
    best = _best(aligned)
    if best is None or not notes:
        return []
    asked = [frozenset(tokens(note.text)) for note in notes if request.alias not in note.about]
    found = []
    for sentence, near_to in aligned:
        words = frozenset(likeness.tokens(sentence.text))
        met = max((sum(map(telling, words & wanted)) for wanted in asked), default=0.0)
        if sentence in chosen or said_kind(sentence) not in (Cue.OFFER, None):
            continue
        if met >= ANSWERS[request.language]:
            facet = near_to.facet if near_to else best.facet
            found.append(Choice(sentence, Dimension.CAPABILITY, "offer", (), facet, FLOOR + STANDING * float(met)))
    return found


def _redirections(request: EndpointRequest) -> list[str]:
    """What the last observation drew attention to: gaps that somebody may fill, needs for which nothing was found,
    frameworks."""
    if not request.observations:
        return []
    last = request.observations[-1]
    targets = request.tension.targets()
    gaps = [f"{gap.text} {targets.get(gap.target, '')}" for gap in last.gaps if gap.kind == "overlooked"]
    return gaps + [note.text for note in last.ignored] + [f"{note.name} {note.text}" for note in last.frameworks]


def _said_in_person(own: Sequence[Projection]) -> list[str]:
    """What their owner wrote in the turns before, where they spoke themselves."""
    return [
        wording.said_in(item)
        for turn in own
        for item in turn.items
        if any(span.source != "profile" for span in item.spans)
    ]


def _repeats(sentence: Sentence, in_person: Sequence[frozenset[str]]) -> bool:
    """Whether most of what a sentence is about stands in one of these statements."""
    words = frozenset(tokens(sentence.text))
    return bool(words) and any(len(words & said) >= SAID_IN_OTHER_WORDS * len(words) for said in in_person)


def _said(own: tuple[Projection, ...], candidates: list[Sentence]) -> list[Sentence]:
    spans = [span for turn in own for item in turn.items for span in item.spans if span.source == "profile"]
    return [one for one in candidates if any(one.start < span.end and span.start < one.end for span in spans)]


def _item(request: EndpointRequest, choice: Choice) -> ItemDraft:
    if request.words is not None:
        text = choice.sentence.text
        return ItemDraft(dimension=choice.dimension, claim=text, targets=list(choice.targets), quotes=[text])
    quote = wording.beginning(choice.sentence.text, QUOTE)
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
