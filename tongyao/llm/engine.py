"""The interface of all engines, and its data types. The interface is an extension point (docs/extending.md §1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, Generic, Protocol, TypeVar, runtime_checkable

from tongyao.protocol.model.calls import CallKey as CallKey
from tongyao.protocol.model.calls import Usage as Usage
from tongyao.protocol.model.steps import DraftT, RequestT, Step

AnswerT = TypeVar("AnswerT", covariant=True)


@dataclass(frozen=True)
class Reask:
    """The request to repair an answer. `previous`: the raw text of the faulty answer. `complaints`: one line per fault.

    The engine answers with the corrected parts only (items, pairs or claims), in the same structure. `unreadable`: the
    faulty answer did not have the required structure, so no part of it is kept.
    """

    previous: str
    complaints: tuple[str, ...]
    unreadable: bool = False


@dataclass(frozen=True)
class OutsideReply:
    """An answer from outside: its text, and the name of the answerer."""

    text: str
    answerer: str


@dataclass(frozen=True)
class Call:
    """The circumstances of a request: its key, the scene's prompt override, and the time-out.

    `seconds`: the caller's time-out; if it is None, the engine chooses one. `hear`: a function that the engine calls
    with the text received so far; an engine that gets the whole answer at once need not call it. `reply`: the reply to
    an earlier `AnswerPending`.
    """

    key: CallKey
    reask: Reask | None = None
    prompt_override: str | None = None
    seconds: float | None = None
    hear: Callable[[str], None] | None = None
    reply: OutsideReply | None = None


@dataclass(frozen=True)
class Bound:
    """The maximum use of one call: tokens of every kind, and US dollars."""

    tokens: int = 0
    cost: Decimal = Decimal(0)


PRICE_UNKNOWN: Final = "price_unknown"
"""A label of answers from models with an unknown price."""


@dataclass(frozen=True)
class Answer(Generic[AnswerT]):
    """A draft, the raw text from which it was read, the engine and model that answered, and the cost in US dollars."""

    draft: AnswerT
    text: str
    engine: str
    model: str = ""
    usage: Usage = field(default_factory=Usage)
    cost: Decimal = Decimal(0)
    labels: tuple[str, ...] = ()


@runtime_checkable
class Engine(Protocol):
    """An engine answers the model steps (`tongyao.protocol.model.steps`).

    No state is kept between calls that could change an answer. All information for the answer is in the request.
    `answer` raises only the errors of `tongyao.llm.errors`.
    """

    @property
    def name(self) -> str:
        """The name of the engine in the ledger and the manifest."""
        ...

    def model_for(self, step: str) -> str:
        """The name of the model that answers `step`, for the manifest. Empty if no model does."""
        ...

    def bound(self, step: str, prompt: str, units: int = 0) -> Bound:
        """The maximum use of a call of `step` with about the text `prompt` in its request. Zero if the call is free.

        `units`: the number that determines the length of the answer (`Step.units`).
        """
        ...

    async def answer(self, step: Step[RequestT, DraftT], request: RequestT, call: Call) -> Answer[DraftT]:
        """Answer `request` for `step`."""
        ...
