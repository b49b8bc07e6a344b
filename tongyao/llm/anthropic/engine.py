"""Answers every step with Claude, or with another model on a server that implements the Messages API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Final

from tongyao.llm import prompts, rendering
from tongyao.llm.anthropic.client import client_of
from tongyao.llm.anthropic.dialogue import Dialogue, messages_of
from tongyao.llm.anthropic.parameters import Parameters
from tongyao.llm.anthropic.step_settings import DEFAULTS, StepSettings
from tongyao.llm.engine import Answer, Bound, Call
from tongyao.llm.errors import EngineError
from tongyao.llm.prices import PriceTable, estimated_tokens, shipped
from tongyao.llm.structured_output.parsing import read, salvage
from tongyao.protocol.model.settings import ProcessSettings
from tongyao.protocol.model.steps import STEPS, DraftT, RequestT, Step

PROMPT_TOKENS: Final = 5_000
"""An upper bound for the tokens of a shipped system prompt."""

SHARE_OF_TIME: Final = 0.95
"""The engine uses this share of the call's time-out. So it ends before its caller does and can report its usage."""

PROXY_SECONDS: Final = ProcessSettings().proxy_seconds
"""The time-out of a call that sets none, in seconds."""


class AnthropicEngine:
    """Answers every step through the SDK's client. The SDK's retries are off, because Temporal retries.

    `models`: the model of a step. `steps`: all settings of a step. Both override `DEFAULTS`. `idle`: the longest
    silence of a stream. `cache=False` sends no cache breakpoints. Close it with `aclose`.
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
        longest = max(step.call_seconds(PROXY_SECONDS) for step in STEPS.values())
        self._client = client_of(api_key, base_url=base_url, seconds=longest)

    def model_for(self, step: str) -> str:
        return self._steps[step].model

    def limit_for(self, step: str, units: int = 0) -> int:
        """`max_tokens` of the first request of `step`. It grows with `units`."""
        return self._steps[step].limit + self._steps[step].limit_each * units

    def bound(self, step: str, prompt: str, units: int = 0) -> Bound:
        """The cost of writing the whole prompt to the cache and using `max_tokens`. A second request with twice the
        limit is not included.
        """
        read = PROMPT_TOKENS + -(-4 * estimated_tokens(prompt) // 3)
        limit = self.limit_for(step, units)
        cost = self._prices.largest_cost(self.model_for(step), read, limit)
        return Bound(read + limit, cost or Decimal(0))

    async def aclose(self) -> None:
        await self._client.close()

    async def answer(self, step: Step[RequestT, DraftT], request: RequestT, call: Call) -> Answer[DraftT]:
        """Ask the model of `step`. In a repair, list elements with a wrong shape are removed one by one and counted."""
        settings = self._steps[step.name]
        seconds = step.call_seconds(PROXY_SECONDS) if call.seconds is None else call.seconds
        prompt = prompts.load(step.name, request.language, call.prompt_override, folder=self._folder)
        dialogue = Dialogue(
            self._client,
            self._parameters,
            self._prices,
            step=step.name,
            model=settings.model,
            effort=settings.effort,
            system=prompt.text,
            messages=messages_of(
                rendering.blocks(request, prompt.parts),
                prompts.reask(step.name, request.language, folder=self._folder),
                call.reask,
            ),
            draft=step.draft,
            idle=self._idle,
            seconds=SHARE_OF_TIME * seconds,
            hear=call.hear,
        )
        try:
            reply = await dialogue.whole_answer(self.limit_for(step.name, step.units(request)))
            if call.reask is None:
                made = read(reply.text, step.draft)
            else:
                made, dropped = salvage(reply.text, step.draft)
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
