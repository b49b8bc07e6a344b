"""A person's own words of one turn, sorted: every sentence under a dimension, none left out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from tongyao.llm.extractive.alignment import (
    DIMENSION_OF,
    READING_OF,
    Choice,
    Facet,
    alignment_of,
    bearing_of,
    said_kind,
)
from tongyao.llm.extractive.cues import ALLOWING, NOTHING_NEW, REFUSING, Cue
from tongyao.llm.extractive.likeness import Likeness
from tongyao.llm.extractive.sentences import Sentence, single, split
from tongyao.protocol.model.projection import Dimension

MOST_OF_WORDS: Final = 40
"""Items that a person's own words are sorted into in one turn: every item is compared with every other of the process."""


_KIND_OF_PART: Final = {
    "capability": Cue.OFFER,
    "direction": Cue.NEED,
    "boundary": Cue.LIMIT,
    "能力": Cue.OFFER,
    "方向": Cue.NEED,
    "边界": Cue.LIMIT,
}
"""Heading of a part that the person filled in themselves (`ProjectionParts.joined`) → what its sentences are."""


def sorted_words(words: str, facets: list[Facet]) -> list[Choice]:
    """A person's own sentences, all of them, each under its dimension; nothing is added and nothing left
    out. Those of a very long text are sorted several at a time.
    """
    if not words.strip() or NOTHING_NEW.match(words.strip()):
        return []
    sentences = _stretches(words, split(words) or [single(words)])
    likeness = Likeness([one.text for one in sentences] + [facet.text for facet in facets])
    bearing = bearing_of(likeness, [one.text for one in sentences], facets)
    choices = []
    for sentence, row in zip(sentences, bearing, strict=True):
        choice = alignment_of(sentence, row, facets, 0.0) or _unplaced(sentence)
        if (kind := _kind_of_words(sentence)) is not None:
            choice = replace(choice, dimension=DIMENSION_OF[kind], reading=READING_OF[kind])
        choices.append(choice)
    return choices


def _kind_of_words(sentence: Sentence) -> Cue | None:
    """What a person's own sentence is, where its part or its words say so clearly; None leaves it to what it bears on.

    What somebody looks for is their direction, also where the demander can give it.
    """
    if (kind := _KIND_OF_PART.get(sentence.heading.strip().casefold())) is not None:
        return kind
    if REFUSING.search(sentence.text):
        return Cue.LIMIT
    if ALLOWING.search(sentence.text):
        return Cue.OFFER
    return Cue.NEED if said_kind(sentence) is Cue.NEED else None


def _stretches(words: str, sentences: Sequence[Sentence]) -> Sequence[Sentence]:
    """At most `MOST_OF_WORDS` of them: where there are more sentences, so many that follow each other are one."""
    together = math.ceil(len(sentences) / MOST_OF_WORDS)
    if together == 1:
        return sentences
    groups = [sentences[at : at + together] for at in range(0, len(sentences), together)]
    return [
        Sentence(one[0].start, one[-1].end, " ".join(words[one[0].start : one[-1].end].split()), one[0].heading)
        for one in groups
    ]


def _unplaced(sentence: Sentence) -> Choice:
    cues = sentence.cues
    dimension = (
        Dimension.DIRECTION
        if cues & {Cue.WISH, Cue.NEED}
        else Dimension.BOUNDARY
        if Cue.LIMIT in cues and Cue.OFFER not in cues
        else Dimension.CAPABILITY
    )
    return Choice(sentence, dimension, dimension.value, (), Facet("", ""), 0.0)
