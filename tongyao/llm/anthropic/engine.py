"""Answers every step with Claude, or with another model on a server that implements the Messages API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tongyao.llm.anthropic.client import client_of
from tongyao.llm.anthropic.parameters import Parameters
from tongyao.llm.anthropic.step_settings import DEFAULTS, StepSettings
from tongyao.llm.anthropic.stream import Rejected, converse
from tongyao.llm.dialogue import PROXY_SECONDS, Dialogue, ModelEngine, Reply, safe_words
from tongyao.llm.engine import Usage
from tongyao.llm.errors import OperatorNeeded, of_failure
from tongyao.llm.prices import PriceTable
from tongyao.protocol.model.steps import STEPS


class AnthropicEngine(ModelEngine):
    """Answers every step through the SDK's client. The SDK retries nothing, because Temporal retries.

    `models`: the model of a step. `steps`: all settings of a step. Both override `DEFAULTS`. `idle`: the longest
    silence of a stream. `cache=False` sends no cache breakpoints. `retries`:
    of the SDK. Close it with `aclose`.
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
        retries: int = 0,
    ) -> None:
        settings = {**DEFAULTS, **(steps or {})}
        settings |= {step: replace(settings[step], model=model) for step, model in (models or {}).items() if model}
        super().__init__(settings, prices, prompts_folder, idle)
        self._parameters = Parameters(cache=cache, api_key=api_key if base_url else "")
        longest = max(step.call_seconds(PROXY_SECONDS) for step in STEPS.values())
        self._client = client_of(api_key, base_url=base_url, seconds=longest, max_retries=retries)

    async def aclose(self) -> None:
        await self._client.close()

    async def request(self, dialogue: Dialogue, limit: int) -> Reply:
        other_header = False
        with_output_config: dict[str, Any] | None = None
        while True:
            body = self._parameters.body(dialogue.question, limit)
            dialogue.usage += Usage(requests=1)
            try:
                return await converse(
                    self._client, body, idle=self._idle, total=dialogue.left, hear=dialogue.question.hear
                )
            except OperatorNeeded as stop:
                if stop.reason == "unauthorized" and self._parameters.try_other_header(body):
                    other_header = True
                    continue
                if other_header:
                    self._parameters.give_up_header()
                raise
            except Rejected as rejected:
                if self._parameters.learn(body, rejected.failure):
                    continue
                if with_output_config is None and self._parameters.try_without(body, rejected.failure):
                    with_output_config = body
                    continue
                if with_output_config is not None:
                    self._parameters.restore(with_output_config)
                error = of_failure(rejected.failure)
                error.args = (f"{error}{safe_words(rejected.failure.message, dialogue.question.texts)}",)
                raise error from None
