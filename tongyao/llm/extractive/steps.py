"""The five steps without a language model. Nothing is judged: sentences are quoted verbatim (docs/models.md)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Final

from tongyao.llm.extractive.rare_words import frequencies, nearest, shared, words
from tongyao.llm.extractive.sentences import sentences
from tongyao.llm.labels import label
from tongyao.protocol.guards.forbidden import Forbidden
from tongyao.protocol.identity.proposer import proposed_names
from tongyao.protocol.model.ids import speaker_of
from tongyao.protocol.model.observation import ObservationDraft, Verdict
from tongyao.protocol.model.plan import DeliveryDraft, PlanDraft
from tongyao.protocol.model.projection import Item, ItemDraft, ItemKind, ProjectionDraft
from tongyao.protocol.model.requests import (
    CatalystRequest,
    DeliveryRequest,
    EndpointRequest,
    FormulationRequest,
    Mandate,
    PlannerRequest,
)
from tongyao.protocol.model.sizes import cut, units
from tongyao.protocol.model.tension import MISSING, TENSION_UNITS, NameDraft, TensionDraft
from tongyao.protocol.rules.standing import standing

MOST_QUOTED: Final = 8
"""The most sentences quoted from one profile."""

MOST_READ: Final = 200_000
"""The most characters read of a profile, from its beginning."""

MOST_ROWS: Final = 12
"""The most rows in the table of pairs of sentences."""

RARE: Final = 2
"""A word is rare if at most this many of the quoted sentences contain it."""


def formulate(request: FormulationRequest) -> TensionDraft:
    """The raw intent becomes T. Everything else is unknown, so the grade is C and an explicit yes is needed."""
    known = TENSION_UNITS - 3 * units(MISSING)
    names = [NameDraft(name=found.name, kind=found.kind) for found in proposed_names(request.intent)]
    return TensionDraft(transition=cut(request.intent.strip(), known), names=names)


def project(request: EndpointRequest) -> ProjectionDraft:
    """Return at most eight sentences of the profile verbatim. In later turns there is nothing new.

    Sentences with a forbidden phrase are not quoted. If the mandate lists topics, only sentences with a word of a topic
    are quoted.
    """
    if not request.first:
        return ProjectionDraft()
    text = "\n".join(piece.text for piece in request.material.pieces)[:MOST_READ]
    allowed = _allowed(text, request.mandate)
    chosen = nearest(allowed, " ".join(request.tension.lines()), MOST_QUOTED)
    return ProjectionDraft(
        items=[ItemDraft(kind=ItemKind.CAPABILITY, text=sentence, quotes=[sentence]) for sentence in chosen],
        names=[found.name for found in proposed_names("\n".join(chosen))],
    )


def _allowed(text: str, mandate: Mandate) -> list[str]:
    """The sentences of `text` that the mandate permits.

    A forbidden phrase may begin in one sentence and end in the next, or in a stretch that is no sentence. So a sentence
    is also left out if the text from the sentence before it to the sentence after it contains a phrase that none of the
    three sentences contains alone.
    """
    said, never = sentences(text), Forbidden(mandate.never)
    if mandate.never:
        spans, at = [(0, 0)], 0
        for sentence in said:
            start = text.index(sentence, at)
            at = start + len(sentence)
            spans.append((start, at))
        spans.append((len(text), len(text)))
        alone = [never.stands_in(text[start:end]) for start, end in spans]
        said = [
            sentence
            for number, sentence in enumerate(said, 1)
            if not alone[number]
            and (
                any(alone[number - 1 : number + 2])
                or not never.stands_in(text[spans[number - 1][0] : spans[number + 1][1]])
            )
        ]
    return [sentence for sentence in said if _on_topic(sentence, mandate.topics)]


def _on_topic(sentence: str, topics: Sequence[str]) -> bool:
    """Whether `sentence` contains one of `topics`, or a word of one. True if there are no topics."""
    wanted = [topic for topic in topics if topic.strip()]
    said, plain = words(sentence), sentence.casefold()
    return not wanted or any(topic.casefold() in plain or said & words(topic) for topic in wanted)


def observe(request: CatalystRequest) -> ObservationDraft:
    """No relation and no note. The words are the notice and a table of pairs of sentences that share rare words."""
    language = request.language
    rows = _pairs(standing(request.exchange).valid_items)
    heading, columns = f"**{label('rare_words', language)}**", label("columns", language)
    table = [heading, "", columns, "|---|---|---|", *rows] if rows else []
    said = "\n".join([label("no_model", language), "", *table]).strip()
    return ObservationDraft(verdict=Verdict.EXHAUSTED if request.verdict_counts else Verdict.MORE, words=said)


def _pairs(items: Iterable[Item]) -> list[str]:
    """The rows of the table. Rows with the most shared words come first."""
    said = list(items)
    counted = frequencies(item.text for item in said)
    found = []
    for first, other in combinations(said, 2):
        alias, another = speaker_of(first.id), speaker_of(other.id)
        if alias != another and (rare := shared(first.text, other.text, counted, RARE)):
            found.append(
                (
                    len(rare),
                    f"| {alias}: {_cell(first.text)} | {another}: {_cell(other.text)} | {', '.join(rare[:6])} |",
                )
            )
    return [row for _, row in sorted(found, key=lambda row: -row[0])[:MOST_ROWS]]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def plan(request: PlannerRequest) -> PlanDraft:
    """The plan is the notice alone. Nobody has a part, so nobody is asked. The plan's page lists every sentence as not used."""
    return PlanDraft(remarks=[label("no_model", request.language)])


def deliver(request: DeliveryRequest) -> DeliveryDraft:
    """The delivery is the notice alone."""
    return DeliveryDraft(remarks=[label("no_model", request.language)])
