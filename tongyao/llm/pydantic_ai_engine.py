"""Answers a step with any model, through pydantic-ai: `provider:model` (docs/models.md §1). Needs the extra `models`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
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

from tongyao.llm import errors, prompts, rendering
from tongyao.llm.anthropic.dialogue import messages_of, safe_words
from tongyao.llm.anthropic.engine import PROMPT_TOKENS, PROXY_SECONDS, SHARE_OF_TIME
from tongyao.llm.anthropic.step_settings import DEFAULTS
from tongyao.llm.engine import PRICE_UNKNOWN, Answer, Bound, Call, Usage
from tongyao.llm.prices import PriceTable, estimated_tokens, shipped
from tongyao.llm.structured_output.parsing import read, salvage
from tongyao.llm.structured_output.schema import schema_of
from tongyao.protocol.model.steps import DraftT, RequestT, Step
from tongyao.protocol.model.value import Draft

_NUMBER: Final = re.compile(r"\d+")
_SCHEMA: Final = ("schema", "response_format", "structured", "output_config", "outputconfig")


class PydanticAIEngine:
    """Answers the steps in `models` (step → `provider:model`). Keys and addresses come from the providers' own
    variables.

    Raises `ValueError` for a model that cannot be created: unknown provider, missing key, missing client library.
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
        self._names, self._prices, self._folder, self._idle = models, prices or shipped(), prompts_folder, idle
        self._models: dict[str, Model[Any]] = {}
        self._without_schema, self._longest = set[str](), dict[str, int]()
        for name in dict.fromkeys(models.values()):
            try:
                self._models[name] = infer_model(name)
            except (failures.UserError, ImportError, ValueError) as error:
                raise ValueError(f"the model {name!r} cannot be used: {error}") from error

    def model_for(self, step: str) -> str:
        return self._names[step]

    def bound(self, step: str, prompt: str, units: int = 0) -> Bound:
        """The cost of the whole prompt and of the whole token limit."""
        name, sent = self._names[step], PROMPT_TOKENS + -(-4 * estimated_tokens(prompt) // 3)
        limit = DEFAULTS[step].limit + DEFAULTS[step].limit_each * units
        usage, (provider, _, model) = RequestUsage(input_tokens=sent, output_tokens=limit), name.partition(":")
        response = parts.ModelResponse([], usage=usage, model_name=model, provider_name=provider)
        return Bound(sent + limit, self._cost(name, response) or Decimal(0))

    async def answer(self, step: Step[RequestT, DraftT], request: RequestT, call: Call) -> Answer[DraftT]:
        """Ask the model of `step`. An answer that was cut is requested once more with twice the limit."""
        seconds = SHARE_OF_TIME * (step.call_seconds(PROXY_SECONDS) if call.seconds is None else call.seconds)
        prompt = prompts.load(step.name, request.language, call.prompt_override, folder=self._folder)
        repair = prompts.reask(step.name, request.language, folder=self._folder)
        said = messages_of(rendering.blocks(request, prompt.parts), repair, call.reask)
        name, usage, cost, labels = self._names[step.name], Usage(), Decimal(0), dict[str, None]()
        limit = DEFAULTS[step.name].limit + DEFAULTS[step.name].limit_each * step.units(request)
        try:
            async with _meaning(name, seconds, [prompt.text, *(str(message["content"]) for message in said)]):
                while True:
                    usage += Usage(requests=1)
                    try:
                        response = await self._response(step, name, _messages(said, prompt.text), limit, call)
                    except failures.ModelHTTPError as error:
                        if not self._learn(name, error, limit):
                            raise
                        continue
                    usage, paid = usage + _usage(response.usage), self._cost(name, response)
                    cost, labels = cost + (paid or 0), labels | ({PRICE_UNKNOWN: None} if paid is None else {})
                    if response.finish_reason != "length" or "limit_doubled" in labels:
                        break
                    limit, labels = 2 * limit, labels | {"limit_doubled": None}
            text = response.text or ""
            if response.finish_reason == "content_filter":
                raise errors.ModelRefused(f"{name} declined to answer: read the material, or set another model")
            if response.finish_reason == "length":
                raise errors.Cut(
                    f"the answer of {step.name} was cut a second time, at {limit} tokens: raise its limit", text=text
                )
            if not text.strip():
                raise errors.Unreadable(f"an empty answer (finish reason {response.finish_reason})", text="")
            draft, dropped = (read(text, step.draft), 0) if call.reask is None else salvage(text, step.draft)
        except errors.EngineError as error:
            error.usage, error.cost, error.model = usage, cost, name
            raise
        labels |= {f"unreadable_elements:{dropped}": None} if dropped else {}
        return Answer(draft, text, self.name, name, usage, cost, tuple(labels))

    async def _response(
        self, step: Step[Any, Any], name: str, messages: list[parts.ModelMessage], limit: int, call: Call
    ) -> parts.ModelResponse:
        """One streamed request, with the schema of the answer if the model accepts one."""
        draft: type[Draft] = step.draft
        model, heard, shape = self._models[name], list[str](), ModelRequestParameters()
        if model.profile.get("supports_json_schema_output") and name not in self._without_schema:
            schema = OutputObjectDefinition(dict(schema_of(draft)), name=step.name, strict=True)
            shape = ModelRequestParameters(output_mode="native", output_object=schema)
        wanted = {"max_tokens": min(limit, self._longest.get(name, limit)), "thinking": DEFAULTS[step.name].effort}
        wanted = {key: wanted[key] for key in wanted.keys() - model.unsupported_settings}
        settings = cast(
            ModelSettings, wanted | ({} if "max_retries" in model.unsupported_settings else {"max_retries": 0})
        )
        try:
            # no limit before the first word: a model may think for minutes
            async with asyncio.timeout(None) as silence:
                async with model_request_stream(
                    model, messages, model_settings=settings, model_request_parameters=shape
                ) as stream:
                    async for event in stream:
                        part = getattr(event, "part" if isinstance(event, parts.PartStartEvent) else "delta", None)
                        if isinstance(part, parts.TextPart | parts.TextPartDelta):
                            silence.reschedule(asyncio.get_running_loop().time() + self._idle)
                            heard.append(part.content if isinstance(part, parts.TextPart) else part.content_delta)
                            if call.hear is not None:
                                call.hear("".join(heard))
                    return stream.get()
        except TimeoutError:
            if not silence.expired():
                raise
            raise errors.Transient(f"the stream stalled: nothing came for {self._idle:g} s", reason="stalled") from None

    def _learn(self, name: str, error: failures.ModelHTTPError, limit: int) -> bool:
        """If a refusal names the schema or the limit, leave out the schema or lower the limit from now on. Returns whether to ask again."""
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

    def _cost(self, name: str, response: parts.ModelResponse) -> Decimal | None:
        """US dollars by the price table, else by pydantic-ai's prices. None if both lack the model."""
        if (cost := self._prices.cost(name, _usage(response.usage))) is not None:
            return cost
        try:
            return response.usage.cost or response.cost().total_price
        except (LookupError, ValueError):
            return None


def _messages(said: list[dict[str, Any]], system: str) -> list[parts.ModelMessage]:
    """Convert the messages of a Messages API request for pydantic-ai. A breakpoint of the prompt cache becomes a `CachePoint`."""
    made: list[parts.ModelMessage] = []
    for message in said:
        content: list[parts.UserContent] = []
        for block in [{"text": message["content"]}] if isinstance(message["content"], str) else message["content"]:
            content += [block["text"], parts.CachePoint()] if "cache_control" in block else [block["text"]]
        if message["role"] == "user":
            made.append(parts.ModelRequest([parts.UserPromptPart(content)], instructions=system))
        else:
            made.append(parts.ModelResponse([parts.TextPart(str(content[0]))]))
    return made


def _usage(used: RequestUsage) -> Usage:
    """Convert usage: pydantic-ai counts cached tokens in `input_tokens`, and `Usage` counts them separately."""
    fresh = max(0, used.input_tokens - used.cache_write_tokens - used.cache_read_tokens)
    return Usage(fresh, used.cache_write_tokens, used.cache_read_tokens, used.output_tokens)


def _words(error: failures.ModelAPIError) -> str:
    """The service's message: the message of its error object if there is one."""
    body = error.body
    for key in ("error", "message", "Error", "Message"):
        body = body.get(key, body) if isinstance(body, dict) else body
    return body if isinstance(body, str) else error.message


@asynccontextmanager
async def _meaning(name: str, seconds: float, sent: list[str]) -> AsyncIterator[None]:
    """Convert failures to errors of `tongyao.llm.errors`."""
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
    except Exception as error:  # errors of the provider's own library, for instance if credentials are missing
        raise errors.OperatorNeeded(
            f"{name} cannot be used ({type(error).__name__}): check key and settings"
        ) from error
