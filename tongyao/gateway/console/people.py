"""The candidates, each once, with the reasons of every perspective that found them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tongyao.app.choosing.candidate_sentences import Reason as Span
from tongyao.gateway.console.shared_words import telling_words_in_common
from tongyao.protocol.guards.support import terms
from tongyao.protocol.model.sizes import cut, language_of
from tongyao.records.process.seats import CandidateRow

PERSPECTIVES: Final = ("resonance", "complement", "interference")
_MOST_REASONS: Final = 3
"""Reasons that are shown for one perspective."""
_PART_UNITS: Final[Mapping[str, int]] = {"en": 10, "zh": 20}
"""Length of the beginning of a part that a reason repeats, in units (docs/protocol.md §9)."""
_WEAK: Final = 2
"""A person who shares at most this many words with the tension is called a weak match."""
_LEAST: Final = 2
"""The smallest number of people who are ticked, even if fewer share a word with the tension."""


@dataclass(frozen=True)
class FoundReason:
    """A `part` of the tension (T, B1, …) is similar to this `facet` of the person. `words`: the first words of the part.

    `quote`: the person's sentence, if it may be read and is not already shown with an earlier reason; otherwise empty. `read`:
    whether the sentence may be read. `shared`: the words that the sentence and the part have in common, without ordinary words.
    `touches`: whether they have any word in common, an ordinary one included.
    """

    part: str
    words: str
    facet: str
    quote: str
    read: bool
    shared: tuple[str, ...]
    touches: bool


@dataclass(frozen=True)
class Person:
    """A candidate. `sides`: the reasons by perspective, in the order of `PERSPECTIVES`, each possibly empty."""

    number: int
    id: str
    sides: Mapping[str, tuple[FoundReason, ...]]

    @property
    def open(self) -> bool:
        """Whether any sentence of the person may be read."""
        return any(reason.read for reason in self._reasons())

    @property
    def shared(self) -> tuple[str, ...]:
        """All words that the person's sentences share with the tension, without ordinary words."""
        return tuple(dict.fromkeys(word for reason in self._reasons() for word in reason.shared))

    @property
    def touches(self) -> bool:
        """Whether the person's sentences share any word with the tension, ordinary words included."""
        return any(reason.touches for reason in self._reasons())

    @property
    def weak(self) -> bool:
        """Whether the readable sentences share at most `_WEAK` words with the tension, without ordinary words."""
        return self.open and len(self.shared) <= _WEAK

    def _reasons(self) -> Iterator[FoundReason]:
        return (reason for reasons in self.sides.values() for reason in reasons)


def ticked(people: Sequence[Person], *, most: int, by_words: bool) -> list[str]:
    """Return the ids of the people who are ticked at first. `people`: the nearest first.

    `by_words`: the search compared words, not meanings. Then people come last, and only up to `_LEAST` people, if their
    sentences may be read and share no word with the tension. Ordinary words count here, because without them fewer of
    the right people are ticked (docs/field.md).
    """
    nearest = [person.id for person in people]
    if not by_words:
        return nearest[:most]
    sharing = [person.id for person in people if person.touches or not person.open]
    left = [person for person in nearest if person not in sharing]
    return [*sharing, *left[: max(0, _LEAST - len(sharing))]][:most]


def people_found(found: Iterable[CandidateRow], parts: Mapping[str, str], quotes: Mapping[Span, str]) -> list[Person]:
    """Return each person once, in the order of their first row."""
    rows = list(found)
    people = []
    for number, person in enumerate(dict.fromkeys(row.profile_id for row in rows), 1):
        shown: set[str] = set()
        sides = {}
        for side in PERSPECTIVES:
            mine = [row for row in rows if (row.profile_id, row.perspective) == (person, side)]
            sides[side] = tuple(reason for row in mine for reason in _reasons(row, parts, quotes, shown))
        people.append(Person(number, person, sides))
    return people


def _reasons(
    row: CandidateRow, parts: Mapping[str, str], quotes: Mapping[Span, str], shown: set[str]
) -> Iterable[FoundReason]:
    """Yield the reasons of a row. `shown`: sentences of this person that the page already shows; new ones are added."""
    for reason in row.reasons[:_MOST_REASONS]:
        part = str(reason.get("part", ""))
        quote = quotes.get((row.profile_id, int(reason.get("start", 0)), int(reason.get("end", 0)), part), "")
        yield FoundReason(
            part=part,
            words=_begins(parts.get(part, "")),
            facet=str(reason.get("facet", "")),
            quote="" if quote in shown else quote,
            read=bool(quote),
            shared=telling_words_in_common(quote, parts.get(part, "")),
            touches=bool(terms(quote) & terms(parts.get(part, ""))),
        )
        shown.add(quote)


def _begins(text: str) -> str:
    short = cut(text, _PART_UNITS[language_of(text)]).rstrip(" ,.;:，、；：。")
    return short if len(short) >= len(text.rstrip(" ,.;:，、；：。")) else f"{short} …"
