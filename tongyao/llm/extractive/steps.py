"""The five steps without a language model. Sentences are quoted verbatim (docs/models.md)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Final

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
"""Maximum number of sentences quoted from one profile."""

MOST_READ: Final = 200_000
"""Only this many characters of a profile are read, from its beginning."""

MOST_ROWS: Final = 12
"""Maximum number of rows in the table of pairs of sentences."""

RARE: Final = 2
"""A word is rare if at most this many of the quoted sentences contain it."""


def formulate(request: FormulationRequest) -> TensionDraft:
    """The raw intent becomes T. Everything else is unknown, so the grade is C and an explicit yes is needed."""
    known = TENSION_UNITS - 3 * units(MISSING)
    names = [NameDraft(name=found.name, kind=found.kind) for found in proposed_names(request.intent)]
    return TensionDraft(transition=cut(request.intent.strip(), known), names=names)


def project(request: EndpointRequest) -> ProjectionDraft:
    """Return at most eight verbatim sentences of the profile in the first turn, and none in later turns.

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

    A forbidden phrase may begin in one sentence and end in the next, or in a piece of text that is no sentence. So a
    sentence is also left out if the text from the sentence before it to the sentence after it contains a phrase that
    none of the three sentences contains alone.
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
    """Return no relation and no note. The words are the notice and a table of sentence pairs with shared rare words."""
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
    """The plan is the notice alone. Nobody has a part or is asked. The plan's page lists every sentence as not used."""
    return PlanDraft(remarks=[label("no_model", request.language)])


def deliver(request: DeliveryRequest) -> DeliveryDraft:
    """The delivery is the notice alone."""
    return DeliveryDraft(remarks=[label("no_model", request.language)])


SHORTEST: Final = 4
"""A piece of text with fewer units is a label or a heading, not a sentence."""

LONGEST: Final = 400
"""A sentence without an end is cut after this many characters."""

_END: Final = re.compile(r"[。！？!?]+[”’」』）)\"]*|(?<=\w\w|\s\d)\.+[”’)\"]*(?=\s|$)|\n")
_MARKS: Final = re.compile(r"^(?:[\s>#*•·・-]|\d{1,3}[.)、]\s)+")


def sentences(text: str) -> list[str]:
    """The sentences of `text` in order, without list marks. Headings and labels are left out.

    A full stop ends a sentence if it follows a number or a word of at least two letters and precedes white space. "e.g.
    this" may be cut, which does no harm here. The time is linear in the length of `text`.
    """
    found: list[str] = []
    start = 0
    for end in [*(match.end() for match in _END.finditer(text)), len(text)]:
        for at in range(start, end, LONGEST):
            stretch = text[at : min(at + LONGEST, end)]
            sentence = _MARKS.sub("", stretch).strip()
            if units(sentence) >= SHORTEST and not stretch.lstrip().startswith("#"):
                found.append(sentence)
        start = end
    return found


_CJK: Final = r"\u3400-\u9fff"
_TOKEN: Final = re.compile(rf"[{_CJK}]+|[^\W\d_{_CJK}]{{5,40}}")
_LEAST: Final = 2
"""The length of a Chinese word, in characters: every two adjacent characters count as a word."""


def words(text: str) -> frozenset[str]:
    """English words of at least five letters, in lower case, and every two adjacent Chinese characters."""
    found: set[str] = set()
    for match in _TOKEN.finditer(text):
        token = match.group().lower()
        if "\u3400" <= token[0] <= "\u9fff":
            found |= {token[at : at + _LEAST] for at in range(len(token) - 1)}
        else:
            found.add(token)
    return frozenset(found)


def frequencies(texts: Iterable[str]) -> Counter[str]:
    """Return for each word the number of `texts` that contain it."""
    return Counter(word for text in texts for word in words(text))


def nearest(sentences: Sequence[str], to: str, most: int) -> list[str]:
    """Return at most `most` of `sentences`, in order: those that share the rarest words with `to`, or else the first
    ones."""
    counted, wanted = frequencies(sentences), words(to)

    def score(sentence: str) -> float:
        return sum(1 / counted[word] for word in words(sentence) & wanted)

    chosen = sorted(range(len(sentences)), key=lambda at: (-score(sentences[at]), at))[:most]
    return [sentences[at] for at in sorted(chosen)]


def shared(one: str, other: str, counted: Counter[str], most: int) -> list[str]:
    """Return the common words of both texts that at most `most` texts contain, in alphabetical order."""
    return sorted(word for word in words(one) & words(other) if counted[word] <= most)
