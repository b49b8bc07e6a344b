"""Answers every step with Claude, or with another model on a server that implements the Messages API."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from anthropic import omit

from tongyao.llm.anthropic.client import client_of
from tongyao.llm.anthropic.request import Rejected, converse
from tongyao.llm.anthropic.step_settings import DEFAULTS, StepSettings
from tongyao.llm.dialogue import PROXY_SECONDS, Dialogue, ModelEngine, ModelPrompt, Reply, safe_words
from tongyao.llm.engine import Usage
from tongyao.llm.errors import Failure, OperatorNeeded, of_failure
from tongyao.llm.prices import PriceTable
from tongyao.llm.structured_output.schema import schema_of
from tongyao.protocol.model.steps import STEPS


class AnthropicEngine(ModelEngine):
    """Answers every step through the SDK's client. The SDK retries nothing, because Temporal retries.

    `models`: the model of a step. `steps`: all settings of a step. Both override `DEFAULTS`. `idle`: the longest
    silence of a stream. `cache=False` sends no cache breakpoints. `retries`: the SDK's number of retries. Close the
    engine with `aclose`.
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


log = logging.getLogger(__name__)

_ABOUT_THE_TEXT: Final = ("too long", "context", "tokens", "credit", "content filter", "messages", "at least one")
"""A refusal with one of these words is about the text. A repetition without a parameter would not help."""

_NUMBER: Final = re.compile(r"\d+")


class Parameters:
    """Stores, for one server, the features that each model rejects: schema, effort, cache breakpoints, long answers.

    Servers that implement the Messages API differ in these features. The first refusal that names a feature is
    remembered.
    """

    def __init__(self, *, cache: bool = True, api_key: str = "") -> None:
        """`api_key`: the key, if it may also be sent as `X-Api-Key` in place of `Authorization`."""
        self._cache = cache
        self._key, self._other_header = api_key, False
        self._unknown: set[tuple[str, str]] = set()
        self._longest: dict[str, int] = {}

    def body(self, question: ModelPrompt, limit: int) -> dict[str, Any]:
        model = question.model
        output: dict[str, Any] = {}
        if self._knows(model, "format"):
            output["format"] = {"type": "json_schema", "schema": schema_of(question.draft)}
        if question.effort and self._knows(model, "effort"):
            output["effort"] = question.effort
        body: dict[str, Any] = {
            "model": model,
            "max_tokens": min(limit, self._longest.get(model, limit)),
            "system": [{"type": "text", "text": question.system, "cache_control": {"type": "ephemeral"}}],
            "messages": question.messages,
        }
        if output:
            body["output_config"] = output
        if self._other_header:
            body["extra_headers"] = {"X-Api-Key": self._key, "Authorization": omit}
        return body if self._cache and self._knows(model, "cache_control") else _without_breakpoints(body)

    def learn(self, body: Mapping[str, Any], failure: Failure) -> bool:
        """From now on, leave out or lower the parameter that `failure` names. Returns whether `failure` names a
        parameter."""
        words = failure.message.lower()
        if "max_tokens" in words:
            return self._lower(body, words)
        named = {name for name in ("effort", "cache_control") if name in words}
        if not named and any(word in words for word in ("schema", "format", "structured output")):
            named = {"format"}
        if not named and "output_config" in words:
            named = {"format", "effort"}
        sent = set(body.get("output_config", {}))
        sent |= {"cache_control"} if "cache_control" in body["system"][0] else set()
        learned = named & sent
        if learned:
            log.warning(
                "%s does not support %s: the parameter is left out from now on",
                body["model"],
                ", ".join(sorted(learned)),
            )
        self._unknown |= {(body["model"], name) for name in learned}
        return bool(learned)

    def try_other_header(self, body: Mapping[str, Any]) -> bool:
        """Whether to repeat an unauthorized request once with the key in `X-Api-Key`, which older servers read."""
        if not self._key or "extra_headers" in body:
            return False
        self._other_header = True
        return True

    def give_up_header(self) -> None:
        """Return to the standard header, because both headers were refused: the key is wrong."""
        self._key, self._other_header = "", False

    def try_without(self, body: Mapping[str, Any], failure: Failure) -> bool:
        """Whether to repeat a request without `output_config`, because its refusal names no parameter.

        Some servers answer an unknown parameter only with "bad request". `restore` with the same body undoes the
        change.
        """
        words = failure.message.lower()
        if "output_config" not in body or any(word in words for word in _ABOUT_THE_TEXT):
            return False
        log.warning(
            "%s refuses a request and gives no reason: the request is repeated without output_config", body["model"]
        )
        self._unknown |= {(body["model"], name) for name in body["output_config"]}
        return True

    def restore(self, body: Mapping[str, Any]) -> None:
        self._unknown -= {(body["model"], name) for name in body["output_config"]}

    def _lower(self, body: Mapping[str, Any], words: str) -> bool:
        """Take the limit from "max_tokens: 14000 > 8192, which is …": the largest number below the value sent."""
        named = [int(number) for number in _NUMBER.findall(words) if 256 <= int(number) < body["max_tokens"]]
        if named:
            self._longest[body["model"]] = max(named)
            log.warning("%s answers with at most %d tokens: this limit is used from now on", body["model"], max(named))
        return bool(named)

    def _knows(self, model: str, name: str) -> bool:
        return (model, name) not in self._unknown


def _without_breakpoints(body: dict[str, Any]) -> dict[str, Any]:
    def bare(blocks: Any) -> Any:
        if isinstance(blocks, str):
            return blocks
        return [{name: value for name, value in block.items() if name != "cache_control"} for block in blocks]

    messages = [{**message, "content": bare(message["content"])} for message in body["messages"]]
    return {**body, "system": bare(body["system"]), "messages": messages}
