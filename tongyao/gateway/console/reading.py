"""Views for templates: pure functions from a party's view to the data that a template prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from tongyao.protocol.documents.delivery_page import delivery_page
from tongyao.protocol.documents.plan_answers import GivenAnswer, decision_in_words
from tongyao.protocol.documents.plan_page import plan_page
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.ids import round_of, speaker_of
from tongyao.protocol.model.observation import Note, NoteKind, Observation, Relation, Statement
from tongyao.protocol.model.plan import Delivery, Plan
from tongyao.protocol.model.process import DEMANDER, Phase
from tongyao.protocol.model.projection import Projection
from tongyao.protocol.model.sizes import cut, quotes_closed
from tongyao.protocol.model.tension import MISSING, Tension
from tongyao.protocol.rules.plans.answered import given_answers
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
class CitedSource:
    """A source that a statement cites. `text` is empty if the reader may not see it yet."""

    id: str
    who: str
    round: int
    text: str


def title_of(view: PartyView) -> str:
    """Return the title of a process (`title_of_words`), or its id if the reader may read nothing of it."""
    return title_of_words(view.title, view.intent, view.tension) or view.id


def title_of_words(title: str | None, intent: str | None, tension: Tension | None) -> str:
    """Return the first words of the title, the intent or the transition of a process. Empty if all are missing.

    The transition comes before the intent if a person wrote or revised the tension, because it is newer then. Such a
    tension quotes no intent (`Tension.spans`).
    """
    transition = tension.transition if tension is not None and tension.transition != MISSING else ""
    written = transition if tension is not None and not tension.spans else ""
    text = title or written or intent or transition
    first = next((line.strip("# ").strip() for line in text.splitlines() if line.strip("# ").strip()), "")
    for stop in "。！？":
        first = first.split(stop)[0]
    for stop in (". ", "; ", "? ", "! "):
        first = first.split(stop)[0]
    short = cut(first, _TITLE_UNITS if any(c.isascii() and c.isalpha() for c in first) else 2 * _TITLE_UNITS)
    return quotes_closed(short.rstrip(" ,.;:，、；：") + ("" if len(short) >= len(first) else " …"))


def step_of(phase: Phase) -> int | None:
    """Return the number of the current step in `STEPS`, or None if the process has ended."""
    return _STEP_OF.get(phase)


def concerning(observation: Observation, alias: str) -> list[str]:
    """Return the sentences of an observation about one participant: relations to others, notes, relations to lines.

    Gaps that ask this participant are left out, because the participant's ask shows them.
    """
    relations = [relation for relation in observation.relations if alias in relation.between]
    to_others = [statement.text for statement in relations if statement.of_participants]
    to_lines = [statement.text for statement in relations if not statement.of_participants]
    notes = [
        note.text
        for note in observation.notes
        if note.asks != alias and (alias in note.about or any(speaker_of(source) == alias for source in note.sources))
    ]
    return [text for text in dict.fromkeys((*to_others, *notes, *to_lines)) if text.strip()]


_UNANSWERED: Final = 3


def unanswered(view: PartyView) -> list[str]:
    """Return the last notes `ignored` that are not about this reader. The reader may take them up."""
    notes = view.stands.notes if view.stands is not None else ()
    return [note.text for note in notes if note.kind is NoteKind.IGNORED and view.you not in note.about][-_UNANSWERED:]


def sources_of(view: PartyView) -> dict[str, CitedSource]:
    """Return by id all sources that a statement can cite and this reader may read."""
    found: dict[str, CitedSource] = {}
    if view.tension is not None:
        for name, text in view.tension.targets().items():
            found[f"T/{name}"] = CitedSource(f"T/{name}", DEMANDER, 0, text)
    for said in (*(view.projections or ()), *(view.own or ())):
        for item in said.items:
            found[item.id] = CitedSource(item.id, said.alias, said.round, item.text)
    for observation in view.observations or ():
        for id, text in observation.texts().items():
            found[id] = CitedSource(id, "catalyst", observation.round, text)
    return found


def cited(ids: tuple[str, ...], sources: Mapping[str, CitedSource]) -> list[CitedSource]:
    """Return the sources of these ids. A source that the reader may not see yet has an empty text."""
    return [sources.get(id) or CitedSource(id, speaker_of(id), round_of(id), "") for id in ids]


@dataclass(frozen=True)
class ShownStatement:
    """A relation or a note on a page. `about`: its aliases and lines. `footnote`: its number, or 0 without sources.

    `asks`: for a gap, the person whom it asks; empty if nobody here can close it. `outcome`: for a gap, its outcome.
    `before`: the rounds of the statements that it replaces.
    """

    kind: str
    text: str
    about: tuple[str, ...]
    footnote: int
    asks: str = ""
    outcome: str = ""
    before: tuple[int, ...] = ()


@dataclass(frozen=True)
class Fallen:
    """A relation or a note that is no longer valid. `why`: the catalyst's reason; empty if it lapsed."""

    text: str
    why: str


GROUPS: Final = ("pairs", "lines", *(kind.value for kind in NoteKind))
"""The groups in which relations and notes are shown, in reading order."""


class _NumberedStatements:
    """Groups relations and notes, and numbers their footnotes."""

    def __init__(self, view: PartyView) -> None:
        self._sources = sources_of(view)
        self._asked = view.stands.asked if view.stands is not None else {}
        self.notes: list[list[CitedSource]] = []

    def groups(self, statements: Iterable[Statement]) -> dict[str, list[ShownStatement]]:
        found: dict[str, list[ShownStatement]] = {name: [] for name in GROUPS}
        for statement in sorted(statements, key=lambda statement: GROUPS.index(_group_of(statement))):
            found[_group_of(statement)].append(self._shown(statement))
        found["lines"].sort(key=lambda statement: (LINES.index(statement.about[1][:1]), statement.about[1]))
        return {name: shown for name, shown in found.items() if shown}

    def _shown(self, statement: Statement) -> ShownStatement:
        if statement.sources:
            self.notes.append(cited(statement.sources, self._sources))
        asked = self._asked.get(statement.id)
        return ShownStatement(
            kind=statement.kind.value,
            text=statement.text,
            about=statement.between if isinstance(statement, Relation) else statement.about,
            footnote=len(self.notes) if statement.sources else 0,
            asks=statement.asks if isinstance(statement, Note) else "",
            outcome=asked.outcome if asked is not None else "",
            before=tuple(sorted({round_of(id) for id in statement.replaces})),
        )


LINES: Final = "BTIE"
"""The lines of a tension in the order in which relations to them are shown."""


def _group_of(statement: Statement) -> str:
    return statement.kind.value if isinstance(statement, Note) else "pairs" if statement.of_participants else "lines"


@dataclass(frozen=True)
class Observed:
    """One observation: the catalyst's words, its statements, the statements that it ended, and those that lapsed."""

    round: int
    verdict: str
    why: str
    words: str
    groups: dict[str, list[ShownStatement]]
    none: tuple[tuple[str, str], ...]
    ended: list[Fallen]
    lapsed: list[Fallen]
    notes: list[list[CitedSource]]

    @property
    def empty(self) -> bool:
        return not (self.words or self.groups or self.none or self.ended or self.lapsed)


def observations(view: PartyView) -> list[Observed]:
    """Return all observations, the oldest first."""
    seen = view.observations or ()
    texts = {id: text for observation in seen for id, text in observation.texts().items()}
    lapsed = view.stands.lapsed if view.stands is not None else {}
    found = []
    for observation in seen:
        footnotes = _NumberedStatements(view)
        found.append(
            Observed(
                round=observation.round,
                verdict=observation.verdict.value,
                why=observation.why,
                words=observation.words,
                groups=footnotes.groups(observation.statements),
                none=observation.none,
                ended=[Fallen(texts[ended.id], ended.why) for ended in observation.ended if ended.id in texts],
                lapsed=[Fallen(texts[id], "") for id in lapsed.get(observation.round, ()) if id in texts],
                notes=footnotes.notes,
            )
        )
    return found


@dataclass(frozen=True)
class ShownTable:
    """The valid statements, without the relations between participants, which are in the matrix."""

    round: int
    groups: dict[str, list[ShownStatement]]
    notes: list[list[CitedSource]]


def table(view: PartyView) -> ShownTable | None:
    """Return the valid statements without the relations of the matrix. None before the first observation."""
    if view.stands is None or not view.observations:
        return None
    footnotes = _NumberedStatements(view)
    to_lines = (relation for relation in view.stands.relations if not relation.of_participants)
    groups = footnotes.groups((*to_lines, *view.stands.notes))
    return ShownTable(view.observations[-1].round, groups, footnotes.notes)


@dataclass(frozen=True)
class Cell:
    """One pair of participants in the matrix, with their valid relations."""

    a: str
    b: str
    relations: tuple[Relation, ...]
    examined: bool

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the pair's relations, each once. Without any: `none`, or `unseen` for an unexamined pair."""
        found = tuple(dict.fromkeys(relation.kind.value for relation in self.relations))
        return found or ("none" if self.examined else "unseen",)

    @property
    def anchor(self) -> str:
        return f"pair-{self.a}-{self.b}"


def matrix(view: PartyView) -> list[list[Cell]]:
    """Return the rows of the lower triangle after the last observation. A row has one alias with all earlier ones."""
    if view.stands is None:
        return []
    held: dict[tuple[str, str], list[Relation]] = {}
    for relation in view.stands.relations:
        if relation.of_participants:
            held.setdefault(relation.between, []).append(relation)
    seats = {
        alias for alias in view.roster or () if alias != DEMANDER
    }  # the catalyst does not examine pairs with the demander
    aliases = sorted(seats.union(*held, *view.stands.none))
    return [
        [Cell(a, b, tuple(held.get((a, b), ())), (a, b) in held or (a, b) in view.stands.none) for a in aliases[:row]]
        for row, b in enumerate(aliases[1:], 1)
    ]


def grid(view: PartyView) -> tuple[list[str], list[tuple[int, list[tuple[str, int]]]]]:
    """Return the aliases, and per closed round the (outcome, number of items) of each alias; ("", 0) without a turn."""
    turns = {(turn.round, turn.alias): (turn.outcome.value, turn.items) for turn in view.turns or ()}
    aliases = sorted({*(view.roster or ()), *(alias for _, alias in turns)})
    rounds = sorted({number for number, _ in turns})
    return aliases, [(number, [turns.get((number, alias), ("", 0)) for alias in aliases]) for number in rounds]


class _ToldEvent(Protocol):
    @property
    def kind(self) -> EventKind: ...
    @property
    def data(self) -> Mapping[str, Any]: ...


def consents(events: Iterable[_ToldEvent]) -> tuple[int, int] | None:
    """Return how many people were asked and how many allowed, in the last closed request for consent; or None."""
    closed = [event.data for event in events if event.kind is EventKind.CONSENT_CLOSED]
    return (int(closed[-1]["asked"]), int(closed[-1]["allowed"])) if closed else None


def last_said(view: PartyView, before: int = 0) -> Projection | None:
    """Return the reader's last turn with items. If `before` is not 0, only earlier rounds count."""
    return next((turn for turn in reversed(view.own or ()) if turn.items and (not before or turn.round < before)), None)


def own_in(view: PartyView, number: int) -> Projection | None:
    """Return the reader's recorded turn of this round."""
    return next((turn for turn in reversed(view.own or ()) if turn.round == number), None)


def answers_in(view: PartyView) -> tuple[GivenAnswer, ...]:
    """Return the answers to the plan that the reader of the view may know."""
    return given_answers(view.asked or (), view.answers or {}, view.answer_words or {}, view.identities or {})


def plan_values(view: PartyView, plan: Plan) -> dict[str, Any]:
    """Return the data of `parts/plan.html` besides `view` and `plan`."""
    answers = answers_in(view)
    laid_out = plan_page(plan, answers, reader=view.you)
    return {
        "laid_out": laid_out,
        "notes": {note.number: note for note in laid_out.notes},
        "earlier": [
            (revision, [answer for answer in view.earlier_answers or () if answer.revision == revision])
            for revision in sorted({answer.revision for answer in view.earlier_answers or ()}, reverse=True)
        ],
        "decision_in_words": decision_in_words,
        "inferred": inferred_in(view),
    }


def delivery_values(view: PartyView, delivery: Delivery) -> dict[str, Any]:
    """Return the data with which `parts/plan.html` prints a delivery. `laid_out` is None if the reader has no plan."""
    laid_out = delivery_page(delivery, view.plan) if view.plan is not None else None
    return {
        "laid_out": laid_out,
        "notes": {note.number: note for note in laid_out.notes} if laid_out is not None else {},
        "inferred": inferred_in(view),
    }


def inferred_in(view: PartyView) -> frozenset[str]:
    """Return the ids of the inferred items among the items that the reader sees."""
    said = (*(view.projections or ()), *(view.own or ()))
    return frozenset(item.id for turn in said for item in turn.items if item.inferred)
