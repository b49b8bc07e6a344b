"""One wanted answer → at most one settled answer (docs/protocol.md §8.1): claim, call, store; and one mending at most."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from typing import Generic, NoReturn, TypeVar

from pydantic import BaseModel
from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from tongyao.llm.engine import Answer, Call, CallKey, Engine, Reask
from tongyao.llm.errors import EngineError, OperatorNeeded, StepFailed, Transient, Unreadable
from tongyao.protocol.contracts import OPERATOR_NEEDED
from tongyao.protocol.process import Spent
from tongyao.records.ledger import Ledger

DraftT = TypeVar("DraftT", bound=BaseModel)
Ask = Callable[[Engine, Call], Awaitable[Answer[DraftT]]]

BEAT_SECONDS = 4
TIMED_OUT = "timed_out"


class Settled(Generic[DraftT]):
    """A draft that is stored, and the raw text it was read from."""

    def __init__(self, draft: DraftT, text: str, labels: tuple[str, ...] = ()) -> None:
        self.draft, self.text, self.labels = draft, text, labels


class Settling:
    """Asks engines on behalf of the activities, through the ledger."""

    def __init__(self, engines: Mapping[str, Engine], ledger: Ledger, *, worker: str) -> None:
        """`engines`: by step, with `*` for all steps that have none of their own."""
        self._engines = engines
        self._ledger = ledger
        self._worker = worker

    def engine(self, step: str) -> Engine:
        return self._engines.get(step) or self._engines["*"]

    async def answer(
        self,
        key: CallKey,
        ask: Ask[DraftT],
        draft_type: type[DraftT],
        *,
        request: BaseModel,
        owner: str,
        seconds: float,
        reask: Reask | None = None,
        prompt_override: str | None = None,
    ) -> Settled[DraftT]:
        """The settled answer for `key`: the stored one, or a new call of at most `seconds`.

        Raises the errors of `tongyao.llm.errors`; each failed attempt stands in the ledger with its reason.
        """
        if reask is not None:
            key = replace(key, reask=1)
        if (settled := await self._ledger.settled(key)) is not None:
            return Settled(draft_type.model_validate_json(settled.draft_json), settled.text, settled.labels)
        engine = self.engine(key.step)
        attempt = await self._ledger.claim(
            key,
            input_hash=_hash(request, reask, prompt_override),
            engine=engine.name,
            model=engine.model_for(key.step),
            worker=self._worker,
        )
        call = Call(key=key, reask=reask, prompt_override=prompt_override, beat=activity.heartbeat)
        try:
            async with asyncio.timeout(seconds):
                answer = await ask(engine, call)
        except TimeoutError:
            await self._ledger.fail(key, attempt, TIMED_OUT)
            raise Transient(f"no answer within {seconds:g} s", reason=TIMED_OUT) from None
        except EngineError as error:
            await self._ledger.fail(key, attempt, error.reason, usage=error.usage, cost=error.cost)
            raise
        except asyncio.CancelledError:
            raise  # the attempt stays claimed: whoever calls again finds it orphaned
        stored = await self._ledger.settle(
            key,
            attempt,
            owner=owner,
            text=answer.text,
            draft_json=answer.draft.model_dump_json(),
            engine=answer.engine,
            model=answer.model,
            usage=answer.usage,
            cost=answer.cost,
            labels=answer.labels,
        )
        return Settled(draft_type.model_validate_json(stored.draft_json), stored.text, stored.labels)

    async def readable(
        self,
        key: CallKey,
        ask: Ask[DraftT],
        draft_type: type[DraftT],
        *,
        request: BaseModel,
        owner: str,
        seconds: float,
        prompt_override: str | None = None,
    ) -> tuple[Settled[DraftT], bool]:
        """As `answer`; an unreadable one is sent back once. Second value: whether that one mending is used up."""

        async def once(reask: Reask | None) -> Settled[DraftT]:
            return await self.answer(
                key,
                ask,
                draft_type,
                request=request,
                owner=owner,
                seconds=seconds,
                reask=reask,
                prompt_override=prompt_override,
            )

        try:
            return await once(None), False
        except Unreadable as error:
            complaint = f"this could not be read as the wanted structure: {error}"
            return await once(Reask(previous=error.text, complaints=(complaint,))), True

    async def spent(self, process_id: str) -> Spent:
        """What the process has used so far, failed attempts included."""
        totals = await self._ledger.usage(process_id)
        return Spent(tokens=totals.tokens, cost=totals.cost, calls=totals.calls)


@asynccontextmanager
async def model_step() -> AsyncIterator[None]:
    """The frame of every activity that asks a model: beats while it runs, and turns engine errors into Temporal's."""
    beating = asyncio.create_task(_beat())
    try:
        yield
    except EngineError as error:
        _raise(error)
    finally:
        beating.cancel()
        with suppress(asyncio.CancelledError):
            await beating


def last_attempt(limit: int) -> bool:
    """Whether Temporal will not call this activity again after `limit` attempts."""
    return activity.info().attempt >= limit


async def _beat() -> None:
    while True:
        activity.heartbeat()
        await asyncio.sleep(BEAT_SECONDS)


def _raise(error: EngineError) -> NoReturn:
    if isinstance(error, OperatorNeeded):
        raise ApplicationError(str(error), type=OPERATOR_NEEDED, non_retryable=True) from error
    if isinstance(error, Transient):
        delay = timedelta(seconds=error.retry_after) if error.retry_after is not None else None
        raise ApplicationError(
            str(error), type="Transient", next_retry_delay=delay, category=ApplicationErrorCategory.BENIGN
        ) from error
    if isinstance(error, StepFailed | Unreadable):
        raise ApplicationError(f"{error.reason}: {error}", type="StepFailed", non_retryable=True) from error
    raise error


def _hash(request: BaseModel, reask: Reask | None, prompt_override: str | None) -> str:
    digest = hashlib.sha256(request.model_dump_json().encode())
    for part in (prompt_override or "", *(reask.complaints if reask else ())):
        digest.update(b"\x1f" + part.encode())
    return digest.hexdigest()
