"""Events: their fixed kinds, and the outbox that carries them to the records (docs/protocol.md §11).

An event contains ids, counts and names of states, and no text. The process assigns `seq`, from 1, without gaps.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Self

from pydantic import Field, JsonValue, SerializerFunctionWrapHandler, field_validator, model_serializer

from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.value import Value

LATER: Final = False
"""The value of `urgent` for events that are written to the records together with the next step."""


class EventKind(StrEnum):
    """The kinds of events. `keys`: the keys of the event's `data`, with remarks. `urgent`: whether the event is written
    to the records at once. Any other event is written with the next step."""

    keys: str
    urgent: bool

    def __new__(cls, value: str, keys: str = "", urgent: bool = True) -> Self:
        kind = str.__new__(cls, value)
        kind._value_, kind.keys, kind.urgent = value, keys, urgent
        return kind

    PROCESS_STARTED = "process_started", "depth"
    PHASE_CHANGED = "phase_changed", "from, to", LATER
    FORMULATION_READY = "formulation_ready", "grade, barriers, fallback", LATER
    TENSION_REVISED = "tension_revised", "grade"
    TENSION_CONFIRMED = "tension_confirmed", "by: person | timer | setting", LATER
    FIELD_ACTIVATED = (
        "field_activated",
        "candidates: [[profile id, perspective, score (not shown to anybody)]], round: of those found later",
    )
    CONSENT_ASKED = "consent_asked", "number; of one person who is asked whether a proxy may speak for them"
    CONSENT_ANSWERED = "consent_answered", "number; yes, no, or the time is over: which of these is told to nobody"
    CONSENT_CLOSED = "consent_closed", "asked, allowed; counts. Asked are also those whose answer was known before"
    PARTICIPANTS_SELECTED = "participants_selected", "aliases", LATER
    PARTICIPANT_JOINED = "participant_joined", "alias, round", LATER
    PARTICIPANT_LEFT = "participant_left", "alias, round"
    ROUND_OPENED = "round_opened", "round, aliases", LATER
    TURN_WAITING = "turn_waiting", "alias, round, due"
    DEMANDER_ASKED = (
        "demander_asked",
        "round; a gap asks the demander, who has no seat, and a person or their agent speaks for them",
    )
    REMINDER = "reminder", "alias, round, share; of somebody who is invited: [number, share]"
    DEADLINE_EXTENDED = "deadline_extended", "alias, due; in a suspended process the date moves with the suspension"
    ESCALATED = "escalated", "alias, round"
    ENDPOINT_SWITCHED = "endpoint_switched", "alias, to, fallback"
    MANDATE_CHANGED = "mandate_changed", "alias"
    WORDS_ARRIVED = "words_arrived", "alias, round: in which they count; of a person or their agent", LATER
    WORDS_UNUSED = "words_unused", "alias, round; words for a round that never opened, or never closed", LATER
    PROJECTION_RECEIVED = "projection_received", "alias, round, outcome, items, struck", LATER
    GATE_COMPLETE = "gate_complete", "round", LATER
    OBSERVATION_READY = "observation_ready", "round, verdict, relations, notes, gaps, items, struck", LATER
    CONVERGED = "converged", "round, reason", LATER
    CONCLUDED = "concluded", "round, phase"
    DECISION_NEEDED = "decision_needed", "cause"
    DECIDED = "decided", "decision, by: person | timer, without: of a re-plan, the aliases that it leaves out"
    BUDGET_WARNING = "budget_warning", "share"
    SUSPENDED = "suspended", "code, reason, kind, since: when process time stopped"
    RESUMED = "resumed", "code; the cause that is gone"
    PLAN_READY = "plan_ready", "revision, claims, supported, residuals, reduced", LATER
    DELIVERY_READY = "delivery_ready", "alias, revision", LATER
    ANSWER_RECEIVED = "answer_received", "alias, decision, revision, text_id"
    RESIDUAL_OPEN = "residual_open", "residual", LATER
    RESIDUAL_APPROVED = "residual_approved", "residual; it goes back to the field"
    CHILD_STARTED = "child_started", "child, residual"
    CHILD_REFUSED = (
        "child_refused",
        "residual, reason: declined (the demander said no) | depth | duplicate | budget | unknown | nothing | nobody | cancelled",
    )
    CHILD_FINISHED = "child_finished", "child, residual, outcome"
    CALLS_WAITING = "calls_waiting", "step, calls; how many model calls of it wait for an answer from outside"
    CALL_ANSWERED = "call_answered", "call; its id", LATER
    STEP_SKIPPED = "step_skipped", "step, reason; a step that a process can do without", LATER
    MESSAGE_REFUSED = "message_refused", "message, code; of signals only: an update's refusal goes to its sender"
    PROCESS_ENDED = "process_ended", "outcome"


class Event(Value):
    """One transition of one process."""

    seq: int = Field(ge=1)
    kind: EventKind
    at: datetime
    data: dict[str, JsonValue] = Field(default_factory=dict)


class AskName(StrEnum):
    """The kinds of asks (`life.asks`). Each row of an inbox has one."""

    CONFIRM_TENSION = "confirm_tension"
    SELECT_PARTICIPANTS = "select_participants"
    PROJECTION = "projection"
    GAP = "gap"
    DECISION = "decision"
    REPLAN = "replan"
    ANSWER = "answer"
    RESIDUAL = "residual"
    HOLE = "hole"
    CONSENT = "consent"
    RESUME = "resume"
    CALLS = "calls"
    CANDIDATE = "candidate"


class Waiting(Value):
    """An open ask to one party. `id`: messages name the ask by it, such as `confirm/1` or `say/2/P03`.

    `round`: the round, or for an answer the revision of the plan. `subject`: the residual, the profile id of an invited
    person, or the ids of waiting model calls. While the process is suspended, `due` is unset, and
    `remaining_seconds` is the time that will be left when the process continues.
    """

    id: str
    ask: AskName
    alias: str
    round: int = 0
    due: datetime | None = None
    remaining_seconds: int | None = None
    subject: str = ""
    others: int | None = Field(
        default=None,
        description="Of `consent`: how many others would take part at most, the demander left out. Of `confirm_tension`: how many people were "
        "named at the start, whom confirming asks at once; unset: none.",
    )
    ends_answers: bool = Field(
        default=False,
        description="Of `residual` and `hole`: whether it goes back to the field or not, no answer is waited for after it.",
    )


class Snapshot(Value):
    """The row of a process in `processes` as of `seq`, and all its open asks."""

    process_id: str
    seq: int
    phase: Phase
    round: int
    waiting: bool
    grade: str = ""
    tension_text_id: str = ""
    suspended: tuple[str, ...] = Field(default=(), description="Codes of all causes of a suspension.")
    suspended_reason: str = ""
    deadline: datetime | None = None
    tokens: int = 0
    cost: str = "0"
    inbox: tuple[Waiting, ...] = Field(default=(), description="All open asks; a row not among them is closed.")


class Outbox(Value):
    """Events that are not in the records yet, and the snapshot after the last event.

    The outbox is written to the records before the next side effect.

    The outbox is in Temporal's history. To save space there, an event is serialised as a row without field names.
    """

    snapshot: Snapshot
    events: tuple[Event, ...] = ()

    @model_serializer(mode="wrap")
    def _as_rows(self, whole: SerializerFunctionWrapHandler) -> dict[str, Any]:
        shown: dict[str, Any] = whole(self)
        if self.events:
            shown["events"] = [[event.seq, event.kind.value, event.at.isoformat(), event.data] for event in self.events]
        return shown

    @field_validator("events", mode="before")
    @classmethod
    def _of_rows(cls, given: Any) -> Any:
        return [
            dict(zip(Event.model_fields, event, strict=True)) if isinstance(event, list) else event for event in given
        ]
