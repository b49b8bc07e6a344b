"""Events: their closed vocabulary, and the outbox that carries them to the records (docs/protocol.md §11).

An event holds ids, counts and names of states, never a text. `seq` is allotted by the process, from 1, without holes.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from pydantic import Field, JsonValue, SerializerFunctionWrapHandler, field_validator, model_serializer

from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.value import Value


class EventKind(StrEnum):
    """The kinds of events. `DATA` has the keys of each kind's `data`."""

    PROCESS_STARTED = "process_started"
    PHASE_CHANGED = "phase_changed"
    FORMULATION_READY = "formulation_ready"
    TENSION_REVISED = "tension_revised"
    TENSION_CONFIRMED = "tension_confirmed"
    FIELD_ACTIVATED = "field_activated"
    CONSENT_ASKED = "consent_asked"
    CONSENT_ANSWERED = "consent_answered"
    CONSENT_CLOSED = "consent_closed"
    PARTICIPANTS_SELECTED = "participants_selected"
    PARTICIPANT_JOINED = "participant_joined"
    PARTICIPANT_LEFT = "participant_left"
    ROUND_OPENED = "round_opened"
    TURN_WAITING = "turn_waiting"
    DEMANDER_ASKED = "demander_asked"
    REMINDER = "reminder"
    DEADLINE_EXTENDED = "deadline_extended"
    ESCALATED = "escalated"
    ENDPOINT_SWITCHED = "endpoint_switched"
    MANDATE_CHANGED = "mandate_changed"
    WORDS_ARRIVED = "words_arrived"
    WORDS_UNUSED = "words_unused"
    PROJECTION_RECEIVED = "projection_received"
    GATE_COMPLETE = "gate_complete"
    OBSERVATION_READY = "observation_ready"
    CONVERGED = "converged"
    CONCLUDED = "concluded"
    DECISION_NEEDED = "decision_needed"
    DECIDED = "decided"
    BUDGET_WARNING = "budget_warning"
    SUSPENDED = "suspended"
    RESUMED = "resumed"
    PLAN_READY = "plan_ready"
    DELIVERY_READY = "delivery_ready"
    ANSWER_RECEIVED = "answer_received"
    RESIDUAL_OPEN = "residual_open"
    RESIDUAL_APPROVED = "residual_approved"
    CHILD_STARTED = "child_started"
    CHILD_REFUSED = "child_refused"
    CHILD_FINISHED = "child_finished"
    CALLS_WAITING = "calls_waiting"
    CALL_ANSWERED = "call_answered"
    STEP_SKIPPED = "step_skipped"
    MESSAGE_REFUSED = "message_refused"
    PROCESS_ENDED = "process_ended"


DATA: Final[Mapping[EventKind, str]] = {
    EventKind.PROCESS_STARTED: "depth",
    EventKind.PHASE_CHANGED: "from, to",
    EventKind.FORMULATION_READY: "grade, barriers, fallback",
    EventKind.TENSION_REVISED: "grade",
    EventKind.TENSION_CONFIRMED: "by: person | timer | setting",
    EventKind.FIELD_ACTIVATED: "candidates: [[profile id, perspective, score (not shown to anybody)]], round: of those found later",
    EventKind.CONSENT_ASKED: "number; of one person who is asked whether a proxy may speak for them",
    EventKind.CONSENT_ANSWERED: "number; yes, no, or the time is over: which of these is told to nobody",
    EventKind.CONSENT_CLOSED: "asked, allowed; counts. Asked are also those whose answer was known before",
    EventKind.PARTICIPANTS_SELECTED: "aliases",
    EventKind.PARTICIPANT_JOINED: "alias, round",
    EventKind.PARTICIPANT_LEFT: "alias, round",
    EventKind.ROUND_OPENED: "round, aliases",
    EventKind.TURN_WAITING: "alias, round, due",
    EventKind.DEMANDER_ASKED: "round; a gap asks the demander, who has no seat, and a person or their agent speaks for them",
    EventKind.REMINDER: "alias, round, share; of somebody who is invited: [number, share]",
    EventKind.DEADLINE_EXTENDED: "alias, due",
    EventKind.ESCALATED: "alias, round",
    EventKind.ENDPOINT_SWITCHED: "alias, to, fallback",
    EventKind.MANDATE_CHANGED: "alias",
    EventKind.WORDS_ARRIVED: "alias, round: in which they count; of a person or their agent",
    EventKind.WORDS_UNUSED: "alias, round; words for a round that never opened, or never closed",
    EventKind.PROJECTION_RECEIVED: "alias, round, outcome, items, struck",
    EventKind.GATE_COMPLETE: "round",
    EventKind.OBSERVATION_READY: "round, verdict, relations, notes, gaps, items, struck",
    EventKind.CONVERGED: "round, reason",
    EventKind.CONCLUDED: "round, phase",
    EventKind.DECISION_NEEDED: "cause",
    EventKind.DECIDED: "decision, by: person | timer, without: of a re-plan, the aliases that it leaves out",
    EventKind.BUDGET_WARNING: "share",
    EventKind.SUSPENDED: "code, reason, kind, since: when process time stopped",
    EventKind.RESUMED: "code; the cause that is gone",
    EventKind.PLAN_READY: "revision, claims, supported, residuals, reduced",
    EventKind.DELIVERY_READY: "alias, revision",
    EventKind.ANSWER_RECEIVED: "alias, decision, revision, text_id",
    EventKind.RESIDUAL_OPEN: "residual",
    EventKind.RESIDUAL_APPROVED: "residual; it goes back to the field",
    EventKind.CHILD_STARTED: "child, residual",
    EventKind.CHILD_REFUSED: "residual, reason: declined (the demander said no) | depth | duplicate | budget | unknown | nothing | nobody | cancelled",
    EventKind.CHILD_FINISHED: "child, residual, outcome",
    EventKind.CALLS_WAITING: "step, calls; how many model calls of it wait for an answer from outside",
    EventKind.CALL_ANSWERED: "call; its id",
    EventKind.STEP_SKIPPED: "step, reason; a step that a process can do without",
    EventKind.MESSAGE_REFUSED: "message, code; of signals only: an update's refusal goes to its sender",
    EventKind.PROCESS_ENDED: "outcome",
}
"""The keys of each kind's `data`, with what is to be known of them."""


class Event(Value):
    """One transition of one process."""

    seq: int = Field(ge=1)
    kind: EventKind
    at: datetime
    data: dict[str, JsonValue] = Field(default_factory=dict)


class Ask(StrEnum):
    """The kinds of asks (`life.asks`): each row of an inbox has one."""

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
    """One thing that waits for one party. `id`: by which messages name it, as `confirm/1` or `say/2/P03`; of its process.

    `round`: the round, or of an answer the revision of the plan. `subject`: the residual, the profile id of somebody who is invited, or the ids of model calls that wait for an answer. While the process is suspended `due` is unset, and
    `remaining_seconds` says how much time will be left when it goes on.
    """

    id: str
    ask: Ask
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
    """The row that `processes` holds of a process, as of `seq`; and everything that waits for somebody then."""

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


class SignalledText(Value):
    """A text that an operator sent by a signal: the only kind of text that passes through a workflow."""

    text_id: str
    owner: str
    kind: str
    body: str


class Outbox(Value):
    """Events not yet in the records, with the snapshot after the last of them. Written before the next side effect.

    It travels in every activity's input, and so into Temporal's history: there an event is a row, without the names.
    """

    snapshot: Snapshot
    events: tuple[Event, ...] = ()
    texts: tuple[SignalledText, ...] = ()

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
