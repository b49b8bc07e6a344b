"""The judge's client of the Anthropic Messages API. It is used outside any process."""

from __future__ import annotations

from decimal import Decimal
from typing import Final, TypeVar

from tongyao.llm.anthropic.client import client_of
from tongyao.llm.anthropic.dialogue import Dialogue, messages_of
from tongyao.llm.anthropic.parameters import Parameters
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
        self._prices = prices or shipped()
        self._parameters = Parameters(api_key=api_key if base_url else "")
        self._client = client_of(api_key, base_url=base_url, seconds=SECONDS, max_retries=2)

    async def ask(self, system: str, text: str, draft: type[DraftT]) -> Answer[DraftT]:
        dialogue = Dialogue(
            self._client,
            self._parameters,
            self._prices,
            step="judge",
            model=self.model,
            effort="high",
            system=system,
            messages=messages_of((Block(text),), "", None),
            draft=draft,
            idle=120.0,
            seconds=SECONDS,
        )
        reply = await dialogue.whole_answer(LIMIT)
        return Answer(
            draft=read(reply.text, draft),
            text=reply.text,
            engine="anthropic",
            model=reply.model or self.model,
            usage=dialogue.usage,
            cost=dialogue.cost or Decimal(0),
        )

    async def aclose(self) -> None:
        await self._client.close()
