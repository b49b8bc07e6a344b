"""Read access of each party (docs/protocol.md §6). Only this module makes views for people and their agents.

The table `VISIBLE` (role × part → phases) is the rule. The API and the tests also read it. `request_access.py` makes
the requests to models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, Literal

from pydantic import Field

from tongyao.protocol.documents.plan_answers import OwnAnswer
from tongyao.protocol.model.ids import Pair
from tongyao.protocol.model.observation import Note, Observation, Relation
from tongyao.protocol.model.plan import Delivery, Plan
from tongyao.protocol.model.process import DEMANDER, Phase
from tongyao.protocol.model.projection import EndpointKind, Item, Outcome, Projection
from tongyao.protocol.model.record import EarlierAnswer, Record
from tongyao.protocol.model.tension import Tension
from tongyao.protocol.model.value import Value
from tongyao.protocol.rules.formulation import not_taken_up
from tongyao.protocol.rules.plans.answered import (
    DeliveryChanges,
    answered_plan,
    answers_now,
    asked_about,
    delivery_changes,
    given_answers,
    own_answer,
)
from tongyao.protocol.rules.standing import Asked, not_examined, rounds_of, standing

PartyRole = Literal["demander", "participant", "invited", "operator"]


class Part(StrEnum):
    """The parts of a process that a party may see."""

    INTENT = "intent"
    TENSION = "tension"
    CANDIDATES = "candidates"
    ROSTER = "roster"
    OWN_WORDS = "own_words"
    TURNS = "turns"
    OBSERVATIONS = "observations"
    PROJECTIONS = "projections"
    PLAN = "plan"
    OWN_DELIVERY = "own_delivery"
    DELIVERIES = "deliveries"
    ANSWERS = "answers"
    IDENTITIES = "identities"
    ENDPOINTS = "endpoints"
    COST = "cost"


_ROUNDS: Final = frozenset({Phase.CONSENTING, Phase.CRYSTALLIZING, Phase.DECIDING, Phase.PLANNING})
_PLANNED: Final = frozenset({Phase.DELIVERING, Phase.ANSWERING, Phase.AWAITING_CHILDREN, Phase.COMPLETED})
_STOPPED: Final = frozenset({Phase.ABANDONED, Phase.CANCELLED, Phase.EXPIRED, Phase.FAILED})
_ALWAYS: Final = frozenset(Phase)
_STARTED: Final = _ROUNDS | _PLANNED | _STOPPED
_NEVER: Final[frozenset[Phase]] = frozenset()

VISIBLE: Final[Mapping[PartyRole, Mapping[Part, frozenset[Phase]]]] = {
    "demander": {
        Part.INTENT: _ALWAYS,
        Part.TENSION: _ALWAYS,
        Part.CANDIDATES: _ALWAYS,
        Part.ROSTER: _STARTED,
        Part.OWN_WORDS: _STARTED,
        Part.TURNS: _STARTED,
        Part.OBSERVATIONS: _STARTED,
        Part.PROJECTIONS: _PLANNED,
        Part.PLAN: _PLANNED,
        Part.OWN_DELIVERY: _PLANNED,
        Part.DELIVERIES: _PLANNED,
        Part.ANSWERS: _PLANNED,
        Part.IDENTITIES: _PLANNED,
        Part.ENDPOINTS: _NEVER,
        Part.COST: _ALWAYS,
    },
    "participant": {
        Part.INTENT: _NEVER,
        Part.TENSION: _STARTED,
        Part.CANDIDATES: _NEVER,
        Part.ROSTER: _STARTED,
        Part.OWN_WORDS: _STARTED,
        Part.TURNS: _STARTED,
        Part.OBSERVATIONS: _STARTED,
        Part.PROJECTIONS: _PLANNED,
        Part.PLAN: _PLANNED,
        Part.OWN_DELIVERY: _PLANNED,
        Part.DELIVERIES: _NEVER,
        Part.ANSWERS: _NEVER,
        Part.IDENTITIES: _PLANNED,
        Part.ENDPOINTS: _NEVER,
        Part.COST: _NEVER,
    },
    "invited": {**dict.fromkeys(Part, _NEVER), Part.TENSION: frozenset({Phase.CONSENTING})},
    "operator": {
        **dict.fromkeys(Part, _NEVER),
        Part.ROSTER: _ALWAYS,
        Part.TURNS: _ALWAYS,
        Part.ENDPOINTS: _ALWAYS,
        Part.ANSWERS: _ALWAYS,
        Part.COST: _ALWAYS,
    },
}
"""Maps role and part to the phases in which the role sees the part. Two parts have a second condition:

- `PROJECTIONS` are shown only with the setting `open_record`.
- `IDENTITIES` of the demander and of people who committed are shown, and only to people who committed.
"""


class TurnCount(Value):
    """Outcome and number of items of one turn of a closed round. A turn without an answer is always shown as lapsed."""

    round: int
    alias: str
    outcome: Outcome
    items: int


class Stands(Value):
    """The valid statements (`rules.standing`) after the last round that the catalyst has read.

    `none`: pairs that were examined and have no relation now. `not_examined`: pairs that were never examined. `asked`:
    by id of a gap, the person whom it asks and the outcome. `lapsed`: by round, the ids of the relations and notes that
    lapsed because all items of one speaker were replaced.
    """

    relations: tuple[Relation, ...] = ()
    notes: tuple[Note, ...] = ()
    none: tuple[Pair, ...] = ()
    not_examined: tuple[Pair, ...] = ()
    asked: dict[str, Asked] = Field(default_factory=dict)
    lapsed: dict[int, tuple[str, ...]] = Field(default_factory=dict)


class PartyView(Value):
    """A process as one person or agent may see it. Parts that this reader may not see are None.

    `said_now`: the reader's own words in the open round, which the reader may still correct; empty: `nothing_new`.
    `asked`: the people who may answer the current plan. `answers`, `answer_words`: their answers so far, by alias; an
    answer is `erased` if the person was erased later.
    `earlier_answers`: answers to replaced plans. `delivery_changes`: changes since the replaced plan.
    `forked_from`: the origin of a fork. `fork_round`: the first round in which its changes apply.
    `left`: whether the reader, a participant, has left the process.
    `answered_by`: names of the people outside Tongyao who answer the process's model calls.
    `own_answer`: the state of the reader's own answer.
    `title`: the title of a child process. Its `intent` is the intent of the first process of the tree.
    `contacts`: by alias, the contact of the reader and of all people whose names the reader may know.
    """

    id: str
    phase: Phase
    round: int
    you: str
    forked_from: str | None = None
    fork_round: int | None = None
    left: bool = False
    intent: str | None = None
    title: str | None = None
    tension: Tension | None = None
    not_taken_up: tuple[str, ...] | None = None
    roster: tuple[str, ...] | None = None
    own: tuple[Projection, ...] | None = None
    said_now: str | None = None
    turns: tuple[TurnCount, ...] | None = None
    observations: tuple[Observation, ...] | None = None
    stands: Stands | None = None
    projections: tuple[Projection, ...] | None = None
    plan: Plan | None = None
    delivery: Delivery | None = None
    deliveries: tuple[Delivery, ...] | None = None
    delivery_changes: DeliveryChanges | None = None
    own_answer: OwnAnswer | None = None
    asked: tuple[str, ...] | None = None
    answers: dict[str, str] | None = None
    answer_words: dict[str, str] | None = None
    earlier_answers: tuple[EarlierAnswer, ...] | None = None
    identities: dict[str, str] | None = None
    contacts: dict[str, str] | None = None
    endpoints: dict[str, EndpointKind] | None = None
    answered_by: tuple[str, ...] | None = None


def may_see(role: PartyRole, part: Part, phase: Phase) -> bool:
    return phase in VISIBLE[role][part]


def for_party(record: Record, *, role: PartyRole, alias: str = "") -> PartyView:
    """Return the view of one party in the record's phase. Raises `KeyError` if a participant's alias is unknown."""
    # while a new plan is made, readers still see the old plan and all that they could see with it
    phase = Phase.DELIVERING if record.phase is Phase.PLANNING and record.plans else record.phase

    def sees(part: Part) -> bool:
        return may_see(role, part, phase)

    left = role == "participant" and not record.participant(alias).active
    identities = _identities(record, role, alias)
    deliveries = record.deliveries
    reader = DEMANDER if role == "demander" else alias
    words = record.answer_words
    reads_answers = role != "operator" and sees(Part.ANSWERS)
    asked = asked_about(record) if reads_answers else ()
    earlier = record.earlier_answers if reads_answers else ()
    plan = answered_plan(record, given_answers(asked, answers_now(record), words, identities), earlier)
    open_projections = sees(Part.PROJECTIONS) and record.open_record
    observations = record.observations if sees(Part.OBSERVATIONS) else None
    return PartyView(
        id=record.process_id,
        phase=record.phase,
        round=record.round,
        you=reader,
        **_of_fork(record),
        left=left,
        intent=record.intent if sees(Part.INTENT) else None,
        title=(record.title or None) if sees(Part.TENSION) else None,
        tension=_tension_for(record, reader) if sees(Part.TENSION) else None,
        not_taken_up=_not_taken_up(record) if record.phase is Phase.CONFIRMING and sees(Part.INTENT) else None,
        roster=tuple(p.alias for p in record.participants) if sees(Part.ROSTER) else None,
        own=own_words(record, alias) if sees(Part.OWN_WORDS) else None,
        turns=_turns(record) if sees(Part.TURNS) else None,
        observations=observations,
        stands=_stands(record, observations) if observations else None,
        projections=tuple(_from(said, reader) for said in record.projections) if open_projections else None,
        plan=plan if sees(Part.PLAN) else None,
        delivery=next((d for d in reversed(deliveries) if d.alias == alias), None) if sees(Part.OWN_DELIVERY) else None,
        deliveries=deliveries if sees(Part.DELIVERIES) else None,
        delivery_changes=delivery_changes(deliveries, alias) if sees(Part.OWN_DELIVERY) else None,
        own_answer=own_answer(record, reader) if role != "operator" and sees(Part.OWN_DELIVERY) else None,
        asked=asked if reads_answers else None,
        answers=answers_now(record) if sees(Part.ANSWERS) else None,
        answer_words=words if reads_answers else None,
        earlier_answers=earlier if reads_answers else None,
        identities=identities if sees(Part.IDENTITIES) else None,
        contacts=_contacts(record, role, reader) if sees(Part.IDENTITIES) else None,
        endpoints={p.alias: p.endpoint for p in record.participants} if sees(Part.ENDPOINTS) else None,
    )


def _of_fork(record: Record) -> dict[str, Any]:
    return {"forked_from": record.forked_from, "fork_round": record.fork_round or None}


def own_words(record: Record, alias: str) -> tuple[Projection, ...]:
    """Return the turns of this alias, in the person's original words. Every person may always read their own turns."""
    return tuple(projection for projection in record.projections if projection.alias == alias)


def tension_for_invited(record: Record) -> Tension | None:
    """Return the tension for a person who is asked for consent and has no seat yet."""
    return _tension_for(record, "invited") if may_see("invited", Part.TENSION, record.phase) else None


def title_for_invited(record: Record) -> str:
    """Return the title of a child process for a person who is asked for consent; empty for other processes."""
    return record.title if may_see("invited", Part.TENSION, record.phase) else ""


def for_export(record: Record) -> PartyView:
    """Return the whole record for operators on the machine, under aliases, with the texts of answers."""
    asked = asked_about(record)
    words, earlier, observations = record.answer_words, record.earlier_answers, record.observations
    return PartyView(
        id=record.process_id,
        phase=record.phase,
        round=record.round,
        you="",
        **_of_fork(record),
        title=record.title or None,
        tension=shown_tension(record) if record.tension else None,
        roster=tuple(one.alias for one in record.participants),
        turns=_turns(record),
        observations=observations,
        stands=_stands(record, observations) if observations else None,
        projections=tuple(map(as_said, record.projections)),
        plan=answered_plan(record, given_answers(asked, answers_now(record), words, {}), earlier),
        asked=asked,
        answers=answers_now(record),
        answer_words=words,
        earlier_answers=earlier,
    )


def _turns(record: Record) -> tuple[TurnCount, ...]:
    """Return the turns of the rounds that the catalyst has read, without a seatless demander's answers to gaps.

    Turns of the open round are left out, because a turn that is waited for reveals a person.
    """
    closed = {observation.round for observation in record.observations}
    seats = {one.alias for one in record.participants}
    said = (as_said(one) for one in record.projections if one.round in closed and one.alias in seats)
    return tuple(TurnCount(round=one.round, alias=one.alias, outcome=one.outcome, items=len(one.items)) for one in said)


def _stands(record: Record, observations: Sequence[Observation]) -> Stands:
    """Return the valid statements after the last of `observations`. `observations`: as the reader may read them."""
    last = max(observation.round for observation in observations)
    said = [projection for projection in record.projections if projection.round <= last]
    rounds = rounds_of(said, observations)
    state = standing(rounds)
    lapsed = {number: standing(rounds[:number]).lapsed for number in range(2, last + 1)}
    contributors = {projection.alias for projection in said if projection.items}
    return Stands(
        relations=state.relations,
        notes=state.notes,
        none=tuple(sorted(state.none)),
        not_examined=not_examined(state, contributors),
        asked=dict(state.asked),
        lapsed={number: ids for number, ids in lapsed.items() if ids},
    )


def _tension_for(record: Record, reader: str) -> Tension | None:
    """Return the tension for a reader. The demander reads it without marks. Marks in place of names would reveal who
    has a seat."""
    if reader == DEMANDER and (tension := record.demanders_tension) is not None and tension is record.own_tension:
        return tension
    return shown_tension(record) if record.tension is not None else None


def _not_taken_up(record: Record) -> tuple[str, ...]:
    """Return the sentences of the intent that no line of the tension quotes."""
    return not_taken_up(record.intent, record.own_tension.spans) if record.own_tension is not None else ()


def _from(projection: Projection, reader: str) -> Projection:
    """Return a projection for a reader of the open record. The author reads it unchanged.

    Others read only id, text and `replaces` of its items. Kinds, quotes and `inferred` would reveal a proxy
    (docs/protocol.md §6.2).
    """
    said = as_said(projection)
    if said.alias == reader:
        return said
    items = (Item(id=item.id, text=item.text, replaces=item.replaces) for item in said.items)
    return said.model_copy(update={"items": tuple(items)})


def as_said(projection: Projection) -> Projection:
    """Return a projection without the differences between proxies and people and between outcomes without an answer."""
    silent = projection.outcome in (Outcome.LAPSED, Outcome.FAILED, Outcome.LEFT)
    return projection.model_copy(
        update={
            "author": EndpointKind.PROXY,
            "struck": 0,
            "outcome": Outcome.LAPSED if silent else projection.outcome,
        }
    )


def _identities(record: Record, role: PartyRole, alias: str) -> dict[str, str]:
    committed = {who for who, answer in record.answers.items() if answer == "commit"}
    if role == "participant" and alias not in committed:
        return {}
    shown = {p.alias: name for p in record.participants if p.alias in committed and (name := p.shown_name)}
    if record.demander.shown_name:
        shown[DEMANDER] = record.demander.shown_name
    return shown


def _contacts(record: Record, role: PartyRole, reader: str) -> dict[str, str]:
    """Return the contacts, unchanged, of the reader and of all people whose names the reader may know."""
    committed = {who for who, answer in record.answers.items() if answer == "commit"}
    known = {*committed, DEMANDER} if role == "demander" or reader in committed else {reader}
    return {alias: said for alias, said in record.contacts.items() if alias in known}


def shown_tension(record: Record) -> Tension:
    """Return the tension without its spans and names, because only the demander may read them."""
    if record.tension is None:
        raise ValueError(f"{record.process_id} has no tension yet")
    return record.tension.model_copy(update={"spans": (), "names": ()})
