"""Idempotent model calls: at most one settled answer per key, and at most one repair (docs/protocol.md §8.1)."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from functools import cached_property, wraps
from pathlib import Path
from typing import Final, Generic, NoReturn, TypeVar

from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from activities.heartbeats import heartbeats
from activities.llm import scene_prompts
from activities.llm.budget import SpendingLimits
from activities.record import write_outbox
from tongyao.heavy_work import on_behalf_of
from tongyao.llm import prompts
from tongyao.llm.engine import PRICE_UNKNOWN, Bound, Call, CallKey, Engine, OutsideReply, Reask
from tongyao.llm.errors import (
    AnswerPending,
    DayBudgetUsed,
    EngineError,
    OperatorNeeded,
    OutOfBudget,
    StepFailed,
    Transient,
    Unreadable,
)
from tongyao.protocol.contracts.process import OPERATOR_NEEDED, STEP_FAILED, ActivityInput, Fork, Pending, ProcessInput
from tongyao.protocol.guards.checks import Checks, complaint, complaints_of, merged, strike
from tongyao.protocol.model import steps
from tongyao.protocol.model.calls import Usage
from tongyao.protocol.model.process import Spent
from tongyao.protocol.model.process_settings import ProcessSettings
from tongyao.protocol.model.steps import DraftT, RequestT, Step
from tongyao.records.budgets import BudgetExceeded, Reservation
from tongyao.records.model_calls import TAKEN, CallClaim, Ledger, NoSlot, RepliedCall, SettledCall, WaitingCall
from tongyao.records.process.announcements import FORK_ENGINES, START
from tongyao.records.process.process_rows import StepRow
from tongyao.records.repositories import Repositories

TIMED_OUT = "timed_out"
UNREADABLE_MARK = "unreadable"
UNREADABLE = Reask(previous="", complaints=(), unreadable=True)
"""The repair request for every unreadable answer."""


@dataclass(frozen=True)
class Question(Generic[RequestT, DraftT]):
    """A request to a model step.

    `owner`: the owner of the words in the answer. `seconds`: the timeout of one call. `waiting`: ids of the calls of
    this execution that wait for an answer from outside. `engine`: replaces the installation's engine. `takes`: in a
    fork, whether the origin's answer to the same question is copied.
    """

    step: Step[RequestT, DraftT]
    key: CallKey
    request: RequestT
    owner: str
    seconds: float
    prompt_override: str | None = None
    waiting: list[str] = field(default_factory=list)
    engine: Engine | None = None
    takes: bool = False

    @cached_property
    def request_json(self) -> str:
        return self.request.model_dump_json()


@dataclass(frozen=True)
class Settled(Generic[DraftT]):
    """A stored draft, and the raw text from which it was parsed."""

    draft: DraftT
    text: str


POLL_SECONDS: Final = 0.2
"""Mean time until the second attempt to claim a call, while calls in flight hold reservations or all slots. Each further
wait is half as long again, up to `LONGEST_POLL_SECONDS`."""

LONGEST_POLL_SECONDS: Final = 1.0

SLOT_SECONDS: Final = 20.0
"""Seconds that a call waits for a slot. The timeout of a step leaves 30 s more than its calls need."""

SLOT_AGAIN_SECONDS: Final = 5.0

LEASE_MARGIN_SECONDS: Final = 30.0
"""A call holds its slot for its timeout and this time at most: it also stores the answer."""


MakeEngines = Callable[[str, Mapping[str, str]], Mapping[str, Engine]]
"""Takes the name of an engine (empty: the installation's) and models by step. Returns the engine of each step."""


class ModelCalls:
    """Calls engines for the activities, and records the calls in the ledger."""

    def __init__(
        self,
        engines: Mapping[str, Engine],
        ledger: Ledger,
        *,
        worker: str,
        limits: SpendingLimits | None = None,
        most_at_once: int | None = None,
        prompt_folder: Path | None = None,
        make_engines: MakeEngines | None = None,
    ) -> None:
        """`engines`: engines by step, with the key `*` for all other steps. `worker`: the worker's name in the ledger.

        `limits`: checks budgets and day budgets. `most_at_once`: the number of slots, one for each concurrent
        call of all workers; None means no limit. `prompt_folder`: prompts that replace the included ones.
        `make_engines`: makes the engines of a fork that names its own.
        """
        self._make_engines = make_engines
        self._made: dict[str, Mapping[str, Engine]] = {}
        self._most_at_once = most_at_once
        self._engines = engines
        self._ledger = ledger
        self._worker = worker
        self._limits = limits
        self._prompt_folder = prompt_folder

    def engine(self, step: str) -> Engine:
        return self._engines.get(step) or self._engines["*"]

    def engine_of(self, step: str, process: StepRow) -> Engine:
        """Return the engine of a step in this process. A fork may name its own engine. Raises `SettingsError`."""
        chosen = process.manifest.get(FORK_ENGINES)
        if not chosen or self._make_engines is None:
            return self.engine(step)
        name = json.dumps(chosen, sort_keys=True)
        if name not in self._made:
            self._made[name] = self._make_engines(chosen.get("engine") or "", chosen.get("models") or {})
        return self._made[name][step]

    async def set_limits(self, what: ActivityInput, row: StepRow) -> None:
        """Set the budget of the process's tree to the limits in the activity's input."""
        if self._limits is not None:
            await self._limits.set_for(what, row)

    def minimum_budget(self) -> Bound:
        """Return the smallest remaining budget with which a process may begin: one projection and the plan."""
        turn, plan = (self.engine(step.name).bound(step.name, "", 1) for step in (steps.PROJECT, steps.PLAN))
        return Bound(turn.tokens + plan.tokens, turn.cost + plan.cost)

    async def spent(self, process_id: str) -> Spent:
        """Return the use of the process so far, including failed attempts."""
        totals = await self._ledger.usage(process_id)
        return Spent(tokens=totals.tokens, cost=totals.cost, calls=totals.calls)

    async def ask_and_review(
        self,
        question: Question[RequestT, DraftT],
        checks: Checks[DraftT, RequestT],
        guards: Counter[str] | None = None,
    ) -> Settled[DraftT]:
        """Ask, check the answer, send the complaints back once, merge, check again, and strike remaining faults.

        If the first answer is unreadable, its repair is the only one. If the second call fails, the faults of the first
        answer are struck. Raises the errors of `ask`. `guards` counts `reasked` (complaints that were sent back),
        `struck`, each complaint that remained (under its reason), and the reason for which a second call failed.
        """
        counted = Counter[str]() if guards is None else guards
        settled, repaired = await self.ask(question)
        draft = settled.draft
        complaints = complaints_of(draft, question.request, checks)
        told = tuple(complaint.text for complaint in complaints if complaint.text)
        if told and not repaired:
            counted["reasked"] += len(told)
            try:
                second = await self.call(question, Reask(previous=settled.text, complaints=told))
            except (StepFailed, Unreadable, OutOfBudget) as error:
                counted[error.reason] += 1
            else:
                draft = merged(draft, second.draft, complaints)
                complaints = complaints_of(draft, question.request, checks)
        draft, struck = strike(draft, complaints)
        counted["struck"] += struck
        counted.update(complaint.reason for complaint in complaints)
        return replace(settled, draft=draft)

    async def ask(self, question: Question[RequestT, DraftT]) -> tuple[Settled[DraftT], bool]:
        """Like `call`, but sends an unreadable answer back once. The second value states whether this repair was used.

        If a worker that died had settled the repair, that answer is returned, and the first question is not asked
        again.
        """
        try:
            return await self._call(question, None, UNREADABLE)
        except Unreadable as error:
            told = complaint(question.request.language, "unreadable", error=error)
            return await self.call(question, replace(UNREADABLE, previous=error.text, complaints=(told,))), True

    async def call(self, question: Question[RequestT, DraftT], reask: Reask | None = None) -> Settled[DraftT]:
        """Return the settled answer for the key of the question or its repair (`reask`). If no settled answer is
        stored, the engine is called.

        A stored answer to another input is not used. The input can change with a mandate or a reset of the workflow.
        Raises the errors of `tongyao.llm.errors`. The ledger keeps each failed attempt with its reason.
        """
        settled, _ = await self._call(question, reask)
        return settled

    async def _call(
        self, question: Question[RequestT, DraftT], reask: Reask | None, repair: Reask | None = None
    ) -> tuple[Settled[DraftT], bool]:
        """Like `call`, but also accepts a stored answer to `repair`. The second value states whether that answer was
        used."""
        step, seconds = question.step, question.seconds
        key = question.key if reask is None else replace(question.key, reask=1)
        engine = question.engine or self.engine(step.name)
        if question.takes and (taken := await self._taken(question, key, reask, repair)) is not None:
            return _read(question, taken), taken.reask > key.reask
        claim: CallClaim | SettledCall | WaitingCall | RepliedCall | None = None
        try:
            claim = await self._claim(question, key, reask, repair)
            if isinstance(claim, SettledCall):
                return _read(question, claim), claim.reask > key.reask
            if isinstance(claim, WaitingCall):
                raise _pending(question, claim.call_id)
            reply = None
            if isinstance(claim, RepliedCall):
                reply, claim = OutsideReply(claim.text, claim.answerer), claim.claim
            call = Call(
                key=key,
                reask=reask,
                prompt_override=question.prompt_override,
                seconds=seconds,
                reply=reply,
            )
            try:
                async with asyncio.timeout(seconds):
                    answer = await engine.answer(step, question.request, call)
            except TimeoutError:
                await self._ledger.fail(key, claim, TIMED_OUT)
                raise Transient(f"no answer within {seconds:g} s", reason=TIMED_OUT) from None
            except AnswerPending as asked:
                shows = "table" if step.name in _OF_THE_TABLE else f"person/{question.owner}"
                request, tokens = asked.request, asked.tokens
                call_id = await self._ledger.wait(
                    key, claim, owner=question.owner, shows=shows, request=request, tokens=tokens
                )
                raise _pending(question, call_id) from None
            except EngineError as error:
                await self._ledger.fail(key, claim, error.reason, usage=error.usage, cost=error.cost)
                raise
            settled = await self._ledger.settle(
                key,
                claim,
                owner=question.owner,
                text=answer.text,
                draft_json=answer.draft.model_dump_json(),
                engine=answer.engine,
                model=answer.model,
                usage=answer.usage,
                cost=answer.cost or (None if PRICE_UNKNOWN in answer.labels else answer.cost),
                labels=answer.labels,
            )
        except EngineError:
            raise  # nothing is reserved: the attempt has ended, or was never claimed
        except BaseException:
            attempt = claim.attempt if isinstance(claim, CallClaim) else None
            await asyncio.shield(self._ledger.release(key, worker=self._worker, attempt=attempt))
            raise
        return _read(question, settled), False

    async def _taken(
        self, question: Question[RequestT, DraftT], key: CallKey, reask: Reask | None, repair: Reask | None
    ) -> SettledCall | None:
        """Take the answer that the origin of a fork got to the same question. It costs nothing. None if the origin has none."""
        engine, prompt = question.engine or self.engine(question.step.name), self._prompt(question)
        hashes = [_input_hash(question, one) for one in (reask, *((repair,) if repair is not None else ()))]
        model = engine.model_for(question.step.name)
        found = await self._ledger.of_origin(
            key, input_hashes=hashes, prompt_hash=prompt.sha256, asked_of=f"{engine.name}/{model}"
        )
        if found is None:
            return None
        key = replace(key, reask=found.reask)
        try:
            claim = await self._ledger.claim(
                key,
                input_hash=found.input_hash,
                prompt_hash=prompt.sha256,
                engine=engine.name,
                model=model,
                worker=self._worker,
                owner=question.owner,
            )
        except BudgetExceeded:
            return None  # the budget is overdrawn, so nothing can be claimed
        if isinstance(claim, SettledCall):
            return claim
        if not isinstance(claim, CallClaim):
            return None
        return await self._ledger.settle(
            key,
            claim,
            owner=question.owner,
            text=found.text,
            draft_json=found.draft_json,
            engine=found.engine,
            model=found.model,
            usage=Usage(),
            cost=Decimal(0),
            labels=tuple(dict.fromkeys((*found.labels, TAKEN))),
        )

    def _prompt(self, question: Question[RequestT, DraftT]) -> prompts.Prompt:
        return prompts.load(
            question.step.name, question.request.language, question.prompt_override, folder=self._prompt_folder
        )

    async def _claim(
        self, question: Question[RequestT, DraftT], key: CallKey, reask: Reask | None, repair: Reask | None
    ) -> CallClaim | SettledCall | WaitingCall | RepliedCall:
        """Return a claim within the limits, or the answer that is already settled. A claimed call holds a slot.

        If only reservations of calls in flight fill the budget, waits for them without a slot, at most for the timeout
        of one call. Raises `OutOfBudget`, `DayBudgetUsed`. Raises `Transient` if no slot becomes free; the step is then
        retried.
        """
        if self._limits is not None:
            await self._limits.check_day(key.process)
        prompt = self._prompt(question)
        engine, reservation = question.engine or self.engine(question.step.name), self._reservation(question)
        until = time.monotonic() + question.seconds
        slot_until = time.monotonic() + SLOT_SECONDS
        input_hash = _input_hash(question, reask)
        repair_hash = _input_hash(question, repair) if repair is not None else ""
        pause = POLL_SECONDS
        while True:
            try:
                return await self._ledger.claim(
                    key,
                    input_hash=input_hash,
                    repair_hash=repair_hash,
                    prompt_hash=prompt.sha256,
                    engine=engine.name,
                    model=engine.model_for(question.step.name),
                    worker=self._worker,
                    owner=question.owner,
                    reserve=reservation,
                    seconds=question.seconds + LEASE_MARGIN_SECONDS,
                    most=self._most_at_once,
                )
            except BudgetExceeded as full:
                if not full.in_flight or time.monotonic() >= until:
                    raise OutOfBudget(str(full)) from None
                slot_until = time.monotonic() + SLOT_SECONDS
            except NoSlot as full:
                if time.monotonic() >= slot_until:
                    raise Transient(str(full), reason="no_slot", retry_after=SLOT_AGAIN_SECONDS) from full
            await asyncio.sleep(pause * random.uniform(0.5, 1.5))
            pause = min(pause * 1.5, LONGEST_POLL_SECONDS)

    def _reservation(self, question: Question[RequestT, DraftT]) -> Reservation:
        """Return the highest possible cost of one call. Steps before the plan also keep enough budget for the plan."""
        step, units, request_json = question.step, question.step.units(question.request), question.request_json
        bound = (question.engine or self.engine(step.name)).bound(step.name, request_json, units)
        plan = steps.PLAN.name
        keep = Bound() if step.concludes else self.engine(plan).bound(plan, request_json, units)
        return Reservation(bound.tokens, bound.cost, (keep.tokens, keep.cost))


@dataclass(frozen=True)
class StepRun(Generic[RequestT, DraftT]):
    """One execution of a model step: its process, the settings of the process, and the prompt of the scene."""

    step: Step[RequestT, DraftT]
    process: StepRow
    settings: ProcessSettings
    prompt_override: str | None
    engine: Engine
    fork: Fork | None = None
    waiting: list[str] = field(default_factory=list)

    def question(
        self, request: RequestT, *, owner: str = "", round: int = 0, alias: str = "", revision: int = 1
    ) -> Question[RequestT, DraftT]:
        """Return a question of this run. `owner`: by default the process. The other arguments are parts of the key."""
        return Question(
            step=self.step,
            key=CallKey(self.process.id, self.step.name, round=round, alias=alias, revision=revision),
            request=request,
            owner=owner or f"process:{self.process.id}",
            seconds=self.step.call_seconds(self.settings.proxy_seconds),
            prompt_override=self.prompt_override,
            waiting=self.waiting,
            engine=self.engine,
            takes=self.fork is not None and self.fork.takes(self.step.name, round),
        )


ActivityT = TypeVar("ActivityT")
InputT = TypeVar("InputT")
OutputT = TypeVar("OutputT")


def parks(
    run: Callable[[ActivityT, InputT], Awaitable[OutputT]],
) -> Callable[[ActivityT, InputT], Awaitable[OutputT | Pending]]:
    """Decorate an activity that asks a model: it returns `Pending` if its calls wait for answers from outside."""

    @wraps(run)
    async def parked(self: ActivityT, what: InputT) -> OutputT | Pending:
        try:
            return await run(self, what)
        except AnswerPending as pending:
            return Pending(waiting_calls=tuple(sorted(set(pending.calls))))

    return parked


@asynccontextmanager
async def model_step(
    repositories: Repositories, calls: ModelCalls, step: Step[RequestT, DraftT], what: ActivityInput
) -> AsyncIterator[StepRun[RequestT, DraftT]]:
    """The frame of every activity that asks a model.

    Before the block, writes the outbox and sets the limits of the budget. During the block, sends heartbeats and
    converts engine errors to Temporal's errors.
    """
    await write_outbox(repositories, what)
    row = await repositories.processes.at_step(what.process_id)
    await calls.set_limits(what, row)
    waiting: list[str] = []
    try:
        async with heartbeats():
            on_behalf_of(row.demander)
            yield StepRun(
                step=step,
                process=row,
                settings=ProcessSettings.model_validate(row.settings),
                prompt_override=await scene_prompts.override(repositories, row, step.name),
                engine=calls.engine_of(step.name, row),
                fork=fork_of(row),
                waiting=waiting,
            )
    except AnswerPending:
        raise AnswerPending(calls=tuple(waiting)) from None
    except EngineError as error:
        _raise(error)


def fork_of(row: StepRow) -> Fork | None:
    """Return the data of a fork, or None for a process that is no fork."""
    return ProcessInput.model_validate(row.manifest[START]).fork if row.forked_from is not None else None


def _raise(error: EngineError) -> NoReturn:
    if isinstance(error, OperatorNeeded):
        raise ApplicationError(str(error), error.reason, type=OPERATOR_NEEDED, non_retryable=True) from error
    if isinstance(error, DayBudgetUsed):
        raise ApplicationError(str(error), type=error.reason, non_retryable=True) from error
    if isinstance(error, Transient):
        delay = timedelta(seconds=error.retry_after) if error.retry_after is not None else None
        raise ApplicationError(
            str(error), type="Transient", next_retry_delay=delay, category=ApplicationErrorCategory.BENIGN
        ) from error
    if isinstance(error, StepFailed | Unreadable):
        raise ApplicationError(str(error), error.reason, type=STEP_FAILED, non_retryable=True) from error
    raise error


_OF_THE_TABLE: Final = frozenset({steps.OBSERVE.name, steps.PLAN.name, steps.DELIVER.name})
"""Steps whose requests contain the words of all participants. Other requests contain one person's profile."""


def _pending(question: Question[RequestT, DraftT], call_id: str) -> AnswerPending:
    question.waiting.append(call_id)
    return AnswerPending(calls=(call_id,))


def _read(question: Question[RequestT, DraftT], stored: SettledCall) -> Settled[DraftT]:
    return Settled(question.step.draft.model_validate_json(stored.draft_json), stored.text)


def _input_hash(question: Question[RequestT, DraftT], reask: Reask | None) -> str:
    """Hash the input of a call. An unreadable answer is hashed as a constant, because its text is not stored."""
    complaints = () if reask is None else (UNREADABLE_MARK,) if reask.unreadable else reask.complaints
    digest = hashlib.sha256(question.request_json.encode())
    for part in (question.prompt_override or "", *complaints):
        digest.update(b"\x1f" + part.encode())
    return digest.hexdigest()
