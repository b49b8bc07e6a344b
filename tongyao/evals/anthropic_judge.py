"""The judge's client of the Anthropic Messages API. It is used outside any process."""

from __future__ import annotations

from typing import Final, TypeVar

from tongyao.llm.anthropic.engine import AnthropicEngine
from tongyao.llm.dialogue import Dialogue, ModelPrompt, messages_of
from tongyao.llm.engine import Answer
from tongyao.llm.prices import PriceTable, shipped
from tongyao.llm.rendering import Block
from tongyao.llm.structured_output.parsing import read
from tongyao.protocol.model.value import Draft

DraftT = TypeVar("DraftT", bound=Draft)

SECONDS: Final = 600.0
LIMIT: Final = 16_000


class AnthropicJudge:
    """A `Judge` that asks one model. Raises the errors of `tongyao.llm.errors`. Close with `aclose`."""

    def __init__(self, *, api_key: str, base_url: str | None, model: str, prices: PriceTable | None = None) -> None:
        self.model = model
        self._engine = AnthropicEngine(api_key=api_key, base_url=base_url, idle=120.0, retries=2)
        self._prices = prices or shipped()

    async def ask(self, system: str, text: str, draft: type[DraftT]) -> Answer[DraftT]:
        question = ModelPrompt("judge", self.model, "high", system, messages_of((Block(text),), "", None), draft)
        dialogue = Dialogue(question, self._prices, SECONDS)
        reply = await dialogue.whole_answer(LIMIT, self._engine.request)
        return Answer(
            draft=read(reply.text, draft),
            text=reply.text,
            engine="anthropic",
            model=reply.model or self.model,
            usage=dialogue.usage,
            cost=dialogue.cost,
        )

    async def aclose(self) -> None:
        await self._engine.aclose()
