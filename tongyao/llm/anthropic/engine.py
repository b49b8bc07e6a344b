"""Claude behind every step, or any other model behind a server that speaks the Messages API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Final, TypeVar

from tongyao.llm import prompts, rendering
from tongyao.llm.anthropic.client import client_of
from tongyao.llm.anthropic.dialogue import Dialogue, messages_of
from tongyao.llm.anthropic.parameters import Parameters
from tongyao.llm.engine import Answer, Bound, Call
from tongyao.llm.errors import EngineError
from tongyao.llm.prices import PriceTable, estimated_tokens, shipped
from tongyao.llm.rendering import Block
from tongyao.llm.structured_output.parsing import read, salvage
from tongyao.protocol.model.observation import ObservationDraft, all_pairs
from tongyao.protocol.model.plan import DeliveryDraft, PlanDraft
from tongyao.protocol.model.projection import ProjectionDraft
from tongyao.protocol.model.requests import (
    CatalystRequest,
    DeliveryRequest,
    EndpointRequest,
    FormulationRequest,
    Language,
    PlannerRequest,
)
from tongyao.protocol.model.tension import TensionDraft
from tongyao.protocol.model.value import Draft

DraftT = TypeVar("DraftT", bound=Draft)

PROMPT_TOKENS: Final = 5_000
"""More than the longest of our own prompts has."""

SHARE_OF_TIME: Final = 0.95
"""Of the time that whoever asks has set: so that running out of it is told by the engine, with what was used."""

STRONG: Final = "claude-opus-5-5"
MIDDLE: Final = "claude-sonnet-5-5"


@dataclass(frozen=True)
class StepSettings:
    """How one step is answered.

    `limit` and `limit_each` make up `max_tokens`: the second is added for every pair (observe) or
    participant (plan). Thinking counts towards it, so it is several times the answer's size. `effort` goes
    with models that know it; empty leaves it to the model. `seconds` bounds a whole call, a second request
    included, where whoever asks has set no time.
    """

    model: str
    limit: int
    limit_each: int = 0
    effort: str = ""
    seconds: float = 110.0


DEFAULTS: Final[Mapping[str, StepSettings]] = {
    "formulate": StepSettings(MIDDLE, 6_000, effort="medium"),
    "project": StepSettings(MIDDLE, 10_000, effort="medium"),
    "observe": StepSettings(STRONG, 14_000, 700, effort="high", seconds=440.0),
    "plan": StepSettings(STRONG, 16_000, 2_000, effort="medium", seconds=560.0),
    "deliver": StepSettings(MIDDLE, 6_000, effort="low"),
}
"""The strong model where relations and the plan are made, the middle one for the rest (docs/models.md)."""


class AnthropicEngine:
    """Answers every step through `client` (made for `api_key` and `base_url`; `max_retries=0`: retries are
    durable).

    `models` names the model of a step, `steps` replaces its whole settings; both override `DEFAULTS`. `idle`
    is how long a stream may be silent; `cache=False` sends no cache breakpoints. Close with `aclose`.
    """

    name = "anthropic"

    def __init__(
        self,
        *,
        api_key: str,
        base_url: str | None = None,
        models: Mapping[str, str] | None = None,
        steps: Mapping[str, StepSettings] | None = None,
        prices: PriceTable | None = None,
        prompts_folder: Path | None = None,
        idle: float = 60.0,
        cache: bool = True,
    ) -> None:
        settings = {**DEFAULTS, **(steps or {})}
        settings |= {step: replace(settings[step], model=model) for step, model in (models or {}).items() if model}
        self._steps = settings
        self._prices = prices or shipped()
        self._folder = prompts_folder
        self._idle = idle
        self._parameters = Parameters(cache=cache, api_key=api_key if base_url else "")
        longest = max(step.seconds for step in settings.values())
        self._client = client_of(api_key, base_url=base_url, seconds=longest)

    def model_for(self, step: str) -> str:
        return self._steps[step].model

    def limit_for(self, step: str, units: int = 0) -> int:
        """`max_tokens` of the first request of `step` for `units` pairs (observe) or participants (plan)."""
        return self._steps[step].limit + self._steps[step].limit_each * units

    def bound(self, step: str, prompt: str, units: int = 0) -> Bound:
        """The prompt written anew (counted high) and `max_tokens` used up; a second, doubled request is beyond it."""
        read = PROMPT_TOKENS + -(-4 * estimated_tokens(prompt) // 3)
        limit = self.limit_for(step, units)
        cost = self._prices.largest_cost(self.model_for(step), read, limit)
        return Bound(read + limit, cost or Decimal(0))

    async def aclose(self) -> None:
        await self._client.close()

    async def formulate(self, request: FormulationRequest, call: Call) -> Answer[TensionDraft]:
        blocks = rendering.formulation(request)
        return await self._answer("formulate", request.language, blocks, TensionDraft, call)

    async def project(self, request: EndpointRequest, call: Call) -> Answer[ProjectionDraft]:
        return await self._answer("project", request.language, rendering.endpoint(request), ProjectionDraft, call)

    async def observe(self, request: CatalystRequest, call: Call) -> Answer[ObservationDraft]:
        pairs = len(request.only_pairs or all_pairs(request.contributors))
        return await self._answer(
            "observe", request.language, rendering.catalyst(request), ObservationDraft, call, pairs
        )

    async def plan(self, request: PlannerRequest, call: Call) -> Answer[PlanDraft]:
        people = len(request.aliases)
        return await self._answer("plan", request.language, rendering.planner(request), PlanDraft, call, people)

    async def deliver(self, request: DeliveryRequest, call: Call) -> Answer[DeliveryDraft]:
        return await self._answer("deliver", request.language, rendering.delivery(request), DeliveryDraft, call)

    async def _answer(
        self,
        step: str,
        language: Language,
        blocks: tuple[Block, ...],
        draft: type[DraftT],
        call: Call,
        units: int = 0,
    ) -> Answer[DraftT]:
        settings = self._steps[step]
        dialogue = Dialogue(
            self._client,
            self._parameters,
            self._prices,
            step=step,
            model=settings.model,
            effort=settings.effort,
            system=prompts.load(step, language, call.prompt_override, folder=self._folder).text,
            messages=messages_of(blocks, prompts.reask(language, folder=self._folder), call.reask),
            draft=draft,
            beat=call.beat,
            idle=self._idle,
            seconds=SHARE_OF_TIME * call.seconds if call.seconds is not None else settings.seconds,
        )
        try:
            reply = await dialogue.whole_answer(self.limit_for(step, units))
            if call.reask is None:
                made = read(reply.text, draft)
            else:
                made, dropped = salvage(reply.text, draft)
                dialogue.labels += [f"unreadable_elements:{dropped}"] if dropped else []
        except EngineError as error:
            error.usage, error.cost, error.model = dialogue.usage, dialogue.cost, settings.model
            raise
        return Answer(
            draft=made,
            text=reply.text,
            engine=self.name,
            model=reply.model or settings.model,
            usage=dialogue.usage,
            cost=dialogue.cost,
            labels=tuple(dict.fromkeys(dialogue.labels)),
        )
