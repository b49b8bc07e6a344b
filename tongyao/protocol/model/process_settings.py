"""The settings of one process, fixed when it starts (docs/protocol.md §10). All times are in seconds."""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from typing import Final, Literal

from pydantic import Field, model_validator

from tongyao.protocol.model.projection import EndpointKind
from tongyao.protocol.model.value import Value

MINUTE: Final = 60
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR

MAX_ROUNDS: Final = 7
"""Most rounds before the demander is asked for a decision (000, property 5: every measured run needed at most five)."""

MAX_PARTICIPANTS: Final = 8
"""8 participants make 28 pairs. The catalyst was not measured with more pairs (000 and 002)."""

REMINDERS: Final = (0.5, 0.9)
"""The shares of a deadline's time after which reminders are sent."""


class Fallback(StrEnum):
    """The action when a person lets the deadline of a turn pass."""

    LAPSE = "lapse"
    PROXY = "proxy"
    LEAVE = "leave"


def to_proxy(endpoint: EndpointKind, fallback: Fallback | None) -> bool:
    """Whether a switch to `endpoint` and `fallback` lets a proxy speak, at once or after a deadline."""
    return endpoint is EndpointKind.PROXY or fallback is Fallback.PROXY


class Residuals(StrEnum):
    """Whether residual tensions start child processes: never, after the demander's approval, or automatically."""

    OFF = "off"
    ASK = "ask"
    AUTO = "auto"


class ProcessSettings(Value):
    """The settings of a process. The defaults are those of the protocol."""

    language: Literal["zh", "en"] = Field(default="en", description="Unless a start names one, that of the intent.")
    auto_confirm: bool = Field(default=False, description="Confirm at once, grade C included (`--yes`).")
    confirm_children: bool = Field(
        default=False, description="The demander confirms the tension of a child; unset, only one of grade C."
    )
    auto_start: bool = Field(default=False, description="Start with the nearest people without asking the demander.")
    open_record: bool = Field(default=True, description="After the plan, participants may read projections by alias.")
    aliases_as_named: bool = Field(
        default=False, description="Aliases in the order in which people were named, for playing a recording."
    )
    demander_takes_part: bool = Field(
        default=False, description="P00 sits in the room as one more participant; not verified by the seeds."
    )
    demander_endpoint: EndpointKind = Field(
        default=EndpointKind.HUMAN, description="Endpoint of P00, in a seat of their own or about gaps."
    )
    strategy: str = Field(default="", description="Text id of the demander's wish for the catalyst's attention.")

    max_participants: int = Field(
        default=MAX_PARTICIPANTS, ge=2, le=MAX_PARTICIPANTS, description="Seats in one room, P00's among them."
    )
    quorum: int = Field(
        default=2,
        ge=1,
        le=MAX_PARTICIPANTS,
        description="Fewer active participants: the demander decides how to go on.",
    )
    max_rounds: int = Field(
        default=MAX_ROUNDS, ge=2, le=20, description="Number of rounds after which the demander decides."
    )
    fallback: Fallback = Field(
        default=Fallback.LAPSE, description="A person's turn at its deadline, where they chose nothing themselves."
    )

    confirm_seconds: int = Field(
        default=300, ge=1, description="Seconds after which a tension confirms itself; one of grade C never does."
    )
    proxy_seconds: int = Field(
        default=120, ge=1, description="Seconds of one call for a proxy; catalyst 4, plan 5 times as long."
    )
    delegated_seconds: int = Field(
        default=7 * DAY, ge=1, description="Seconds that a model call waits for an answer from outside."
    )
    turn_seconds: int = Field(default=72 * HOUR, ge=1, description="Seconds of a person's or an agent's turn.")
    correcting_seconds: int = Field(
        default=2 * MINUTE,
        ge=0,
        description="Seconds that a round stays open after the last words of a person, for corrections.",
    )
    deciding_seconds: int = Field(
        default=7 * DAY, ge=1, description="Seconds for a decision; then the result is accepted as it is."
    )
    deciding_alone_seconds: int = Field(
        default=HOUR,
        ge=1,
        description="Seconds for a decision if nobody but the demander is a person, at most `deciding_seconds`.",
    )
    answering_seconds: int = Field(default=7 * DAY, ge=1, description="Seconds for answers to the plan.")
    children_seconds: int = Field(default=30 * DAY, ge=1, description="Seconds that children are waited for.")
    process_seconds: int = Field(default=60 * DAY, ge=1, description="Seconds of the whole process.")

    residuals: Residuals = Field(
        default=Residuals.ASK, description="Whether what stays unresolved becomes a process of its own."
    )
    depth_limit: int = Field(default=1, ge=0, le=5, description="Generations of children below the root.")
    wait_for_children: bool = Field(
        default=True,
        description="Wait for children that were begun before the end, and plan once more when they have ended.",
    )
    propose_parents_participants: bool = Field(
        default=True, description="The field may find people of the parent's room for a child."
    )

    token_budget: int | None = Field(default=None, ge=1, description="Tokens of the whole tree; unset: no limit.")
    cost_budget: Decimal | None = Field(
        default=None, gt=0, description="US dollars of the whole tree; unset: no limit."
    )

    @property
    def max_others(self) -> int:
        """Most participants besides the demander. A demander who takes part occupies one of the eight seats."""
        return self.max_participants - self.demander_takes_part

    @model_validator(mode="after")
    def _agree(self) -> ProcessSettings:
        if self.quorum > self.max_others:
            besides = ", one of whom is the demander" if self.demander_takes_part else ""
            raise ValueError(
                f"quorum {self.quorum} is above max_participants {self.max_participants}{besides}: "
                "rounds could never go on"
            )
        if self.residuals is Residuals.AUTO and self.depth_limit == 0:
            raise ValueError(
                "residuals `auto` with depth_limit 0 contradict each other: set a depth, or residuals `off`"
            )
        if self.turn_seconds > self.process_seconds:
            raise ValueError("a person's turn may not last longer than the whole process")
        return self
