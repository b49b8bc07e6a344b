"""One call: as many requests as it takes to get one whole answer, within one time and with one bill."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from anthropic import AsyncAnthropic

from tongyao.llm.anthropic.parameters import Parameters
from tongyao.llm.anthropic.stream import Rejected, Reply, converse
from tongyao.llm.engine import Reask, Usage
from tongyao.llm.errors import Cut, Failure, OperatorNeeded, Refused, Unreadable, of_failure
from tongyao.llm.prices import PriceTable
from tongyao.llm.rendering import Block, line
from tongyao.protocol.model.value import Draft


class Dialogue:
    """What one call sends, and what it has used so far: `usage`, `cost` and `labels` count every request of
    it.
    """

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
        beat: Callable[[], None],
        idle: float,
        seconds: float,
    ) -> None:
        self.usage, self.cost, self.labels = Usage(), Decimal(0), list[str]()
        self._client, self._parameters, self._prices = client, parameters, prices
        self._step, self._model, self._effort = step, model, effort
        self._system, self._messages, self._draft = system, messages, draft
        self._beat, self._idle = beat, idle
        self._ends = asyncio.get_running_loop().time() + seconds

    async def whole_answer(self, limit: int) -> Reply:
        """A reply that ended by itself: a cut one is asked for once more with twice `limit`.

        Raises `Refused`, `Cut` when it was cut both times, `Unreadable` when it is empty, and what
        `converse` raises.
        """
        for room in (limit, 2 * limit):
            reply = await self._request(room)
            match reply.stop_reason:
                case "refusal":
                    what = f"{self._model} declined to answer {self._step}"
                    raise Refused(f"{what}: read the material, or set another model")
                case "model_context_window_exceeded":
                    raise of_failure(Failure(413, "model_context_window_exceeded"))
                case "max_tokens":
                    self.labels.append("limit_doubled")
                case _ if not reply.text.strip():
                    raise Unreadable(f"an empty answer (stop reason {reply.stop_reason or 'none'})", text="")
                case _:
                    return reply
        what = f"{self._step} was cut at {2 * limit} tokens, the second time"
        raise Cut(f"{what}: raise its limit or invite fewer people", text=reply.text)

    async def _request(self, limit: int) -> Reply:
        """One request; again without what the server refuses to know, named or not."""
        trying = knocked = False
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
                reply = await converse(self._client, body, beat=self._beat, idle=self._idle, total=left)
            except OperatorNeeded as stop:
                if stop.reason == "unauthorized" and not knocked and self._parameters.try_other_header():
                    knocked = True
                    continue
                if knocked:
                    self._parameters.give_up_header()
                raise
            except Rejected as rejected:
                if self._parameters.learn(body, rejected.failure):
                    continue
                if not trying and self._parameters.try_without(body, rejected.failure):
                    trying = True
                    continue
                if trying:
                    self._parameters.restore(body)
                error = of_failure(rejected.failure)
                error.args = (f"{error}{self._safe_words(rejected.failure.message)}",)
                raise error from None
            self._pay(reply)
            return reply

    def _pay(self, reply: Reply) -> None:
        self.usage += replace(reply.usage, requests=0)
        for model in (self._model, reply.model):
            if (cost := self._prices.cost(model, reply.usage)) is not None:
                self.cost += cost
                return
        self.labels.append("price_unknown")

    def _safe_words(self, message: str) -> str:
        """The service's own words for an operator, unless they repeat what anybody wrote."""
        words = message[:300]
        sent = [self._system, *(str(message["content"]) for message in self._messages)]
        starts = range(max(0, len(words) - _OVERLAP) + 1)
        repeats = any(words[start : start + _OVERLAP] in text for start in starts for text in sent)
        return f": {words}" if words and not repeats else ""


_OVERLAP: Final = 24


def messages_of(blocks: tuple[Block, ...], mending: str, reask: Reask | None) -> list[dict[str, Any]]:
    """The user's message of `blocks`; after a complaint, the conversation that goes on with `mending`."""
    mark = {"cache_control": {"type": "ephemeral"}}
    content = [{"type": "text", "text": block.text} | (mark if block.cache else {}) for block in blocks]
    messages: list[dict[str, Any]] = [{"role": "user", "content": content}]
    if reask is None:
        return messages
    said = "\n".join((mending, "", *(f"- {line(complaint)}" for complaint in reask.complaints)))
    if not reask.previous.strip():
        content.append({"type": "text", "text": said})
        return messages
    return [
        *messages,
        {"role": "assistant", "content": reask.previous.rstrip()},
        {"role": "user", "content": said},
    ]
