"""Claude behind every step, or any other model behind a server that speaks the Messages API."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Final, TypeVar

import httpx2
from anthropic import AsyncAnthropic

from tongyao.llm import prompts, rendering
from tongyao.llm.anthropic.stream import Rejected, Reply, converse
from tongyao.llm.engine import Answer, Call, Usage
from tongyao.llm.errors import Cut, EngineError, Failure, Refused, Unreadable, of_failure
from tongyao.llm.prices import PriceTable, shipped
from tongyao.llm.reading import read, salvage
from tongyao.llm.rendering import Block
from tongyao.llm.shapes import schema_of
from tongyao.protocol.observation import ObservationDraft, all_pairs
from tongyao.protocol.plan import DeliveryDraft, PlanDraft
from tongyao.protocol.projection import ProjectionDraft
from tongyao.protocol.requests import (
    CatalystRequest,
    DeliveryRequest,
    EndpointRequest,
    FormulationRequest,
    Language,
    PlannerRequest,
)
from tongyao.protocol.tension import TensionDraft
from tongyao.protocol.value import Draft

DraftT = TypeVar("DraftT", bound=Draft)

STRONG: Final = "claude-opus-5-5"
MIDDLE: Final = "claude-sonnet-5-5"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class StepSettings:
    """How one step is answered.

    `limit` and `limit_each` make up `max_tokens`: the second is added for every pair (observe) or
    participant (plan). Thinking counts towards it, so it is several times the answer's size. `effort` goes
    with models that know it; empty leaves it to the model. `seconds` bounds a whole answer and must lie
    below the activity's start-to-close time-out.
    """

    model: str
    limit: int
    limit_each: int = 0
    effort: str = ""
    seconds: float = 110.0


DEFAULTS: Final[Mapping[str, StepSettings]] = {
    "formulate": StepSettings(MIDDLE, 6_000, effort="medium"),
    "project": StepSettings(MIDDLE, 10_000, effort="medium"),
    "observe": StepSettings(STRONG, 14_000, 700, effort="high", seconds=280.0),
    "plan": StepSettings(STRONG, 16_000, 2_000, effort="medium", seconds=280.0),
    "deliver": StepSettings(MIDDLE, 6_000, effort="low"),
}
"""The strong model where relations and the plan are made, the middle one for the rest (docs/models.md)."""


@dataclass
class _Spent:
    """What one call has used so far, over all the requests it took."""

    usage: Usage = field(default_factory=Usage)
    cost: Decimal = Decimal(0)
    labels: list[str] = field(default_factory=list)


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
        idle: float = 60.0,
        cache: bool = True,
    ) -> None:
        settings = {**DEFAULTS, **(steps or {})}
        settings |= {
            step: replace(settings[step], model=model) for step, model in (models or {}).items() if model
        }
        self._steps = settings
        self._prices = prices or shipped()
        self._idle = idle
        self._cache = cache
        self._unknown: set[tuple[str, str]] = set()
        longest = max(step.seconds for step in settings.values())
        self._client = AsyncAnthropic(
            api_key=api_key, base_url=base_url, max_retries=0, timeout=httpx2.Timeout(longest, connect=10.0)
        )

    def model_for(self, step: str) -> str:
        return self._steps[step].model

    def limit_for(self, step: str, units: int = 0) -> int:
        """`max_tokens` of the first request of `step` for `units` pairs (observe) or participants (plan)."""
        return self._steps[step].limit + self._steps[step].limit_each * units

    async def aclose(self) -> None:
        await self._client.close()

    async def formulate(self, request: FormulationRequest, call: Call) -> Answer[TensionDraft]:
        blocks = rendering.formulation(request)
        return await self._answer("formulate", request.language, blocks, TensionDraft, call)

    async def project(self, request: EndpointRequest, call: Call) -> Answer[ProjectionDraft]:
        return await self._answer(
            "project", request.language, rendering.endpoint(request), ProjectionDraft, call
        )

    async def observe(self, request: CatalystRequest, call: Call) -> Answer[ObservationDraft]:
        pairs = len(request.only_pairs or all_pairs(request.contributors))
        return await self._answer(
            "observe", request.language, rendering.catalyst(request), ObservationDraft, call, pairs
        )

    async def plan(self, request: PlannerRequest, call: Call) -> Answer[PlanDraft]:
        people = len(request.aliases)
        return await self._answer(
            "plan", request.language, rendering.planner(request), PlanDraft, call, people
        )

    async def deliver(self, request: DeliveryRequest, call: Call) -> Answer[DeliveryDraft]:
        return await self._answer(
            "deliver", request.language, rendering.delivery(request), DeliveryDraft, call
        )

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
        system = prompts.load(step, language, call.prompt_override).text
        messages = self._messages(blocks, language, call)
        spent = _Spent()
        try:
            reply = await self._whole_answer(step, system, messages, draft, call, spent, units)
            if call.reask is None:
                read_draft = read(reply.text, draft)
            else:
                read_draft, dropped = salvage(reply.text, draft)
                spent.labels += [f"unreadable_elements:{dropped}"] if dropped else []
        except EngineError as error:
            error.usage, error.cost, error.model = spent.usage, spent.cost, settings.model
            raise
        return Answer(
            draft=read_draft,
            text=reply.text,
            engine=self.name,
            model=reply.model or settings.model,
            usage=spent.usage,
            cost=spent.cost,
            labels=tuple(dict.fromkeys(spent.labels)),
        )

    async def _whole_answer(
        self,
        step: str,
        system: str,
        messages: list[dict[str, Any]],
        draft: type[Draft],
        call: Call,
        spent: _Spent,
        units: int,
    ) -> Reply:
        """A reply that ended by itself. A cut one is asked for once more with twice the room, a refused one
        never.
        """
        limit = self.limit_for(step, units)
        for attempt in (1, 2):
            reply = await self._request(step, system, messages, draft, call, spent, limit * attempt)
            match reply.stop_reason:
                case "refusal":
                    model = self.model_for(step)
                    raise Refused(
                        f"{model} declined to answer {step}: read the material, or set another model"
                    )
                case "max_tokens":
                    spent.labels.append("limit_doubled")
                    continue
                case "model_context_window_exceeded":
                    raise of_failure(Failure(413, "model_context_window_exceeded"))
            if not reply.text.strip():
                raise Unreadable(f"an empty answer (stop reason {reply.stop_reason or 'none'})", text="")
            return reply
        raise Cut(
            f"{step} was cut at {2 * limit} tokens, the second time: raise its limit or invite fewer people",
            text=reply.text,
        )

    async def _request(
        self,
        step: str,
        system: str,
        messages: list[dict[str, Any]],
        draft: type[Draft],
        call: Call,
        spent: _Spent,
        limit: int,
    ) -> Reply:
        """One request; when the server refuses a parameter that not every server knows, again without it,
        from then on.
        """
        settings = self._steps[step]
        while True:
            body = self._body(settings, system, messages, draft, limit)
            try:
                spent.usage += Usage(requests=1)
                reply = await converse(
                    self._client, body, beat=call.beat, idle=self._idle, total=settings.seconds
                )
            except Rejected as rejected:
                if not self._learned(settings.model, body, rejected.failure):
                    error = of_failure(rejected.failure)
                    error.args = (f"{error}{_safe_words(rejected.failure.message, system, messages)}",)
                    raise error from None
                continue
            spent.usage += replace(reply.usage, requests=0)
            cost = self._prices.cost(settings.model, reply.usage)
            if cost is None:
                cost = self._prices.cost(reply.model, reply.usage)
            if cost is None:
                spent.labels.append("price_unknown")
            spent.cost += cost or Decimal(0)
            return reply

    def _body(
        self,
        settings: StepSettings,
        system: str,
        messages: list[dict[str, Any]],
        draft: type[Draft],
        limit: int,
    ) -> dict[str, Any]:
        knows = {
            name: (settings.model, name) not in self._unknown
            for name in ("format", "effort", "cache_control")
        }
        output: dict[str, Any] = {}
        if knows["format"]:
            output["format"] = {"type": "json_schema", "schema": schema_of(draft)}
        if knows["effort"] and settings.effort:
            output["effort"] = settings.effort
        body: dict[str, Any] = {
            "model": settings.model,
            "max_tokens": limit,
            "system": [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}],
            "messages": messages,
        }
        if output:
            body["output_config"] = output
        return body if self._cache and knows["cache_control"] else _without_breakpoints(body)

    def _learned(self, model: str, body: Mapping[str, Any], failure: Failure) -> bool:
        """Whether `failure` names a parameter of `body` that can be left out; it is then left out for this
        model.
        """
        words = failure.message.lower()
        named = {name for name in ("effort", "cache_control") if name in words}
        if not named and any(word in words for word in ("schema", "format", "structured output")):
            named = {"format"}
        if not named and "output_config" in words:
            named = {"format", "effort"}
        sent = set(body.get("output_config", {}))
        sent |= {"cache_control"} if "cache_control" in body["system"][0] else set()
        fresh = {(model, name) for name in named & sent}
        if fresh:
            log.warning(
                "%s does not know %s: going on without", model, ", ".join(sorted(name for _, name in fresh))
            )
        self._unknown |= fresh
        return bool(fresh)

    def _messages(self, blocks: tuple[Block, ...], language: Language, call: Call) -> list[dict[str, Any]]:
        content = [
            {"type": "text", "text": block.text}
            | ({"cache_control": {"type": "ephemeral"}} if block.cache else {})
            for block in blocks
        ]
        messages: list[dict[str, Any]] = [{"role": "user", "content": content}]
        if call.reask is not None:
            complaints = "\n".join(f"- {rendering.line(complaint)}" for complaint in call.reask.complaints)
            said = f"{prompts.reask(language)}\n\n{complaints}"
            if call.reask.previous.strip():
                messages += [
                    {"role": "assistant", "content": call.reask.previous.rstrip()},
                    {"role": "user", "content": said},
                ]
            else:
                content.append({"type": "text", "text": said})
        return messages


def _without_breakpoints(body: dict[str, Any]) -> dict[str, Any]:
    def bare(blocks: Any) -> Any:
        if isinstance(blocks, str):
            return blocks
        return [{name: value for name, value in block.items() if name != "cache_control"} for block in blocks]

    messages = [{**message, "content": bare(message["content"])} for message in body["messages"]]
    return {**body, "system": bare(body["system"]), "messages": messages}


_OVERLAP: Final = 24


def _safe_words(message: str, system: str, messages: list[dict[str, Any]]) -> str:
    """The service's own words for an operator, unless they repeat what anybody wrote."""
    words = message[:300]
    sent = [system, *(str(message["content"]) for message in messages)]
    repeats = any(
        words[start : start + _OVERLAP] in text
        for start in range(max(0, len(words) - _OVERLAP) + 1)
        for text in sent
    )
    return f": {words}" if words and not repeats else ""
