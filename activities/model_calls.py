"""One wanted answer → at most one settled answer (docs/protocol.md §8.1): claim, call, store; and one mending at most."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Final, Generic, NoReturn, TypeVar

from pydantic import BaseModel
from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from activities.budget import Purse
from activities.record import write_outbox
from tongyao.llm.engine import Answer, Bound, Call, CallKey, Engine, Reask, Usage
from tongyao.llm.errors import EngineError, OperatorNeeded, StepFailed, Transient, Unreadable
from tongyao.protocol.contracts.process import OPERATOR_NEEDED, STEP_FAILED, ActivityInput
from tongyao.protocol.model.process import Spent
from tongyao.records.library import Library
from tongyao.records.model_calls import Ledger

DraftT = TypeVar("DraftT", bound=BaseModel)
Ask = Callable[[Engine, Call], Awaitable[Answer[DraftT]]]

log = logging.getLogger(__name__)

_CONCLUDING: Final = ("plan", "deliver")
BEAT_SECONDS = 4
TIMED_OUT = "timed_out"


class Settled(Generic[DraftT]):
    """A draft that is stored, and the raw text it was read from.

    `stale`: it was given to another input than this one (something was corrected, or a mandate changed, between the
    call and a repetition of its step). It is returned all the same: one settled answer per key is the rule, and what
    was said is checked against what holds now.
    """

    def __init__(self, draft: DraftT, text: str, labels: tuple[str, ...] = (), *, stale: bool = False) -> None:
        self.draft, self.text, self.labels, self.stale = draft, text, labels, stale


class Settling:
    """Asks engines on behalf of the activities, through the ledger."""

    def __init__(
        self, engines: Mapping[str, Engine], ledger: Ledger, *, worker: str, purse: Purse | None = None
    ) -> None:
        """`engines`: by step, with `*` for all steps that have none of their own. `purse`: what may be spent."""
        self._engines = engines
        self._ledger = ledger
        self._worker = worker
        self._purse = purse

    def engine(self, step: str) -> Engine:
        return self._engines.get(step) or self._engines["*"]

    async def limit(self, what: ActivityInput) -> None:
        """Take note of the budget that a step brings along."""
        if self._purse is not None:
            await self._purse.limit(what)

    def least(self) -> Bound:
        """What a process must find in a budget to be able to begin: one turn, and the plan that is kept for its end."""
        turn, plan = (self.engine(step).bound(step, "", 1) for step in ("project", "plan"))
        return Bound(turn.tokens + plan.tokens, turn.cost + plan.cost)

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
        units: int = 0,
    ) -> Settled[DraftT]:
        """The settled answer for `key`: the stored one, or a new call of at most `seconds`.

        `units`: pairs or participants, for the most that the call can cost. Raises the errors of `tongyao.llm.errors`;
        each failed attempt stands in the ledger with its reason.
        """
        if reask is not None:
            key = replace(key, reask=1)
        told = request.model_dump_json()
        wanted = _hash(told, reask, prompt_override)
        if (settled := await self._ledger.settled(key)) is not None:
            stale = settled.input_hash != wanted
            if stale:
                log.warning("the settled answer of %s, round %d, was given to another input", key.step, key.round)
            draft = draft_type.model_validate_json(settled.draft_json)
            return Settled(draft, settled.text, settled.labels, stale=stale)
        engine = self.engine(key.step)
        async with self._paid(key, told, units, seconds) as bill:
            attempt = await self._ledger.claim(
                key, input_hash=wanted, engine=engine.name, model=engine.model_for(key.step), worker=self._worker
            )
            call = Call(key=key, reask=reask, prompt_override=prompt_override, seconds=seconds, beat=activity.heartbeat)
            try:
                async with asyncio.timeout(seconds):
                    answer = await ask(engine, call)
            except TimeoutError:
                await self._ledger.fail(key, attempt, TIMED_OUT)
                raise Transient(f"no answer within {seconds:g} s", reason=TIMED_OUT) from None
            except EngineError as error:
                bill.append((error.usage, error.cost))
                await self._ledger.fail(key, attempt, error.reason, usage=error.usage, cost=error.cost)
                raise
            except asyncio.CancelledError:
                raise  # the attempt stays claimed: whoever calls again finds it orphaned
            bill.append((answer.usage, answer.cost))
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

    @asynccontextmanager
    async def _paid(
        self, key: CallKey, told: str, units: int, seconds: float
    ) -> AsyncIterator[list[tuple[Usage, Decimal]]]:
        """The budget of one call: the most it can cost is set aside; what the block puts on its bill is counted.

        Rounds leave room for a plan: when the money ends, there must be something left to conclude with.
        """
        bill: list[tuple[Usage, Decimal]] = []
        root = await self._purse.root(key.process) if self._purse else None
        if self._purse is None or root is None:
            yield bill
            return
        most = self.engine(key.step).bound(key.step, told, units)
        keep = self.engine("plan").bound("plan", told, units) if key.step not in _CONCLUDING else Bound()
        await self._purse.reserve(root, key, most, seconds=seconds, keep=keep)
        try:
            yield bill
        finally:
            used = sum((usage for usage, _ in bill), Usage())
            await asyncio.shield(self._purse.settle(root, key, used, sum((cost for _, cost in bill), Decimal(0))))

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
        units: int = 0,
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
                units=units,
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
async def model_step(library: Library, settling: Settling, what: ActivityInput) -> AsyncIterator[None]:
    """The frame of every activity that asks a model: outbox and budget first, beats, engine errors turned into Temporal's."""
    await write_outbox(library, what)
    await settling.limit(what)
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
        raise ApplicationError(f"{error.reason}: {error}", type=STEP_FAILED, non_retryable=True) from error
    raise error


def _hash(told: str, reask: Reask | None, prompt_override: str | None) -> str:
    digest = hashlib.sha256(told.encode())
    for part in (prompt_override or "", *(reask.complaints if reask else ())):
        digest.update(b"\x1f" + part.encode())
    return digest.hexdigest()
