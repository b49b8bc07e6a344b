"""Types for the state of a process: seats, choices, references (docs/protocol.md §3)."""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from typing import Final, Literal

from pydantic import BaseModel, Field

from tongyao.protocol.model.phase import ENDED as ENDED
from tongyao.protocol.model.phase import Phase as Phase
from tongyao.protocol.model.process_settings import Fallback
from tongyao.protocol.model.projection import EndpointKind
from tongyao.protocol.model.tension import Grade
from tongyao.protocol.model.value import Value

DEMANDER: Final = "P00"
"""The alias of the person who brought the intent."""

ROOM_OF_OTHERS: Final = 2
"""With fewer participants besides the demander, every statement could be attributed to one person."""


class TensionRef(Value):
    """A reference to a stored tension: its text id, and the data that the workflow needs for decisions."""

    text_id: str
    grade: Grade
    barriers: int = Field(ge=1)


class ProfileRef(Value):
    """One version of one profile."""

    profile_id: str
    version: int = Field(ge=1)


class Choice(Value):
    """A chosen participant who has no alias yet. `endpoint` and `fallback` override the process's defaults."""

    profile_id: str
    endpoint: EndpointKind = EndpointKind.PROXY
    fallback: Fallback | None = None


class Seat(BaseModel):
    """A participant of a process."""

    alias: str
    profile: ProfileRef | None = Field(default=None, description="None: a demander who takes part and has no profile.")
    endpoint: EndpointKind = EndpointKind.PROXY
    fallback: Fallback = Fallback.LAPSE
    joined_round: int = 1
    active: bool = True
    long: bool = Field(default=False, description="The profile is shown in retrieved pieces, not as a whole.")
    consented: bool = Field(default=False, description="The person allows a proxy to speak for them in this process.")


class Spent(BaseModel):
    """The use of model calls by a process: tokens of every kind, cost in US dollars, and number of calls."""

    tokens: int = 0
    cost: Decimal = Decimal(0)
    calls: int = 0


class DecidingCause(StrEnum):
    """The reason why the demander is asked for a decision."""

    LIMIT = "limit"
    QUORUM = "quorum"
    BUDGET = "budget"


Role = Literal["demander", "participant", "operator"]
