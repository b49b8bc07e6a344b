"""The interface of every engine (an extension point, see docs/extending.md §1), and what passes through it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Generic, Protocol, TypeVar, runtime_checkable

from tongyao.protocol.model.calls import CallKey as CallKey
from tongyao.protocol.model.calls import Usage as Usage
from tongyao.protocol.model.steps import DraftT, RequestT, Step

AnswerT = TypeVar("AnswerT", covariant=True)


@dataclass(frozen=True)
class Reask:
    """Why a step is asked again: `previous` is the raw text of the answer, `complaints` say what to correct, a line each.

    The engine answers with the corrected part only (the items, pairs or claims complained of), in the same shape.
    `unreadable`: the answer did not have the required structure, so that nothing of it stands.
    """

    previous: str
    complaints: tuple[str, ...]
    unreadable: bool = False


@dataclass(frozen=True)
class OutsideReply:
    """An answer that came from outside: its text, and the name of who gave it."""

    text: str
    answerer: str


@dataclass(frozen=True)
class Call:
    """The circumstances of a request: its key, the prompt override of the scene, the heartbeat, and the time-out.

    `seconds`: the caller gives up then; None leaves the time-out to the engine. `hear`: told of the answer's text while it comes,
    each time from its beginning; an engine that has it at once need not call it. `reply`: the answer of an earlier `AnswerPending`.
    """

    key: CallKey
    reask: Reask | None = None
    prompt_override: str | None = None
    seconds: float | None = None
    beat: Callable[[], None] = field(default=lambda: None)
    hear: Callable[[str], None] | None = None
    reply: OutsideReply | None = None


@dataclass(frozen=True)
class Bound:
    """The most that one call can use: tokens of every kind, and US dollars."""

    tokens: int = 0
    cost: Decimal = Decimal(0)


@dataclass(frozen=True)
class Answer(Generic[AnswerT]):
    """A draft, the raw text it was read from, who gave it and what it cost (US dollars)."""

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

    An engine keeps no state between calls that would change an answer: everything it may use is in the request.
    `answer` calls `call.beat` at least every few seconds while an answer is on its way. It raises the errors of
    `tongyao.llm.errors`, and nothing else on purpose.
    """

    @property
    def name(self) -> str:
        """The name of the engine in the ledger and the manifest."""
        ...

    def model_for(self, step: str) -> str:
        """The model that answers `step`, for the manifest; empty when there is none."""
        ...

    def bound(self, step: str, prompt: str, units: int = 0) -> Bound:
        """The most a call of `step` can use whose request holds about the text `prompt`; zero when it costs nothing.

        `units`: what an answer grows with (`Step.units`).
        """
        ...

    async def answer(self, step: Step[RequestT, DraftT], request: RequestT, call: Call) -> Answer[DraftT]:
        """The answer of `step` to `request`."""
        ...
