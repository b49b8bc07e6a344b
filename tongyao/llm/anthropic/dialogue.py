"""One model call: all requests for one complete answer, within one time-out, with their total usage."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from anthropic import AsyncAnthropic

from tongyao.llm.anthropic.parameters import Parameters
from tongyao.llm.anthropic.stream import Rejected, Reply, converse
from tongyao.llm.engine import PRICE_UNKNOWN, Reask, Usage
from tongyao.llm.errors import Cut, Failure, ModelRefused, OperatorNeeded, Unreadable, of_failure
from tongyao.llm.labels import line
from tongyao.llm.prices import PriceTable
from tongyao.llm.rendering import Block
from tongyao.protocol.model.value import Draft


class Dialogue:
    """The requests of one call. `usage`, `cost` and `labels` are totals of all requests so far."""

    def __init__(
        self,
        client: AsyncAnthropic,
        parameters: Parameters,
        prices: PriceTable,
        *,
        step: str,
        model: str,
        effort: str,
        system: str,
        messages: list[dict[str, Any]],
        draft: type[Draft],
        idle: float,
        seconds: float,
        hear: Callable[[str], None] | None = None,
    ) -> None:
        self.usage, self.cost, self.labels = Usage(), Decimal(0), list[str]()
        self._client, self._parameters, self._prices = client, parameters, prices
        self._step, self._model, self._effort = step, model, effort
        self._system, self._messages, self._draft = system, messages, draft
        self._idle, self._hear = idle, hear
        self._ends = asyncio.get_running_loop().time() + seconds

    async def whole_answer(self, limit: int) -> Reply:
        """A complete reply. One that was cut at `limit` is asked for once more with twice as much.

        Raises `ModelRefused`, `Cut` when it was cut both times, `Unreadable` when it is empty, and what
        `converse` raises.
        """
        for max_tokens in (limit, 2 * limit):
            reply = await self._request(max_tokens)
            match reply.stop_reason:
                case "refusal":
                    what = f"{self._model} declined to answer {self._step}"
                    raise ModelRefused(f"{what}: read the material, or set another model")
                case "model_context_window_exceeded":
                    raise of_failure(Failure(413, "model_context_window_exceeded"))
                case "max_tokens":
                    self.labels.append("limit_doubled")
                case _ if not reply.text.strip():
                    raise Unreadable(f"an empty answer (stop reason {reply.stop_reason or 'none'})", text="")
                case _:
                    return reply
        what = f"the answer of {self._step} was cut a second time, at {2 * limit} tokens"
        raise Cut(f"{what}: raise its limit or invite fewer people", text=reply.text)

    async def _request(self, limit: int) -> Reply:
        """Return one reply. If the server refuses a parameter, the request is repeated without it."""
        other_header = False
        with_output_config: dict[str, Any] | None = None
        while True:
            body = self._parameters.body(
                self._model,
                limit=limit,
                effort=self._effort,
                system=self._system,
                messages=self._messages,
                draft=self._draft,
            )
            self.usage += Usage(requests=1)
            left = self._ends - asyncio.get_running_loop().time()
            try:
                reply = await converse(self._client, body, idle=self._idle, total=left, hear=self._hear)
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
                sent = [self._system, *(str(message["content"]) for message in self._messages)]
                error.args = (f"{error}{safe_words(rejected.failure.message, sent)}",)
                raise error from None
            self._add_usage(reply)
            return reply

    def _add_usage(self, reply: Reply) -> None:
        self.usage += replace(reply.usage, requests=0)
        for model in (self._model, reply.model):
            if (cost := self._prices.cost(model, reply.usage)) is not None:
                self.cost += cost
                return
        self.labels.append(PRICE_UNKNOWN)


_OVERLAP: Final = 24


def safe_words(message: str, sent: list[str]) -> str:
    """The service's message for the operator. Empty if it quotes the request, which may contain people's texts."""
    words = message[:300]
    starts = range(max(0, len(words) - _OVERLAP) + 1)
    repeats = any(words[start : start + _OVERLAP] in text for start in starts for text in sent)
    return f": {words}" if words and not repeats else ""


def messages_of(blocks: tuple[Block, ...], repair_prompt: str, reask: Reask | None) -> list[dict[str, Any]]:
    """The user's message with `blocks`. For a repair, the previous answer, `repair_prompt` and the complaints follow."""
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
