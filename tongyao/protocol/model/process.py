"""The state of one process and its legal transitions (docs/protocol.md §3)."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Final, Literal

from pydantic import BaseModel, Field

from tongyao.protocol.model.projection import EndpointKind, Outcome
from tongyao.protocol.model.settings import Fallback
from tongyao.protocol.model.tension import Grade
from tongyao.protocol.model.value import Value
from tongyao.protocol.rules.convergence import RoundResult
from tongyao.protocol.rules.lineage import hole_id

DEMANDER: Final = "P00"
"""The alias of whoever brought the intent."""


class Phase(StrEnum):
    FORMULATING = "formulating"
    CONFIRMING = "confirming"
    DISCOVERING = "discovering"
    SELECTING = "selecting"
    CRYSTALLIZING = "crystallizing"
    DECIDING = "deciding"
    PLANNING = "planning"
    DELIVERING = "delivering"
    ANSWERING = "answering"
    AWAITING_CHILDREN = "awaiting_children"
    COMPLETED = "completed"
    SUSPENDED = "suspended"
    ABANDONED = "abandoned"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    FAILED = "failed"

    @property
    def ended(self) -> bool:
        return self in ENDED


ENDED: Final = frozenset({Phase.COMPLETED, Phase.ABANDONED, Phase.CANCELLED, Phase.EXPIRED, Phase.FAILED})

_STEPS: Final[dict[Phase, frozenset[Phase]]] = {
    Phase.FORMULATING: frozenset({Phase.CONFIRMING}),
    Phase.CONFIRMING: frozenset({Phase.DISCOVERING, Phase.SELECTING}),
    Phase.DISCOVERING: frozenset({Phase.SELECTING}),
    Phase.SELECTING: frozenset({Phase.CRYSTALLIZING}),
    Phase.CRYSTALLIZING: frozenset({Phase.DECIDING, Phase.PLANNING}),
    Phase.DECIDING: frozenset({Phase.CRYSTALLIZING, Phase.PLANNING}),
    Phase.PLANNING: frozenset({Phase.DELIVERING}),
    Phase.DELIVERING: frozenset({Phase.ANSWERING, Phase.AWAITING_CHILDREN, Phase.COMPLETED}),
    Phase.ANSWERING: frozenset({Phase.PLANNING, Phase.AWAITING_CHILDREN, Phase.COMPLETED}),
    Phase.AWAITING_CHILDREN: frozenset({Phase.PLANNING, Phase.COMPLETED}),
}

_FROM_ANYWHERE: Final = frozenset({Phase.SUSPENDED, Phase.ABANDONED, Phase.CANCELLED, Phase.EXPIRED, Phase.FAILED})


class IllegalTransition(ValueError):
    """A step the protocol does not know. The message names both states."""

    def __init__(self, origin: Phase, target: Phase) -> None:
        super().__init__(f"a process cannot go from {origin} to {target}")
        self.origin = origin
        self.target = target


class TensionRef(Value):
    """A stored tension as the workflow knows it: where it is and what control needs of it; never its words."""

    text_id: str
    grade: Grade
    barriers: int = Field(ge=1)


class ProfileRef(Value):
    """One version of one profile."""

    profile_id: str
    version: int = Field(ge=1)


class Choice(Value):
    """A participant as chosen, before there are aliases. `endpoint` and `fallback` override the process's defaults."""

    profile_id: str
    endpoint: EndpointKind = EndpointKind.PROXY
    fallback: Fallback | None = None


class Seat(BaseModel):
    """A participant inside a process."""

    alias: str
    profile: ProfileRef | None = Field(default=None, description="None: a demander who takes part and has no profile.")
    endpoint: EndpointKind = EndpointKind.PROXY
    fallback: Fallback = Fallback.LAPSE
    joined_round: int = 1
    active: bool = True
    long: bool = Field(default=False, description="The profile is shown in retrieved pieces, not as a whole.")


class Turn(BaseModel):
    """One seat's turn in the current round. `due` only where a person or their agent is waited for."""

    alias: str
    round: int
    outcome: Outcome | None = None
    due: datetime | None = None
    submission: str | None = Field(default=None, description="Text id of what the person said.")
    nothing_new: bool = False
    author: EndpointKind | None = Field(default=None, description="Who spoke, when not the seat's present endpoint.")
    revision: int = 0

    @property
    def open(self) -> bool:
        return self.outcome is None

    @property
    def answered(self) -> bool:
        """Whether a person or their agent has said something in it, taken down or not."""
        return self.submission is not None or self.nothing_new


class Spent(BaseModel):
    """What a process has used: tokens of every kind, and US dollars."""

    tokens: int = 0
    cost: Decimal = Decimal(0)
    calls: int = 0


class DecidingCause(StrEnum):
    LIMIT = "limit"
    QUORUM = "quorum"
    BUDGET = "budget"


class State(BaseModel):
    """Everything the workflow owns. Serialisable, and without a single text."""

    process_id: str
    phase: Phase = Phase.FORMULATING
    seq: int = 0
    resume_to: Phase | None = None
    suspended_reason: str = ""
    suspended_at: datetime | None = None
    resumptions: int = 0
    tension: TensionRef | None = None
    demander_profile: str = Field(default="", description="Profile id of the demander, when there is one.")
    confirmed: bool = False
    selected: tuple[Choice, ...] | None = None
    seats: dict[str, Seat] = Field(default_factory=dict)
    newcomers: tuple[Choice, ...] = ()
    round: int = 0
    round_limit: int = 7
    gate_open: bool = Field(default=False, description="The round still waits for turns; closed, its words are final.")
    due: datetime | None = Field(default=None, description="When the present phase ends by itself.")
    turns: dict[str, Turn] = Field(default_factory=dict)
    results: list[RoundResult] = Field(default_factory=list)
    concluded: bool = False
    quorum_waived: bool = False
    deciding_cause: DecidingCause | None = None
    decision: str | None = None
    token_budget: int | None = None
    cost_budget: Decimal | None = None
    spent: Spent = Field(default_factory=Spent)
    plan_revision: int = 0
    replan_without: tuple[str, ...] = ()
    answers: dict[str, str] = Field(default_factory=dict)
    may_branch: bool = Field(
        default=False, description="Residuals may go back to the field: settings and depth allow it."
    )
    residuals: tuple[str, ...] = ()
    approved: tuple[str, ...] = Field(default=(), description="Residuals whose children are to be started.")
    refused_residuals: tuple[str, ...] = ()
    children: dict[str, str] = Field(default_factory=dict, description="Residual id → child process id.")
    ended_children: dict[str, str] = Field(default_factory=dict, description="Child process id → its outcome.")
    cancel_requested: bool = False
    cancel_branch: bool = False
    applied: dict[str, str] = Field(default_factory=dict, description="`author/key` of every message → its verdict.")

    def move(self, target: Phase) -> Phase:
        """Go to `target` and return the phase left. Raises `IllegalTransition`."""
        origin = self.phase
        if not legal(origin, target, resume_to=self.resume_to):
            raise IllegalTransition(origin, target)
        self.resume_to = origin if target is Phase.SUSPENDED else None
        self.phase = target
        return origin

    @property
    def present(self) -> tuple[str, ...]:
        """Aliases still in the room, in order."""
        return tuple(sorted(alias for alias, seat in self.seats.items() if seat.active))

    @property
    def others(self) -> tuple[str, ...]:
        """Aliases still in the room beside the demander, who may have a seat as well."""
        return tuple(alias for alias in self.present if alias != DEMANDER)

    @property
    def waiting_for(self) -> tuple[Turn, ...]:
        """Turns in which people and their agents have yet to say something, in alias order."""
        turns = (turn for _, turn in sorted(self.turns.items()))
        return tuple(turn for turn in turns if turn.open and turn.due is not None and not turn.answered)

    @property
    def waiting(self) -> bool:
        """Whether the process waits for a person rather than for a machine."""
        if self.phase is Phase.CRYSTALLIZING:
            return bool(self.waiting_for)
        if self.phase is Phase.AWAITING_CHILDREN:
            return bool(self.undecided)
        return self.phase in _WAITS_FOR_PEOPLE

    @property
    def undecided(self) -> tuple[str, ...]:
        """Residual tensions of which the demander has not said whether they go back to the field."""
        decided = {*self.children, *self.approved, *self.refused_residuals}
        return tuple(residual for residual in self.residuals if residual not in decided)

    @property
    def to_start(self) -> tuple[str, ...]:
        """Approved residuals that have no child yet, and may have one."""
        done = {*self.children, *self.refused_residuals}
        return tuple(residual for residual in self.approved if residual not in done)

    @property
    def children_open(self) -> bool:
        """Whether something may still come back from below, or be sent there."""
        running = set(self.children.values()) - set(self.ended_children)
        return bool(self.undecided or self.to_start or running)

    @property
    def may_replan(self) -> bool:
        """Somebody declined, and the plan was not made anew yet: the demander may still do without them."""
        return self.plan_revision == 1 and "decline" in self.answers.values()

    @property
    def decline_open(self) -> bool:
        """Of somebody who declined the first plan the demander has not said what follows: a plan without them, a child
        for the hole they leave, or neither."""
        holes = {hole_id(self.plan_revision, alias) for alias, answer in self.answers.items() if answer == "decline"}
        return self.may_replan and (not self.may_branch or bool(holes & set(self.undecided)))


_WAITS_FOR_PEOPLE: Final = frozenset(
    {Phase.CONFIRMING, Phase.SELECTING, Phase.DECIDING, Phase.ANSWERING, Phase.SUSPENDED}
)


def legal(origin: Phase, target: Phase, *, resume_to: Phase | None = None) -> bool:
    """Whether a process may go from `origin` to `target`. A suspended one goes back to `resume_to`, or ends."""
    if origin.ended:
        return False
    if origin is Phase.SUSPENDED:
        return target is resume_to or target in ENDED - {Phase.COMPLETED}
    return target in _STEPS[origin] or target in _FROM_ANYWHERE


def next_alias(taken: int) -> str:
    """`P01` for the first participant given an alias, and so on; never used again in the process."""
    return f"P{taken + 1:02d}"


Role = Literal["demander", "participant", "operator"]
