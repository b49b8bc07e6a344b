"""The words in which the state of a process is told: phases, seats, references (docs/protocol.md §3)."""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from typing import Final, Literal

from pydantic import BaseModel, Field

from tongyao.protocol.model.phase import ENDED as ENDED
from tongyao.protocol.model.phase import Phase as Phase
from tongyao.protocol.model.projection import EndpointKind
from tongyao.protocol.model.settings import Fallback
from tongyao.protocol.model.tension import Grade
from tongyao.protocol.model.value import Value

DEMANDER: Final = "P00"
"""The alias of whoever brought the intent."""

ROOM_OF_OTHERS: Final = 2
"""With fewer participants beside the demander, everything that is said is known to be one person's."""


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
    consented: bool = Field(default=False, description="The person allows a proxy to speak for them in this process.")


class Spent(BaseModel):
    """The use of a process: tokens of every kind, and US dollars."""

    tokens: int = 0
    cost: Decimal = Decimal(0)
    calls: int = 0


class DecidingCause(StrEnum):
    """Why the demander is asked how to go on."""

    LIMIT = "limit"
    QUORUM = "quorum"
    BUDGET = "budget"


Role = Literal["demander", "participant", "operator"]
