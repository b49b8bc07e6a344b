"""What every phase of a process needs: calling an activity, suspending, moving on (docs/protocol.md §3)."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any, NotRequired, TypedDict, TypeVar, Unpack

from temporalio import workflow
from temporalio.common import SearchAttributeKey, SearchAttributeUpdate
from temporalio.exceptions import ActivityError, ApplicationError, is_cancelled_exception

from tongyao.protocol.contracts.process import (
    OPERATOR_NEEDED,
    RECORD,
    STEP_FAILED,
    ActivityContract,
    ActivityInput,
    ModelOutput,
    ProcessInput,
    RecordInput,
    SearchAttribute,
)
from tongyao.protocol.model.events import EventKind
from tongyao.protocol.model.process import Phase, State
from tongyao.protocol.model.settings import Residuals
from workflows import options, presentation
from workflows.doors import Doors
from workflows.journal import Journal
from workflows.options import Options

InputT = TypeVar("InputT", bound=ActivityInput)
OutputT = TypeVar("OutputT")

_PHASE = SearchAttributeKey.for_keyword(SearchAttribute.PHASE)
_ROUND = SearchAttributeKey.for_int(SearchAttribute.ROUND)
_WAITING = SearchAttributeKey.for_bool(SearchAttribute.WAITING)

BUDGET_WARNING = 0.8
"""Share of a budget at which the demander is warned (docs/protocol.md §10.2)."""


class How(TypedDict):
    """How an activity is run: its line in the Temporal UI, time-outs and retries, and whether it asks a model."""

    summary: str
    using: Options
    on_models: NotRequired[bool]


def give_up(task: asyncio.Task[Any]) -> None:
    """Cancel a task that nobody waits for any more; however it ends then, it is no news."""
    task.cancel()
    task.add_done_callback(lambda done: done.cancelled() or done.exception())


class Steps(Doors):
    """The tools of the phases. Subclasses read like the protocol because these hold what is not protocol."""

    def __init__(self, start: ProcessInput) -> None:
        settings = start.settings
        self.start = start
        self.state = State(
            process_id=start.process_id,
            demander_profile=start.demander_profile.profile_id if start.demander_profile else "",
            tension=start.tension,
            round_limit=settings.max_rounds,
            token_budget=settings.token_budget,
            cost_budget=settings.cost_budget,
            may_branch=settings.residuals is not Residuals.OFF and start.depth < settings.depth_limit,
        )
        self.journal = Journal(self.state)
        self._shown: tuple[Phase, int, bool] | None = None
        self._warned = False
        self._refused_by_budget = False

    async def call(
        self,
        contract: ActivityContract[InputT, OutputT],
        what: InputT,
        **how: Unpack[How],
    ) -> OutputT:
        """Run one activity, taking the outbox along. Whatever it cannot get past suspends the process, then it runs again."""
        while True:
            before = self.state.resumptions
            try:
                return await self._once(contract, what, **how)
            except ActivityError as error:
                if is_cancelled_exception(error):
                    raise
                if self.state.resumptions == before:  # else it failed of what somebody has mended since
                    await self.suspended(_reason(contract.name, error))

    async def attempt(
        self, contract: ActivityContract[InputT, OutputT], what: InputT, *, summary: str
    ) -> OutputT | None:
        """As `call`, for what a process can do without: what cannot be had is noted and passed over, with None."""
        try:
            return await self._once(contract, what, summary=summary, using=options.spare())
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            self.journal.note(
                EventKind.STEP_SKIPPED, {"step": contract.name, "reason": _reason(contract.name, error)}, urgent=False
            )
            return None

    async def _once(self, contract: ActivityContract[InputT, OutputT], what: InputT, **how: Unpack[How]) -> OutputT:
        outbox, on_models = self.journal.take(), how.get("on_models", False)
        try:
            output: OutputT = await workflow.execute_activity(
                contract.name,
                what.model_copy(update={"outbox": outbox, **(self._budget if on_models else {})}),
                result_type=contract.output,
                task_queue=self.start.models_queue if on_models else None,
                summary=how["summary"],
                **how["using"],
            )
        except BaseException:
            self.journal.lost(outbox)
            raise
        self.journal.written(outbox)
        if isinstance(output, ModelOutput):
            self._spend(output)
        return output

    async def suspended(self, reason: str) -> None:
        """Suspend, say why, and wait until somebody resumes. Several steps may be stopped by one cause at once."""
        if self.state.phase is not Phase.SUSPENDED:
            self.state.suspended_reason, self.state.suspended_at = reason, workflow.now()  # first: moving on shows it
            self.move(Phase.SUSPENDED)
            self.journal.note(EventKind.SUSPENDED, {"reason": reason})
        await workflow.wait_condition(lambda: self.state.phase is not Phase.SUSPENDED)
        self.show()

    def move(self, target: Phase, *, lasts: int | None = None) -> None:
        """Enter a phase; `lasts`: seconds until it ends by itself."""
        origin = self.state.move(target)
        self.state.due = workflow.now() + timedelta(seconds=lasts) if lasts is not None else None
        waits = self.state.waiting or target.ended or target is Phase.AWAITING_CHILDREN
        self.journal.note(EventKind.PHASE_CHANGED, {"from": origin.value, "to": target.value}, urgent=waits)
        self.show()

    def show(self) -> None:
        """Bring search attributes (when something they say has changed) and current details up to date."""
        phase, round_number, waiting = shown = (self.state.phase, self.state.round, self.state.waiting)
        before = self._shown or (None, None, None)
        updates: list[SearchAttributeUpdate[str] | SearchAttributeUpdate[int] | SearchAttributeUpdate[bool]] = []
        if phase is not before[0]:
            updates.append(_PHASE.value_set(phase.value))
        if round_number != before[1]:
            updates.append(_ROUND.value_set(round_number))
        if waiting is not before[2]:
            updates.append(_WAITING.value_set(waiting))
        if updates:
            workflow.upsert_search_attributes(updates)
            self._shown = shown
        workflow.set_current_details(presentation.details(self.state, now=workflow.now()))

    async def scribe(self) -> None:
        """Write urgent events that no activity has taken along. Runs as long as the process does."""
        while True:
            await workflow.wait_condition(lambda: self.journal.urgent)
            await self.write()

    async def write(self) -> None:
        """Write what is not yet in the records, now."""
        outbox = self.journal.take()
        if outbox is None:
            return
        try:
            await workflow.execute_activity(
                RECORD.name,
                RecordInput(process_id=self.start.process_id, outbox=outbox),
                summary=f"{self.state.phase.value}: write {len(outbox.events)} events",
                **options.records(),
            )
        except BaseException as error:
            self.journal.lost(outbox)
            if not isinstance(error, ActivityError) or is_cancelled_exception(error):
                raise
            await workflow.sleep(60, summary="the records are away")
        else:
            self.journal.written(outbox)

    @property
    def still(self) -> bool:
        return self.state.phase is Phase.SUSPENDED

    @property
    def over_budget(self) -> bool:
        spent, state = self.state.spent, self.state
        return (
            self._refused_by_budget
            or (state.token_budget is not None and spent.tokens >= state.token_budget)
            or (state.cost_budget is not None and spent.cost >= state.cost_budget)
        )

    @property
    def _budget(self) -> dict[str, object]:
        """The limits of the tree, which its root alone may set."""
        if self.start.lineage is not None:
            return {}
        return {"token_budget": self.state.token_budget, "cost_budget": self.state.cost_budget}

    def _spend(self, output: ModelOutput) -> None:
        """`output` tells what the whole process has used; of several that run side by side, the latest knows most."""
        spent = self.state.spent
        spent.tokens = max(spent.tokens, output.spent.tokens)
        spent.cost = max(spent.cost, output.spent.cost)
        spent.calls = max(spent.calls, output.spent.calls)
        self._refused_by_budget = self._refused_by_budget or output.out_of_budget
        tokens = spent.tokens / self.state.token_budget if self.state.token_budget else 0.0
        cost = float(spent.cost / self.state.cost_budget) if self.state.cost_budget else 0.0
        if max(tokens, cost) >= BUDGET_WARNING and not self._warned:
            self._warned = True
            self.journal.note(EventKind.BUDGET_WARNING, {"share": round(max(tokens, cost), 2)})


def _reason(step: str, error: ActivityError) -> str:
    cause = error.cause
    if isinstance(cause, ApplicationError) and cause.type in (OPERATOR_NEEDED, STEP_FAILED):
        return cause.message
    kind = cause.type if isinstance(cause, ApplicationError) else type(cause).__name__
    return f"step {step} did not succeed in {error.retry_state.name if error.retry_state else 'time'}: {kind}"
