"""What happened: the closed vocabulary of events, and the outbox that carries them to the records (docs/protocol.md §11).

An event holds ids, counts and names of states, never a text. `seq` is allotted by the process, from 1, without holes.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import Field, JsonValue, SerializerFunctionWrapHandler, field_validator, model_serializer

from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.value import Value


class EventKind(StrEnum):
    """What happened. Beside each kind in tongyao/protocol/model/events.py stand the keys of its `data`."""

    PROCESS_STARTED = "process_started"  # [depth]
    PHASE_CHANGED = "phase_changed"  # [from, to]
    FORMULATION_READY = "formulation_ready"  # [grade, barriers, fallback]
    TENSION_REVISED = "tension_revised"  # [grade]
    TENSION_CONFIRMED = "tension_confirmed"  # [by: person | timer | setting]
    FIELD_ACTIVATED = "field_activated"  # [candidates: [[profile id, perspective, score (not shown to anybody)]], round: of those found later]
    CONSENT_ASKED = "consent_asked"  # [number]; of one person who is asked whether a proxy may speak for them
    CONSENT_ANSWERED = "consent_answered"  # [number]; yes, no, or the time is over: which of these is told to nobody
    CONSENT_CLOSED = "consent_closed"  # [asked, allowed]; counts. Asked are also those whose answer was known before
    PARTICIPANTS_SELECTED = "participants_selected"  # [aliases]
    PARTICIPANT_JOINED = "participant_joined"  # [alias, round]
    PARTICIPANT_LEFT = "participant_left"  # [alias, round]
    ROUND_OPENED = "round_opened"  # [round, aliases]
    TURN_WAITING = "turn_waiting"  # [alias, round, due]
    REMINDER = "reminder"  # [alias, round, share]; of somebody who is invited: [number, share]
    DEADLINE_EXTENDED = "deadline_extended"  # [alias, due]
    ESCALATED = "escalated"  # [alias, round]
    ENDPOINT_SWITCHED = "endpoint_switched"  # [alias, to, fallback]
    MANDATE_CHANGED = "mandate_changed"  # [alias]
    WORDS_ARRIVED = "words_arrived"  # [alias, round]; of a person or their agent, not yet sorted
    PROJECTION_RECEIVED = "projection_received"  # [alias, round, outcome, items, struck]
    GATE_COMPLETE = "gate_complete"  # [round]
    OBSERVATION_READY = (
        "observation_ready"  # [round, verdict, relations, inferred, struck, news, new_links, new_quotes]
    )
    CONVERGED = "converged"  # [round, reason]
    CONCLUDED = "concluded"  # [round, phase]
    DECISION_NEEDED = "decision_needed"  # [cause]
    DECIDED = "decided"  # [decision, by: person | timer, without: of a re-plan, the aliases that it leaves out]
    BUDGET_WARNING = "budget_warning"  # [share]
    SUSPENDED = "suspended"  # [code, reason, kind, since: when process time stopped]
    RESUMED = "resumed"  # [code]; the cause that is gone
    OPERATOR_ACTED = "operator_acted"  # [message, login]
    PLAN_READY = "plan_ready"  # [revision, claims, supported, residuals, reduced]
    DELIVERY_READY = "delivery_ready"  # [alias, revision]
    ANSWER_RECEIVED = "answer_received"  # [alias, decision, revision, text_id]
    RESIDUAL_OPEN = "residual_open"  # [residual]
    RESIDUAL_APPROVED = "residual_approved"  # [residual]; it goes back to the field
    CHILD_STARTED = "child_started"  # [child, residual]
    CHILD_REFUSED = "child_refused"  # [residual, reason: declined (the demander said no) | depth | duplicate | budget | unknown | nothing | nobody | cancelled]
    CHILD_FINISHED = "child_finished"  # [child, residual, outcome]
    STEP_SKIPPED = "step_skipped"  # [step, reason]; a step that a process can do without
    MESSAGE_REFUSED = "message_refused"  # [message, code]; of signals only: an update's refusal goes to its sender
    PROCESS_ENDED = "process_ended"  # [outcome]


class Event(Value):
    """One transition of one process."""

    seq: int = Field(ge=1)
    kind: EventKind
    at: datetime
    data: dict[str, JsonValue] = Field(default_factory=dict)


class Ask(StrEnum):
    """What somebody is asked for: a row in their inbox."""

    CONFIRM_TENSION = "confirm_tension"
    SELECT_PARTICIPANTS = "select_participants"
    PROJECTION = "projection"
    DECISION = "decision"
    ANSWER = "answer"
    RESIDUAL = "residual"
    HOLE = "hole"
    CONSENT = "consent"
    RESUME = "resume"


class Waiting(Value):
    """One thing that waits for one party. The row is known by (process, ask, alias, round).

    `subject`: the residual, or the profile id of somebody who is invited. While the process is suspended `due` is unset, and
    `remaining_seconds` says how much time will be left when it goes on.
    """

    ask: Ask
    alias: str
    round: int = 0
    due: datetime | None = None
    remaining_seconds: int | None = None
    subject: str = ""
    others: int | None = Field(
        default=None, description="Of `consent`: how many others would take part at most, the demander left out."
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
            shown["events"] = [[one.seq, one.kind.value, one.at.isoformat(), one.data] for one in self.events]
        return shown

    @field_validator("events", mode="before")
    @classmethod
    def _of_rows(cls, given: Any) -> Any:
        return [dict(zip(Event.model_fields, one, strict=True)) if isinstance(one, list) else one for one in given]
