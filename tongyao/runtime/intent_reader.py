"""Reads intents with the engine of formulations. The gateway's page shows partial results while the engine answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Final

import structlog
from pydantic import ValidationError
from pydantic_core import from_json

from tongyao.app.errors import Unavailable
from tongyao.llm import prompts
from tongyao.llm.engine import Answer, Call, CallKey, Engine, Usage
from tongyao.llm.errors import EngineError
from tongyao.protocol.model.process_settings import ProcessSettings
from tongyao.protocol.model.requests import FormulationRequest
from tongyao.protocol.model.steps import FORMULATE
from tongyao.protocol.model.tension import TensionDraft
from tongyao.records.model_calls import Ledger

log = structlog.get_logger()

SECONDS: Final = float(ProcessSettings().proxy_seconds)


class EngineIntentReader:
    """Reads intents with one engine. Each call counts towards the person's day budget, also if the page was closed."""

    def __init__(self, engine: Engine, ledger: Ledger) -> None:
        self._engine, self._ledger = engine, ledger
        self._calls = set[asyncio.Task[Answer[TensionDraft]]]()

    def most(self, request: FormulationRequest) -> Decimal:
        """Return the highest possible cost of a reading in US dollars."""
        return self._engine.bound(FORMULATE.name, request.model_dump_json()).cost

    def suggest(self, request: FormulationRequest, *, person: str) -> AsyncIterator[TensionDraft]:
        """Suggest requests from a person's profile. The call is a formulation with a different prompt."""
        return self.read(request, person=person, prompt=prompts.suggesting(request.language))

    async def read(
        self, request: FormulationRequest, *, person: str, prompt: str | None = None
    ) -> AsyncIterator[TensionDraft]:
        """Yield the partial draft whenever it has more quotes, and at the end the whole draft. Raises `Unavailable`."""
        heard: asyncio.Queue[str | None] = asyncio.Queue()
        call = asyncio.create_task(self._call(request, person, heard, prompt))
        self._calls.add(call)
        call.add_done_callback(self._ended)
        call.add_done_callback(lambda _: heard.put_nowait(None))
        shown = 0
        while (text := await heard.get()) is not None:
            draft = _so_far(text)
            if len(draft.quotes) > shown:
                shown = len(draft.quotes)
                yield draft
        try:
            yield call.result().draft
        except (EngineError, TimeoutError) as error:
            log.warning("an intent could not be read", reason=getattr(error, "reason", "timed_out"))
            raise Unavailable(
                "not_read", "the model gave no answer just now: try again later, or go on without"
            ) from None

    def _ended(self, call: asyncio.Task[Answer[TensionDraft]]) -> None:
        self._calls.discard(call)
        if not call.cancelled():
            call.exception()  # marks it as retrieved: if the page was closed, nothing else retrieves it

    async def _call(
        self, request: FormulationRequest, person: str, heard: asyncio.Queue[str | None], prompt: str | None
    ) -> Answer[TensionDraft]:
        call = Call(CallKey("", FORMULATE.name), prompt_override=prompt, seconds=SECONDS, hear=heard.put_nowait)
        try:
            async with asyncio.timeout(SECONDS):
                answer = await self._engine.answer(FORMULATE, request, call)
        except EngineError as error:
            await self._count(person, error.model, error.usage, error.cost)
            raise
        await self._count(person, answer.model, answer.usage, answer.cost)
        return answer

    async def _count(self, person: str, model: str, usage: Usage, cost: Decimal) -> None:
        await self._ledger.count_reading(person, engine=self._engine.name, model=model, usage=usage, cost=cost)


def _so_far(text: str) -> TensionDraft:
    """Return the complete quotes of an answer that is still being written."""
    begin = text.find("{")
    try:
        draft = from_json(text[begin:], allow_partial=True) if begin >= 0 else {}
        quotes = [quote for quote in draft.get("quotes", ()) if isinstance(quote, dict) and "quote" in quote]
        return TensionDraft.model_validate_json(json.dumps({"quotes": quotes}))
    except (ValueError, ValidationError, AttributeError):
        return TensionDraft()
