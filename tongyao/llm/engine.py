"""Who answers: the interface of every engine (an extension point, see docs/extending.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Generic, Protocol, TypeVar, runtime_checkable

from tongyao.protocol.model.observation import ObservationDraft
from tongyao.protocol.model.plan import DeliveryDraft, PlanDraft
from tongyao.protocol.model.projection import ProjectionDraft
from tongyao.protocol.model.requests import (
    CatalystRequest,
    DeliveryRequest,
    EndpointRequest,
    FormulationRequest,
    PlannerRequest,
)
from tongyao.protocol.model.tension import TensionDraft

DraftT = TypeVar("DraftT", covariant=True)


@dataclass(frozen=True)
class CallKey:
    """What identifies one wanted answer: at most one settled answer ever exists per key (docs/protocol.md §8.1).

    `round` is 0 outside the rounds, `alias` empty where no participant is meant; `revision` counts plans and
    corrections from 1; `reask` is 0 for the first call, 1 for the one re-ask that a guard may cause.
    """

    process: str
    step: str
    round: int = 0
    alias: str = ""
    revision: int = 1
    reask: int = 0


@dataclass(frozen=True)
class Reask:
    """Why an answer came back: `previous` is the raw text of it, `complaints` say what to mend, one line each.

    The engine answers with the mended part only (the items, pairs or claims complained of), in the same shape.
    """

    previous: str
    complaints: tuple[str, ...]


@dataclass(frozen=True)
class Call:
    """What goes with a request: its key, the prompt override of the scene, the heartbeat, and how long it may take.

    `seconds`: whoever asks gives up then; None leaves it to the engine.
    """

    key: CallKey
    reask: Reask | None = None
    prompt_override: str | None = None
    seconds: float | None = None
    beat: Callable[[], None] = field(default=lambda: None)


@dataclass(frozen=True)
class Usage:
    """Tokens of one call. `input_tokens` excludes what was written to or read from the cache, as the API reports it.

    `requests` counts what was sent to a service: 2 when a cut answer was asked for again with a larger limit.
    """

    input_tokens: int = 0
    cache_write_tokens: int = 0
    cache_read_tokens: int = 0
    output_tokens: int = 0
    requests: int = 0

    @property
    def total(self) -> int:
        return self.input_tokens + self.cache_write_tokens + self.cache_read_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.output_tokens + other.output_tokens,
            self.requests + other.requests,
        )


@dataclass(frozen=True)
class Bound:
    """The most that one call can use: tokens of every kind, and US dollars."""

    tokens: int = 0
    cost: Decimal = Decimal(0)


@dataclass(frozen=True)
class Answer(Generic[DraftT]):
    """A draft, the raw text it was read from, who gave it and what it cost (US dollars)."""

    draft: DraftT
    text: str
    engine: str
    model: str = ""
    usage: Usage = Usage()
    cost: Decimal = Decimal(0)
    labels: tuple[str, ...] = ()


@runtime_checkable
class Engine(Protocol):
    """The five steps. Every method may raise the errors of `tongyao.llm.errors`, and nothing else on purpose.

    An engine keeps no state between calls that would change an answer; what it is told is in the request.
    `beat` of the call is to be called while an answer is on its way, at least every few seconds.
    """

    @property
    def name(self) -> str:
        """What the ledger and the manifest call it."""
        ...

    def model_for(self, step: str) -> str:
        """The model that answers `step`, for the manifest; empty when there is none."""
        ...

    def bound(self, step: str, prompt: str, units: int = 0) -> Bound:
        """The most a call of `step` can use whose request holds about the text `prompt`; zero when it costs nothing.

        `units`: pairs (observe) or participants (plan), which an answer grows with.
        """
        ...

    async def formulate(self, request: FormulationRequest, call: Call) -> Answer[TensionDraft]: ...

    async def project(self, request: EndpointRequest, call: Call) -> Answer[ProjectionDraft]: ...

    async def observe(self, request: CatalystRequest, call: Call) -> Answer[ObservationDraft]: ...

    async def plan(self, request: PlannerRequest, call: Call) -> Answer[PlanDraft]: ...

    async def deliver(self, request: DeliveryRequest, call: Call) -> Answer[DeliveryDraft]: ...
