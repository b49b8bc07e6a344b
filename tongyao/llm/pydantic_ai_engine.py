"""Answers steps with any `provider:model` of pydantic-ai (docs/models.md §1). Needs the extra `models`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, cast

from pydantic_ai import exceptions as failures
from pydantic_ai import messages as parts
from pydantic_ai.direct import model_request_stream
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from tongyao.llm import errors
from tongyao.llm.anthropic.step_settings import DEFAULTS
from tongyao.llm.dialogue import Dialogue, ModelEngine, ModelPrompt, Reply, safe_words
from tongyao.llm.engine import Usage
from tongyao.llm.prices import PriceTable
from tongyao.llm.structured_output.schema import schema_of

_NUMBER: Final = re.compile(r"\d+")
_STOPS: Final = {"length": "max_tokens", "content_filter": "refusal"}
"""Finish reason of pydantic-ai → stop reason of the Messages API."""
_SCHEMA: Final = ("schema", "response_format", "structured", "output_config", "outputconfig")


class PydanticAIEngine(ModelEngine):
    """Answers the steps in `models` (step → `provider:model`).

    Keys and addresses come from the environment variables of the providers. Raises `ValueError` if a model cannot be
    created: unknown provider, missing key, missing client library.
    `idle`: the longest pause of an answer after it has begun, in seconds.
    """

    name = "models"

    def __init__(
        self,
        models: Mapping[str, str],
        prices: PriceTable | None = None,
        prompts_folder: Path | None = None,
        idle: float = 60,
    ) -> None:
        steps = {step: replace(DEFAULTS[step], model=model) for step, model in models.items()}
        super().__init__(steps, prices, prompts_folder, idle)
        self._without_schema, self._longest = set[str](), dict[str, int]()
        self._models: dict[str, Model[Any]] = {}
        for name in dict.fromkeys(models.values()):
            try:
                self._models[name] = infer_model(name)
            except (failures.UserError, ImportError, ValueError) as error:
                raise ValueError(f"the model {name!r} cannot be used: {error}") from error

    def _largest_cost(self, model: str, sent: int, limit: int) -> Decimal | None:
        """The maximum cost by the price table, or else by pydantic-ai's prices."""
        usage, (provider, _, name) = RequestUsage(input_tokens=sent, output_tokens=limit), model.partition(":")
        response = parts.ModelResponse([], usage=usage, model_name=name, provider_name=provider)
        cost = super()._largest_cost(model, sent, limit)
        return _cost(response) if cost is None else cost

    async def request(self, dialogue: Dialogue, limit: int) -> Reply:
        question = dialogue.question
        async with _meaning(question.model, dialogue.left, question.texts):
            while True:
                dialogue.usage += Usage(requests=1)
                try:
                    response = await self._response(question, limit)
                except failures.ModelHTTPError as error:
                    if not self._learn(question.model, error, limit):
                        raise
                    continue
                stop = _STOPS.get(response.finish_reason or "", response.finish_reason or "")
                return Reply(response.text or "", stop, _usage(response.usage), question.model, _cost(response))

    async def _response(self, question: ModelPrompt, limit: int) -> parts.ModelResponse:
        """Make one streamed request. It contains the schema of the answer, if the model accepts schemas."""
        name, draft, heard, shape = question.model, question.draft, list[str](), ModelRequestParameters()
        model = self._models[name]
        if model.profile.get("supports_json_schema_output") and name not in self._without_schema:
            schema = OutputObjectDefinition(dict(schema_of(draft)), name=question.step, strict=True)
            shape = ModelRequestParameters(output_mode="native", output_object=schema)
        wanted = {"max_tokens": min(limit, self._longest.get(name, limit)), "thinking": question.effort}
        wanted = {key: wanted[key] for key in wanted.keys() - model.unsupported_settings}
        settings = cast(
            ModelSettings, wanted | ({} if "max_retries" in model.unsupported_settings else {"max_retries": 0})
        )
        try:
            # no time limit before the first word, because a model may think for minutes
            async with asyncio.timeout(None) as silence:
                async with model_request_stream(
                    model, _messages(question), model_settings=settings, model_request_parameters=shape
                ) as stream:
                    async for event in stream:
                        part = getattr(event, "part" if isinstance(event, parts.PartStartEvent) else "delta", None)
                        if isinstance(part, parts.TextPart | parts.TextPartDelta):
                            silence.reschedule(asyncio.get_running_loop().time() + self._idle)
                            heard.append(part.content if isinstance(part, parts.TextPart) else part.content_delta)
                            if question.hear is not None:
                                question.hear("".join(heard))
                    return stream.get()
        except TimeoutError:
            if not silence.expired():
                raise
            raise errors.Transient(f"the stream stalled: nothing came for {self._idle:g} s", reason="stalled") from None

    def _learn(self, name: str, error: failures.ModelHTTPError, limit: int) -> bool:
        """Leave out the schema, or lower the limit, if a refusal names it. Returns whether to repeat the request."""
        words, sent = _words(error).lower(), min(limit, self._longest.get(name, limit))
        if error.status_code not in (400, 422):
            return False
        if "max" in words and "token" in words:
            named = [int(number) for number in _NUMBER.findall(words) if 256 <= int(number) < sent]
            self._longest |= {name: max(named)} if named else {}
            return bool(named)
        learned = name not in self._without_schema and any(word in words for word in _SCHEMA)
        self._without_schema |= {name} if learned else set()
        return learned


def _cost(response: parts.ModelResponse) -> Decimal | None:
    """The cost in US dollars by pydantic-ai's prices. None if the model has no price there."""
    try:
        return response.usage.cost or response.cost().total_price
    except (LookupError, ValueError):
        return None


def _messages(question: ModelPrompt) -> list[parts.ModelMessage]:
    """Convert messages of the Messages API for pydantic-ai. A breakpoint of the prompt cache becomes a `CachePoint`."""
    made: list[parts.ModelMessage] = []
    for message in question.messages:
        content: list[parts.UserContent] = []
        for block in [{"text": message["content"]}] if isinstance(message["content"], str) else message["content"]:
            content += [block["text"], parts.CachePoint()] if "cache_control" in block else [block["text"]]
        if message["role"] == "user":
            made.append(parts.ModelRequest([parts.UserPromptPart(content)], instructions=question.system))
        else:
            made.append(parts.ModelResponse([parts.TextPart(str(content[0]))]))
    return made


def _usage(used: RequestUsage) -> Usage:
    """Convert usage. `input_tokens` includes cached tokens in pydantic-ai, and excludes them in `Usage`."""
    fresh = max(0, used.input_tokens - used.cache_write_tokens - used.cache_read_tokens)
    return Usage(fresh, used.cache_write_tokens, used.cache_read_tokens, used.output_tokens)


def _words(error: failures.ModelAPIError) -> str:
    """The service's error message: from the error object in the response, if there is one."""
    body = error.body
    for key in ("error", "message", "Error", "Message"):
        body = body.get(key, body) if isinstance(body, dict) else body
    return body if isinstance(body, str) else error.message


@asynccontextmanager
async def _meaning(name: str, seconds: float, sent: list[str]) -> AsyncIterator[None]:
    """Convert exceptions of the block to errors of `tongyao.llm.errors`."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise errors.Transient(f"no whole answer within {seconds:.3g} s", reason="timed_out") from None
    except failures.ModelHTTPError as error:
        status = 402 if isinstance(error, failures.ModelQuotaExceededError) else error.status_code
        status = 413 if isinstance(error, failures.ModelContextWindowExceededError) else status
        status = 401 if status == 400 and isinstance(error, failures.ModelAuthenticationError) else status
        code = error.provider_error_code or ""
        meant = errors.of_failure(
            errors.Failure(status, code=code, message=_words(error), retry_after=error.retry_after)
        )
        meant.args = (f"{meant}{safe_words(_words(error), sent)}",)
        raise meant from None
    except failures.ModelConnectionError as error:
        if error.phase != "connect":
            raise errors.Transient(
                f"the connection failed ({type(error.__cause__).__name__})", reason="broken"
            ) from None
        stop = errors.OperatorNeeded(f"no server answers for {name}: start it or correct its address, then resume")
        stop.reason = "no_server"
        raise stop from None
    except failures.AgentRunError as error:
        raise errors.Transient(f"the answer cannot be read ({type(error).__name__})", reason="broken") from None
    except errors.EngineError:
        raise
    except Exception as error:  # errors of the provider's client library, for example missing credentials
        raise errors.OperatorNeeded(
            f"{name} cannot be used ({type(error).__name__}): check key and settings"
        ) from error
