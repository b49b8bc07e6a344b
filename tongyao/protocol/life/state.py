"""The state of one process: all data that determines its next steps, without texts. Also its outbox, with the events
that are not yet in the records (docs/protocol.md §11), and the steps that it wants to run.

Models are changed in place. Deadlines are in *process time*, without suspensions, so a resumption moves no deadline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final, Literal

from pydantic import BaseModel, Field, JsonValue

from tongyao.protocol.contracts.process import ActivityContract, ActivityInput, DiscoverOutput, ProcessInput
from tongyao.protocol.model.events import Event, EventKind
from tongyao.protocol.model.ids import hole_id
from tongyao.protocol.model.messages import CALLS_LANE, Decision
from tongyao.protocol.model.process import DEMANDER, Choice, DecidingCause, Phase, Seat, Spent, TensionRef
from tongyao.protocol.model.projection import EndpointKind, Outcome
from tongyao.protocol.model.value import Value
from tongyao.protocol.rules.convergence import RoundResult

LOGIC: Final = 1
"""The newest version of the rules. A process keeps its version until it continues as new (docs/protocol.md §11.4)."""

CARRIED_LOGIC: Final = (1,)
"""All versions that open processes may still follow."""


class Cause(BaseModel):
    """A cause of a suspension."""

    kind: Literal["operator", "infrastructure"]
    code: str = Field(description="A closed word, shown in the search attribute `TongyaoSuspended`.")
    reason: str = Field(default="", description="What was wrong, for operators.")
    since: datetime
    tries: int = 0
    retry_at: datetime | None = Field(
        default=None,
        description="Of infrastructure only: when the step is tried again; None: a try may run now.",
    )


class Deadline(BaseModel):
    """A deadline in process time. `due = asked + term + extended + given_back`, exactly."""

    number: int = Field(description="Of this process: no two deadlines share one.")
    whose: str = Field(
        default="", description="An alias, `invited/<number>`, or `calls`: of a step. Empty: of the present phase."
    )
    asked_at: datetime = Field(description="Wall time at which the question was asked.")
    asked: timedelta
    term: timedelta
    extended: timedelta = timedelta(0)
    given_back: timedelta = Field(default=timedelta(0), description="For how long messages could not be handed in.")
    reminders: int = Field(default=0, description="How many of the two reminders were given.")
    check_at: timedelta | None = Field(
        default=None, description="When to look again for messages that were handed in and have not arrived."
    )
    checks: int = Field(default=0, description="How many checks have run or are running.")
    passed: bool = Field(default=False, description="The time is over: its check is wanted.")

    @property
    def due(self) -> timedelta:
        return self.asked + self.term + self.extended + self.given_back

    @property
    def reminds(self) -> bool:
        """Whether it is the deadline of a turn or an invitation."""
        return self.whose not in ("", CALLS_LANE)

    @property
    def next_check(self) -> timedelta:
        return self.due if self.check_at is None else max(self.due, self.check_at)


class Words(Value):
    """A stored text of a person or their agent. `round`: the round that its message names."""

    lane: str
    round: int
    text_id: str


class Turn(BaseModel):
    """One turn in the current round. A participant who is not asked has a turn only if they speak.

    A demander without a seat has a turn in rounds in which they answer gaps. It counts only for the record.
    """

    alias: str
    outcome: Outcome | None = None
    deadline: Deadline | None = Field(default=None, description="Set while a person or their agent is waited for.")
    words: list[Words] = Field(default_factory=list, description="What was said, in the order in which it was said.")
    nothing_new: bool = Field(default=False, description="The person said that there is nothing new.")
    author: EndpointKind | None = Field(default=None, description="Who spoke, or speaks.")
    revision: int = Field(default=0, description="Counts what is said in this turn: the model call's key holds it.")
    batch: int = Field(default=0, description="The step that brings the turn into the record; 0: none yet.")
    reason: str = Field(default="", description="Of a failed turn: the closed word of the model call.")
    extended_by_self: bool = False
    taken_back: int = Field(default=0, description="How often its person took over while their proxy's call ran.")

    @property
    def open(self) -> bool:
        return self.outcome is None

    @property
    def answered(self) -> bool:
        """Whether a person or their agent has spoken in the turn."""
        return bool(self.words) or self.nothing_new

    @property
    def waits(self) -> bool:
        """Whether the turn waits for a person or their agent."""
        return self.open and self.deadline is not None and not self.answered


class InvitedPerson(BaseModel):
    """A person who is asked for consent, before they have a seat or an alias."""

    number: int
    choice: Choice
    deadline: Deadline | None = None
    allowed: bool | None = Field(default=None, description="None: not known yet.")

    @property
    def waits(self) -> bool:
        return self.allowed is None and self.deadline is not None


class Parked(BaseModel):
    """A step with model calls that wait for answers from outside. It runs again when all are answered or overdue."""

    calls: tuple[str, ...] = Field(default=(), description="Ids of the calls that wait.")
    deadline: Deadline | None = Field(default=None, description="None once it is over.")


class ResidualOutcome(BaseModel):
    """The state of one residual tension of a plan."""

    status: Literal["open", "approved", "refused", "started", "ended"] = "open"
    child: str = ""
    outcome: str = ""


class State(BaseModel):
    """All data of the workflow, serialisable. The functions of `machine` read and change it."""

    start: ProcessInput
    started_at: datetime
    seed: str = Field(description="The id of the first run of the process. Decides the order of aliases.")
    logic: int = LOGIC
    upgrade_wanted: bool = Field(default=False, description="Continue as new, under the newest rules.")
    draining: tuple[str, ...] | None = Field(
        default=None,
        description="Set by the workflow while it starts no step because it is to continue as new: keys of the steps that still run.",
    )
    phase: Phase = Phase.FORMULATING

    seq: int = Field(default=0, description="Events allotted so far.")
    outbox: list[Event] = Field(default_factory=list, description="Events that are not yet in the records.")
    urgent: int = Field(default=0, description="The last event that should be written without waiting for a step.")

    causes: dict[str, Cause] = Field(default_factory=dict, description="Why the process is suspended.")
    stopped_at: datetime | None = Field(default=None, description="Since when process time stands.")
    stopped_for: timedelta = Field(default=timedelta(0), description="For how long it has stood, before `stopped_at`.")
    resumed_at: datetime | None = None
    deadline: Deadline | None = Field(default=None, description="Of the present phase.")
    deadlines_set: int = Field(default=0, description="How many deadlines were set so far.")

    tension: TensionRef | None = None
    revisions: int = Field(default=0, description="How often the tension was revised.")
    selected: tuple[Choice, ...] = Field(
        default=(), description="Who was chosen; once consents are known, who is to be seated."
    )
    invitations: list[InvitedPerson] = Field(default_factory=list)
    invited: int = Field(default=0, description="Invitations given so far; each has a number of its own.")
    consents_known: bool = Field(default=False, description="Whose consent is needed is known.")
    others_expected: int = Field(
        default=0, description="How many would sit beside the demander if all the chosen took part, as they were told."
    )
    refused: int = Field(default=0, description="How many of the chosen take no part and were not asked.")
    without_proxy: tuple[str, ...] = Field(
        default=(), description="Profile ids of the chosen for whom a person or an agent speaks, and no proxy may."
    )
    seatings: int = Field(default=0, description="How often people were asked to take part, this time included.")
    seats: dict[str, Seat] = Field(default_factory=dict)

    round: int = 0
    round_limit: int = 7
    gate_open: bool = Field(default=False, description="The round still waits for turns; closed, its words are final.")
    turns: dict[str, Turn] = Field(default_factory=dict)
    batches: int = 0
    correcting_until: timedelta | None = Field(default=None, description="Until when words may be corrected.")
    parked: dict[str, Parked] = Field(default_factory=dict, description="Steps that wait for answers, by key.")
    answered_calls: tuple[str, ...] = Field(
        default=(), description="Calls that were answered before their step had returned."
    )
    late_words: dict[str, list[Words]] = Field(default_factory=dict, description="Alias → words for the next round.")
    concerned: tuple[str, ...] = Field(
        default=(), description="Aliases that observations have concerned since they were last asked."
    )
    ask_demander: bool = Field(default=False, description="A gap asks the demander in the next round.")
    demander_asked: int = Field(
        default=0, description="Since which round the demander, who has no seat, is asked in person; 0: they are not."
    )
    results: list[RoundResult] = Field(default_factory=list)
    concluded: bool = Field(default=False, description="What the present phase waits for is waited for no longer.")
    unconverged: bool = False
    quorum_waived: bool = False
    deciding_cause: DecidingCause | None = None
    decisions: int = Field(default=0, description="How often the demander was asked how to go on, this time included.")
    decision: Decision | None = None

    token_budget: int | None = None
    cost_budget: Decimal | None = None
    spent: Spent = Field(default_factory=Spent)
    budget_refused: bool = Field(
        default=False, description="A call was not made because the budget could not cover it."
    )
    budget_warned: bool = False

    plan_revision: int = 0
    plan_has_parts: bool = Field(
        default=True, description="Whether the present plan has a claim or a task for anybody."
    )
    proposals: tuple[str, ...] = Field(default=(), description="Aliases whose proposals the next plan takes up.")
    replanned: bool = False
    folded: bool = Field(default=False, description="The plans of children are folded in.")
    left_out: tuple[str, ...] = Field(default=(), description="Aliases that a re-plan does without.")
    answers: dict[str, str] = Field(default_factory=dict, description="Alias → answer to the present plan.")
    residuals: dict[str, ResidualOutcome] = Field(default_factory=dict)
    cancel_branch: bool = Field(default=False, description="Children are to be cancelled too.")
    closed: list[str] = Field(default_factory=list, description="Closing steps that are done or were passed over.")

    lanes: dict[str, int] = Field(default_factory=dict, description="Lane → number of its last applied message.")

    # ---- derived properties

    @property
    def process_id(self) -> str:
        return self.start.process_id

    @property
    def suspended(self) -> bool:
        return bool(self.causes)

    @property
    def present(self) -> tuple[str, ...]:
        """Aliases of people still in the room, in order."""
        return tuple(sorted(alias for alias, seat in self.seats.items() if seat.active))

    @property
    def excluded(self) -> tuple[str, ...]:
        """Profile ids that the field leaves out: people in the room, the demander, and those given at the start."""
        seated = tuple(seat.profile.profile_id for seat in self.seats.values() if seat.profile)
        own = (self.start.demander_profile.profile_id,) if self.start.demander_profile else ()
        return (*self.start.excluded, *seated, *own)

    @property
    def others(self) -> tuple[str, ...]:
        """Aliases in the room without the demander."""
        return tuple(alias for alias in self.present if alias != DEMANDER)

    @property
    def people(self) -> tuple[str, ...]:
        """Aliases in the room for whom a person or their own agent speaks."""
        return tuple(alias for alias in self.present if self.endpoint_of(alias) is not EndpointKind.PROXY)

    @property
    def seat_turns(self) -> dict[str, Turn]:
        """The turns of seats, by alias in order. Only they count for quorum, silence and coverage."""
        return {alias: turn for alias, turn in sorted(self.turns.items()) if alias in self.seats}

    def endpoint_of(self, alias: str) -> EndpointKind:
        """Return the endpoint of a seat, or of a demander without a seat."""
        if self.start.fork is not None:
            return EndpointKind.PROXY  # the step takes people's words from the origin
        return self.seats[alias].endpoint if alias in self.seats else self.start.settings.demander_endpoint

    @property
    def waiting_for(self) -> tuple[Turn, ...]:
        """Turns that wait for people or their agents, in alias order."""
        return tuple(turn for _, turn in sorted(self.turns.items()) if turn.waits)

    @property
    def may_branch(self) -> bool:
        """Whether children may be started for residual tensions."""
        return self.start.settings.residuals != "off" and self.start.depth < self.start.settings.depth_limit

    @property
    def undecided(self) -> tuple[str, ...]:
        """Residual tensions on which the demander has not decided."""
        return tuple(name for name, residual in self.residuals.items() if residual.status == "open")

    @property
    def children_open(self) -> bool:
        """Whether a child is approved or running."""
        return any(residual.status in ("approved", "started") for residual in self.residuals.values())

    @property
    def only_residuals(self) -> bool:
        """Whether the process waits only for decisions on residuals, because nobody is asked to answer the plan."""
        return bool(self.undecided) and not self.asked_for_answers

    @property
    def asked_for_answers(self) -> tuple[str, ...]:
        """Aliases who are asked to answer the current plan. Nobody is asked about a plan without parts."""
        return tuple(alias for alias in self.people if alias not in self.left_out) if self.plan_has_parts else ()

    @property
    def all_answered(self) -> bool:
        return set(self.asked_for_answers) <= set(self.answers)

    @property
    def open_points(self) -> tuple[str, ...]:
        """Aliases with a decline or proposal to which the demander may still react with a new plan, and has not
        reacted.
        """

        def is_open(alias: str, given: str) -> bool:
            hole = self.residuals.get(hole_id(self.plan_revision, alias))
            return given == "propose" or (given == "decline" and (hole is None or hole.status == "open"))

        return (
            () if self.replanned else tuple(alias for alias, one in sorted(self.answers.items()) if is_open(alias, one))
        )

    @property
    def last_residual(self) -> str | None:
        """The residual whose decision would end the phase `answering`; None if the phase waits for anything else."""
        if self.phase is not Phase.ANSWERING or not self.all_answered:
            return None
        points = {hole_id(self.plan_revision, alias) for alias in self.open_points}
        waited_for = points | set(self.undecided) if self.only_residuals else points
        return next(iter(waited_for & set(self.undecided)), None) if len(waited_for) == 1 else None

    @property
    def completed_children(self) -> tuple[str, ...]:
        """Ids of completed children."""
        return tuple(sorted(one.child for one in self.residuals.values() if one.outcome == Phase.COMPLETED))

    @property
    def over_budget(self) -> bool:
        spent = self.spent
        return (
            self.budget_refused
            or (self.token_budget is not None and spent.tokens >= self.token_budget)
            or (self.cost_budget is not None and spent.cost >= self.cost_budget)
        )


def note(state: State, kind: EventKind, now: datetime, /, **data: JsonValue) -> None:
    """Add an event to the outbox."""
    state.seq += 1
    state.outbox.append(Event(seq=state.seq, kind=kind, at=now, data=data))
    if kind.urgent:
        state.urgent = state.seq


def note_found(state: State, found: DiscoverOutput, now: datetime) -> None:
    """Add the event of people whom the field found, before the rounds or as possible additions to them."""
    candidates: list[JsonValue] = [[one.profile_id, one.perspective, round(one.score, 4)] for one in found.candidates]
    later: dict[str, JsonValue] = {"round": state.round} if state.round else {}
    note(state, EventKind.FIELD_ACTIVATED, now, **{"candidates": candidates, **later})


def written(state: State, events: Iterable[int]) -> None:
    """Remove events (by number) that are now in the records."""
    gone = set(events)
    state.outbox = [event for event in state.outbox if event.seq not in gone]


def urgent(state: State) -> bool:
    """Whether the outbox must be written without waiting for another step."""
    return any(event.seq <= state.urgent for event in state.outbox)


RECORD_KEY = "record"
"""The key of the step that writes the outbox. It may run any number of times. Every other key succeeds at most once."""


@dataclass(frozen=True, slots=True)
class WantedStep:
    """A step that should be running. `input` is complete except for the outbox, which the workflow adds.

    `take`: applies the output to the state, and returns the next phase, or None. The output is None if an optional step
    failed.
    `split`: called if only an operator can fix the step's failure, or if it waits for answers. It may replace the step
    by smaller ones.
    `unanswered`: called if nobody answered its model calls in time. Without it the process is suspended.
    `held`: the step may continue if it runs, but may not be started, because the process is suspended.
    `optional`: the process can continue without the step. A failure is noted and skipped.
    """

    contract: ActivityContract[Any, Any]
    input: ActivityInput
    summary: str
    take: Callable[[State, Any, datetime], Phase | None] = field(default=lambda *_: None, compare=False, repr=False)
    split: Callable[[State], None] | None = field(default=None, compare=False, repr=False)
    unanswered: Callable[[State, datetime], None] | None = field(default=None, compare=False, repr=False)
    optional: bool = False
    held: bool = False


@dataclass(frozen=True, slots=True)
class Success:
    """A step's output, and the numbers of the events that it wrote."""

    output: Any
    events: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class StepFailure:
    """The failure of a step. `code`: a fixed word. `began`: the wall time at which the failed call was made."""

    kind: Literal["operator", "infrastructure"]
    code: str
    reason: str
    began: datetime
