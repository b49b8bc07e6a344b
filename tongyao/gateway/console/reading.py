"""What pages show of a view: pure functions from what a party may see to what a template prints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.observation import GapKind, Observation, Pair, Relation, Translation
from tongyao.protocol.model.process import DEMANDER, Phase
from tongyao.protocol.model.projection import EndpointKind, Projection
from tongyao.protocol.model.sizes import cut, language_of, quotes_closed
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.rules.read_access import PartyView

_TITLE_UNITS: Final = 14
STEPS: Final = ("intent", "tension", "people", "rounds", "plan", "deliveries", "answers")
_STEP_OF: Final = {
    Phase.FORMULATING: 0,
    Phase.CONFIRMING: 1,
    Phase.DISCOVERING: 2,
    Phase.SELECTING: 2,
    Phase.CONSENTING: 2,
    Phase.CRYSTALLIZING: 3,
    Phase.DECIDING: 3,
    Phase.PLANNING: 4,
    Phase.DELIVERING: 5,
    Phase.ANSWERING: 6,
    Phase.AWAITING_CHILDREN: 6,
}


@dataclass(frozen=True)
class Source:
    """What an id stands for, as far as the reader may see it. `text` is empty for what is not open yet."""

    id: str
    who: str
    round: int
    text: str
    dimension: str = ""


def title_of(view: PartyView) -> str:
    """What stayed open, for a child. Otherwise the first words of the intent or of the tension's transition. Where none may be read, the id."""
    return title_of_words(view.title, view.intent, view.tension) or view.id


def title_of_words(title: str | None, intent: str | None, tension: Tension | None) -> str:
    """A process's title of what may be read of it: the first words of the first of these; empty where there is none."""
    text = title or intent or (tension.transition if tension else "")
    first = next((line.strip("# ").strip() for line in text.splitlines() if line.strip("# ").strip()), "")
    for stop in "。！？":
        first = first.split(stop)[0]
    for stop in (". ", "; ", "? ", "! "):
        first = first.split(stop)[0]
    short = cut(first, _TITLE_UNITS if any(c.isascii() and c.isalpha() for c in first) else 2 * _TITLE_UNITS)
    return quotes_closed(short.rstrip(" ,.;:，、；：") + ("" if len(short) >= len(first) else " …"))


def step_of(phase: Phase) -> int | None:
    """The step of the strip that is going on; None when the process has ended."""
    return _STEP_OF.get(phase)


def concerning(observation: Observation, alias: str) -> list[str]:
    """What an observation says of one participant and was not said before, and what nobody has looked at.

    What others are to them comes first, and what is only about their own words last.
    """
    found = [
        text
        for pair in observation.pairs
        if alias in (pair.a, pair.b) and pair.relation.related and _new(pair)
        for text in (pair.text, pair.second.text if pair.second else "")
    ]
    found += [one.text for one in observation.translations if alias in (one.a, one.b)]
    found += [
        gap.text
        for gap in observation.gaps
        if gap.kind is GapKind.OVERLOOKED or any(f"/{alias}/" in source for source in gap.sources)
    ]
    notes = (*observation.frameworks, *observation.third_party_value, *observation.ignored)
    found += [one.text for one in observation.contributions if one.alias == alias]
    found += [note.text for note in notes if alias in note.about]
    shown = Quotes()
    return [shown.once(text) for text in dict.fromkeys(found) if text.strip()]


_UNANSWERED: Final = 3


def unanswered(observation: Observation, alias: str) -> list[str]:
    """What others said and nobody took up: this reader might."""
    found = [one.text for one in observation.ignored if alias not in one.about and one.text.strip()]
    return list(dict.fromkeys(found))[:_UNANSWERED]


_QUOTED: Final = re.compile(r"“([^“”]{24,2000})”")
_AGAIN_UNITS: Final = 6


class Quotes:
    """Of texts that are read one after the other: what was quoted before is quoted again by its first words."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def once(self, text: str) -> str:
        """The text; `“I can sew straps of the old …”` where the whole sentence stands in an earlier one, or earlier in this one."""
        return _QUOTED.sub(self._shorter, text)

    def _shorter(self, found: re.Match[str]) -> str:
        words = found[1].strip().rstrip(".。")
        if words not in self._seen:
            self._seen.add(words)
            return found[0]
        short = cut(words, _AGAIN_UNITS if language_of(words) == "en" else 2 * _AGAIN_UNITS)
        return f"“{short.rstrip(' ,.;:，、；：。…')} …”" if len(short) < len(words) else found[0]


def _new(pair: Pair) -> bool:
    return not pair.carried


def sources_of(view: PartyView) -> dict[str, Source]:
    """Everything that may be cited and that this reader may read, by id."""
    found: dict[str, Source] = {}
    if view.tension is not None:
        for name, text in view.tension.targets().items():
            found[f"T/{name}"] = Source(f"T/{name}", DEMANDER, 0, text, name[0])
    for said in (*(view.projections or ()), *(view.own or ())):
        for item in said.items:
            found[item.id] = Source(item.id, said.alias, said.round, item.statement, item.dimension.value)
    for observation in view.observations or ():
        for id, text in observation.texts().items():
            found[id] = Source(id, "catalyst", observation.round, text)
    return found


def cited(ids: tuple[str, ...], sources: dict[str, Source]) -> list[Source]:
    """What these ids stand for; what is not open yet is named without its text."""
    return [sources.get(id) or _closed(id) for id in ids]


def _closed(id: str) -> Source:
    head, _, rest = id.partition("/")
    number = int(head[1:]) if head[:1] == "R" and head[1:].isdigit() else 0
    return Source(id, rest.partition("/")[0], number, "")


@dataclass(frozen=True)
class Statement:
    """One sentence of an observation, with the number of its footnote; 0: it cites nothing."""

    text: str
    note: int


@dataclass(frozen=True)
class Observed:
    """One observation as text with footnotes. Relations that only stand from before are in the matrix.

    `repeats`: the round before it that said the same word for word; 0: none.
    """

    round: int
    relations: list[Statement]
    translations: list[Statement]
    contributions: list[Statement]
    frameworks: list[Statement]
    overlooked: list[Statement]
    absent: list[Statement]
    ignored: list[Statement]
    notes: list[list[Source]]
    repeats: int = 0

    @property
    def empty(self) -> bool:
        """Whether it says nothing, besides relations that stand from before."""
        return not self._texts()

    def says_the_same(self, other: Observed) -> bool:
        return self._texts() == other._texts()

    def _texts(self) -> list[tuple[str, str]]:
        groups = ("relations", "translations", "contributions", "frameworks", "overlooked", "absent", "ignored")
        return [(name, one.text) for name in groups for one in getattr(self, name)]


def observations(view: PartyView) -> list[Observed]:
    """All observations, the last one last."""
    found = list[Observed]()
    for one in view.observations or ():
        seen = _observed(view, one)
        same = next((before for before in found if not seen.empty and seen.says_the_same(before)), None)
        found.append(replace(seen, repeats=same.round) if same else seen)
    return found


def _observed(view: PartyView, seen: Observation) -> Observed:
    sources, notes, quotes = sources_of(view), list[list[Source]](), Quotes()

    def said(text: str, ids: tuple[str, ...]) -> Statement:
        if ids:
            notes.append(cited(ids, sources))
        return Statement(quotes.once(text), len(notes) if ids else 0)

    def gaps(kind: GapKind) -> list[Statement]:
        return [said(one.text, one.sources) for one in seen.gaps if one.kind is kind]

    return Observed(
        round=seen.round,
        relations=[
            said(one.text, one.sources)
            for pair in seen.pairs
            if pair.relation.related and not pair.carried
            for one in (pair, pair.second)
            if one is not None
        ],
        translations=[said(_both_say(one), one.sources) for one in seen.translations],
        contributions=[
            said(one.text, one.sources)
            for one in sorted(seen.contributions, key=lambda one: (not one.target.startswith("B"), one.target))
        ],
        frameworks=[
            said(f"{one.name}{_colon(one.text)}{one.text}" if one.name else one.text, one.sources)
            for one in (*seen.frameworks, *seen.third_party_value)
        ],
        overlooked=gaps(GapKind.OVERLOOKED),
        absent=gaps(GapKind.ABSENT),
        ignored=[said(one.text, one.sources) for one in seen.ignored],
        notes=notes,
    )


def _both_say(one: Translation) -> str:
    """In the language of the observation, whatever that of the page."""
    a, b = one.a_words.rstrip(".。"), one.b_words.rstrip(".。")
    if language_of(one.text) == "zh":
        return f"{one.a} 说“{a}”，{one.b} 说“{b}”。{one.text}"
    return f"{one.a} says “{a}”, {one.b} says “{b}”. {one.text}"


def _colon(text: str) -> str:
    return "：" if language_of(text) == "zh" else ": "


@dataclass(frozen=True)
class Cell:
    """One pair in the matrix, and how it stood round by round."""

    a: str
    b: str
    pair: Pair | None
    history: tuple[tuple[int, Relation], ...]
    translations: tuple[Translation, ...] = ()

    @property
    def changes(self) -> tuple[tuple[int, Relation], ...]:
        """The rounds in which it became what it then was."""
        found: list[tuple[int, Relation]] = []
        for number, relation in self.history:
            if not found or found[-1][1] is not relation:
                found.append((number, relation))
        return tuple(found)

    @property
    def relation(self) -> Relation:
        return self.pair.relation if self.pair else Relation.NOT_EXAMINED

    @property
    def anchor(self) -> str:
        return f"pair-{self.a}-{self.b}"


def matrix(view: PartyView) -> list[list[Cell]]:
    """Rows of the lower triangle, after the last observation: row n holds the pairs of its alias with those before it."""
    observations = view.observations or ()
    by_round = [(one.round, {(pair.a, pair.b): pair for pair in one.pairs}) for one in observations]
    aliases = sorted({*(view.roster or ()), *(one for _, pairs in by_round for pair in pairs for one in pair)})
    rows = []
    for row, b in enumerate(aliases[1:], 1):
        cells = []
        for a in aliases[:row]:
            history = tuple((number, pairs[a, b].relation) for number, pairs in by_round if (a, b) in pairs)
            last = by_round[-1][1].get((a, b)) if by_round else None
            translated = tuple(t for one in observations for t in one.translations if {t.a, t.b} == {a, b})
            cells.append(Cell(a, b, last, history, translated))
        rows.append(cells)
    return rows


def grid(view: PartyView) -> tuple[list[str], list[tuple[int, list[tuple[str, int]]]]]:
    """Aliases, and for each closed round the (outcome, lines) of each; an outcome is empty for who was not there yet."""
    turns = {(one.round, one.alias): (one.outcome.value, one.items) for one in view.turns or ()}
    aliases = sorted({*(view.roster or ()), *(alias for _, alias in turns)})
    rounds = sorted({number for number, _ in turns})
    return aliases, [(number, [turns.get((number, one), ("", 0)) for one in aliases]) for number in rounds]


def curve(news: dict[int, int], *, rounds: int = 7) -> list[tuple[int, int, float, float]]:
    """Points of the curve of news: (round, count, x, y) in a drawing of 330 × 132."""
    top = max([*news.values(), 1])
    step = 276 / max(1, rounds - 1)
    return [
        (number, count, round(24 + (number - 1) * step, 1), round(102 - 76 * count / top, 1))
        for number, count in sorted(news.items())
    ]


class _Event(Protocol):
    @property
    def kind(self) -> EventKind: ...
    @property
    def data(self) -> Mapping[str, Any]: ...


def news_by_round(events: Iterable[_Event]) -> dict[int, int]:
    """How much was new in each round that the catalyst has read."""
    found = {}
    for event in events:
        if event.kind is EventKind.OBSERVATION_READY:
            links, quotes, number = (event.data.get(key) for key in ("new_links", "new_quotes", "round"))
            if isinstance(number, int):
                found[number] = (links if isinstance(links, int) else 0) + (quotes if isinstance(quotes, int) else 0)
    return found


def consents(events: Iterable[_Event]) -> tuple[int, int] | None:
    """How many were asked for their consent last, and how many gave it; None where nobody was asked, or not all have answered."""
    closed = [one.data for one in events if one.kind is EventKind.CONSENT_CLOSED]
    return (int(closed[-1]["asked"]), int(closed[-1]["allowed"])) if closed else None


def correctable(view: PartyView, said: Projection) -> bool:
    """Whether the reader, who said this themself, may still say it otherwise."""
    now = view.phase is Phase.CRYSTALLIZING and said.round == view.round and not view.left
    return now and said.author is EndpointKind.HUMAN


def last_sorted(view: PartyView, before: int = 0) -> Projection | None:
    """The last that was said for the reader and was sorted into lines. `before`: of a round before this one; 0: of any."""
    return next((one for one in reversed(view.own or ()) if one.items and (not before or one.round < before)), None)


def own_in(view: PartyView, number: int) -> Projection | None:
    """What the reader said in this round, as it stands in the record."""
    return next((one for one in reversed(view.own or ()) if one.round == number), None)
