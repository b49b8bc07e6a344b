"""The base class of the engines that ask models: request, time-out, usage and cost, cut answers, repairs."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from tongyao.llm import prompts, rendering
from tongyao.llm.anthropic.step_settings import StepSettings
from tongyao.llm.engine import PRICE_UNKNOWN, Answer, Bound, Call, Reask, Usage
from tongyao.llm.errors import Cut, EngineError, Failure, ModelRefused, Unreadable, of_failure
from tongyao.llm.labels import line
from tongyao.llm.prices import PriceTable, estimated_tokens, shipped
from tongyao.llm.structured_output.parsing import read, salvage
from tongyao.protocol.model.process_settings import ProcessSettings
from tongyao.protocol.model.steps import DraftT, RequestT, Step
from tongyao.protocol.model.value import Draft

PROMPT_TOKENS: Final = 5_000
"""An upper bound for the tokens of a shipped system prompt."""

SHARE_OF_TIME: Final = 0.95
"""The engine uses this share of the call's time-out. So it ends before the caller gives up, and can report its usage.
"""

PROXY_SECONDS: Final = ProcessSettings().proxy_seconds
"""The time-out of a call without a time-out of its own, in seconds."""

_OVERLAP: Final = 24


@dataclass(frozen=True)
class Reply:
    """A reply. `stop_reason`: as in the Messages API (`end_turn`, `max_tokens`, `refusal`, …).

    `cost`: the library's cost, for a model that is not in the price table.
    """

    text: str
    stop_reason: str
    usage: Usage
    model: str
    cost: Decimal | None = None


@dataclass(frozen=True)
class ModelPrompt:
    """The texts of one call. `messages` have the form of the Messages API. `hear`: as in `Call`."""

    step: str
    model: str
    effort: str
    system: str
    messages: list[dict[str, Any]]
    draft: type[Draft]
    hear: Callable[[str], None] | None = None

    @property
    def texts(self) -> list[str]:
        """All texts that are sent. They may contain people's words."""
        return [self.system, *(str(message["content"]) for message in self.messages)]


class Dialogue:
    """All requests of one call, within one time-out. `usage`, `cost` and `labels` are totals of all requests so far."""

    def __init__(self, question: ModelPrompt, prices: PriceTable, seconds: float) -> None:
        self.usage, self.cost, self.labels = Usage(), Decimal(0), list[str]()
        self.question, self._prices = question, prices
        self._ends = asyncio.get_running_loop().time() + seconds

    async def whole_answer(self, limit: int, request: Request) -> Reply:
        """Request a complete reply. If the reply is cut at `limit` tokens, request it once more with twice the limit.

        Raises `ModelRefused`, `Cut` (cut both times), `Unreadable` (empty), and the errors of a request.
        """
        step = self.question.step
        for max_tokens in (limit, 2 * limit):
            reply = await request(self, max_tokens)
            self._add(reply)
            match reply.stop_reason:
                case "refusal":
                    what = f"{self.question.model} declined to answer {step}"
                    raise ModelRefused(f"{what}: read the material, or set another model")
                case "model_context_window_exceeded":
                    raise of_failure(Failure(413, "model_context_window_exceeded"))
                case "max_tokens":
                    self.labels.append("limit_doubled")
                case _ if not reply.text.strip():
                    raise Unreadable(f"an empty answer (stop reason {reply.stop_reason or 'none'})", text="")
                case _:
                    return reply
        what = f"the answer of {step} was cut a second time, at {2 * limit} tokens"
        raise Cut(f"{what}: raise its limit or invite fewer people", text=reply.text)

    @property
    def left(self) -> float:
        """The seconds until the time-out."""
        return self._ends - asyncio.get_running_loop().time()

    def _add(self, reply: Reply) -> None:
        self.usage += replace(reply.usage, requests=0)
        known = (self._prices.cost(model, reply.usage) for model in (self.question.model, reply.model))
        cost = next((cost for cost in known if cost is not None), reply.cost)
        if cost is None:
            self.labels.append(PRICE_UNKNOWN)
        self.cost += cost or 0


Request = Callable[[Dialogue, int], Awaitable[Reply]]
"""Requests one reply with at most the given number of tokens, and adds the usage to the dialogue's `usage`.

If the server refuses a parameter, the request is repeated without this parameter.
"""


class ModelEngine(ABC):
    """An engine that asks a model. `steps`: the settings of each step. `idle`: the longest pause in a stream."""

    name: str

    def __init__(
        self, steps: Mapping[str, StepSettings], prices: PriceTable | None, prompts_folder: Path | None, idle: float
    ) -> None:
        self._steps, self._prices, self._folder, self._idle = steps, prices or shipped(), prompts_folder, idle

    @abstractmethod
    async def request(self, dialogue: Dialogue, limit: int) -> Reply:
        """Request one reply, as described at `Request`."""

    def model_for(self, step: str) -> str:
        return self._steps[step].model

    def limit_for(self, step: str, units: int = 0) -> int:
        """`max_tokens` of the first request of `step`. The limit grows with `units`."""
        return self._steps[step].limit + self._steps[step].limit_each * units

    def bound(self, step: str, prompt: str, units: int = 0) -> Bound:
        """The cost if the whole prompt is written to the cache and `max_tokens` is used up. A second request with twice
        the limit is not included.
        """
        sent = PROMPT_TOKENS + -(-4 * estimated_tokens(prompt) // 3)
        limit = self.limit_for(step, units)
        return Bound(sent + limit, self._largest_cost(self.model_for(step), sent, limit) or Decimal(0))

    def _largest_cost(self, model: str, sent: int, limit: int) -> Decimal | None:
        return self._prices.largest_cost(model, sent, limit)

    async def answer(self, step: Step[RequestT, DraftT], request: RequestT, call: Call) -> Answer[DraftT]:
        """Ask the model of `step`. In the answer to a repair, malformed list elements are removed singly and
        counted."""
        settings = self._steps[step.name]
        prompt = prompts.load(step.name, request.language, call.prompt_override, folder=self._folder)
        repair = prompts.reask(step.name, request.language, folder=self._folder)
        said = messages_of(rendering.blocks(request, prompt.parts), repair, call.reask)
        question = ModelPrompt(step.name, settings.model, settings.effort, prompt.text, said, step.draft, call.hear)
        seconds = step.call_seconds(PROXY_SECONDS) if call.seconds is None else call.seconds
        dialogue = Dialogue(question, self._prices, SHARE_OF_TIME * seconds)
        try:
            reply = await dialogue.whole_answer(self.limit_for(step.name, step.units(request)), self.request)
            draft, dropped = (
                (read(reply.text, step.draft), 0) if call.reask is None else salvage(reply.text, step.draft)
            )
        except EngineError as error:
            error.usage, error.cost, error.model = dialogue.usage, dialogue.cost, settings.model
            raise
        labels = [*dialogue.labels, *([f"unreadable_elements:{dropped}"] if dropped else [])]
        return Answer(
            draft=draft,
            text=reply.text,
            engine=self.name,
            model=reply.model or settings.model,
            usage=dialogue.usage,
            cost=dialogue.cost,
            labels=tuple(dict.fromkeys(labels)),
        )


def safe_words(message: str, sent: list[str]) -> str:
    """The service's message, for the operator. Empty if it quotes the request, which may contain people's texts."""
    words = message[:300]
    starts = range(max(0, len(words) - _OVERLAP) + 1)
    repeats = any(words[start : start + _OVERLAP] in text for start in starts for text in sent)
    return f": {words}" if words and not repeats else ""


def messages_of(blocks: tuple[rendering.Block, ...], repair_prompt: str, reask: Reask | None) -> list[dict[str, Any]]:
    """The user message with `blocks`. For a repair, the previous answer, `repair_prompt` and the complaints follow."""
    mark = {"cache_control": {"type": "ephemeral"}}
    content = [{"type": "text", "text": block.text} | (mark if block.cache else {}) for block in blocks]
    messages: list[dict[str, Any]] = [{"role": "user", "content": content}]
    if reask is None:
        return messages
    said = "\n".join((repair_prompt, "", *(f"- {line(complaint)}" for complaint in reask.complaints)))
    if not reask.previous.strip():
        content.append({"type": "text", "text": said})
        return messages
    return [
        *messages,
        {"role": "assistant", "content": reask.previous.rstrip()},
        {"role": "user", "content": said},
    ]
