"""One crystallization process as an entity workflow: the shell around the state machine of `tongyao.protocol.life`.

The state machine decides. This module starts the wanted steps, and passes messages, results and the time to the state
machine. It also updates the data in the Temporal UI. Cancelling the workflow in the UI counts as the message `cancel`.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import SearchAttributeKey, SearchAttributeUpdate
from temporalio.exceptions import ActivityError

from tongyao.protocol.contracts.process import (
    BRANCH,
    CRYSTALLIZATION,
    STATE_QUERY,
    ModelActivity,
    Pending,
    ProcessInput,
    ProcessResult,
    Readable,
    SearchAttribute,
    queue_of,
    rules_marker,
)
from tongyao.protocol.documents.process_details import details
from tongyao.protocol.life import machine
from tongyao.protocol.life.snapshot import snapshot, suspended_codes, waiting
from tongyao.protocol.life.state import CARRIED_LOGIC, LOGIC, RECORD_KEY, State, StepFailure, Success, WantedStep
from tongyao.protocol.model.events import Outbox
from tongyao.protocol.model.messages import Author, Cancel
from workflows.handlers import MessageHandlers
from workflows.step_execution import failure_of, options_of, start_child

MAX_HISTORY = 4_000
"""Events after which a process continues as new. The server warns at 10,240 events."""

MAX_UPDATES = 1_500
"""Messages after which a process continues as new. The server takes 2,000 updates in one run."""


@dataclass
class Running:
    """A running step: its task, its task queue, its start time, and the part of the outbox that it carries."""

    task: asyncio.Task[Any]
    queue: str
    began: datetime
    events: tuple[int, ...]


_PHASE = SearchAttributeKey.for_keyword(SearchAttribute.PHASE)
_ROUND = SearchAttributeKey.for_int(SearchAttribute.ROUND)
_WAITING = SearchAttributeKey.for_bool(SearchAttribute.WAITING)
_SUSPENDED = SearchAttributeKey.for_keyword_list(SearchAttribute.SUSPENDED)


class ShownState:
    """The data of a process in the Temporal UI. Search attributes are sent if they have changed, and details always."""

    def __init__(self) -> None:
        self._attributes: dict[SearchAttributeKey[Any], object] = {_SUSPENDED: ()}

    def update(self, state: State, now: datetime) -> None:
        attributes: dict[SearchAttributeKey[Any], object] = {
            _PHASE: state.phase.value,
            _ROUND: state.round,
            _WAITING: waiting(state),
            _SUSPENDED: suspended_codes(state),
        }
        changed = [key for key, value in attributes.items() if self._attributes.get(key) != value]
        if changed:
            workflow.upsert_search_attributes([_set(key, attributes[key]) for key in changed])
            self._attributes = attributes
        workflow.set_current_details(details(state, now))


def _set(key: SearchAttributeKey[Any], value: object) -> SearchAttributeUpdate[Any]:
    if isinstance(value, tuple):
        return key.value_set(list(value)) if value else key.value_unset()
    return key.value_set(value)


@workflow.defn(name=CRYSTALLIZATION)
class Crystallization(MessageHandlers):
    """The workflow of a process. It holds the control state. All texts are in the records."""

    @workflow.init
    def __init__(self, start: ProcessInput | State) -> None:
        if isinstance(start, State):
            start.logic, start.upgrade_wanted = _rules_of_this_run(start.logic), False
            self.state = start
        else:
            seed = workflow.info().first_execution_run_id  # a reset keeps it, and with it the order of the aliases
            self.state = machine.begin(start, workflow.now(), seed=seed, logic=_rules_of_this_run(1))
        self.changed = True
        self.heard_at = -1
        self.updates = 0
        self._running: dict[str, Running] = {}
        self._alarm: asyncio.Task[None] | None = None
        self._alarm_at = workflow.now()
        self._shown = ShownState()

    @workflow.query(name=STATE_QUERY, description="The whole state, as the records can be made of it again.")
    def query_state(self) -> State:
        return self.state

    @workflow.run
    async def run(self, start: ProcessInput | State) -> ProcessResult:
        while True:
            await self._wait()
            self.changed = False
            if self._alarm is not None and self._alarm.done():
                self._alarm = None
            for key in [key for key, running in self._running.items() if running.task.done()]:
                self._finish(key, self._running.pop(key))
            machine.tick(self.state, workflow.now())
            self._reconcile()
            self.state.draining = tuple(sorted(self._running)) if self._draining else None
            self._shown.update(self.state, workflow.now())
            if self.state.phase.ended and not self._running and not machine.wanted(self.state):
                await workflow.wait_condition(workflow.all_handlers_finished)
                return self._result()
            wake = machine.wake(self.state)
            if self._draining and self._idle:
                if self.heard_at < workflow.info().get_current_history_length():
                    self.state.draining = None
                    workflow.continue_as_new(self.state)
                wake = workflow.now() + timedelta(seconds=1)  # not in the workflow task that answered an update
            if wake is not None:
                self._set_alarm(wake)

    async def _wait(self) -> None:
        """Wait until a message was applied, a step has ended, or the alarm is due. A cancellation counts as the message
        `cancel`."""
        try:
            await workflow.wait_condition(
                lambda: (
                    self.changed
                    or any(running.task.done() for running in self._running.values())
                    or (self._alarm is not None and self._alarm.done())
                )
            )
        except asyncio.CancelledError:
            if not self.state.phase.ended:
                machine.hear(self.state, Cancel(author=Author(role="operator")), workflow.now())

    def _reconcile(self) -> None:
        """Cancel running steps that are not wanted, and start wanted steps that are not running.

        The step that only writes the outbox comes last. It is not needed if another new step carries the events.
        """
        wanted = machine.wanted(self.state)
        for key in [key for key in self._running if key not in wanted and key != RECORD_KEY]:
            _give_up(self._running.pop(key).task)
        for key, step in sorted(wanted.items(), key=lambda step: step[0] == RECORD_KEY):
            startable = not step.held and (key == RECORD_KEY or not self._draining)
            if key not in self._running and startable and not (key == RECORD_KEY and self._all_carried):
                self._start(key, step)

    def _start(self, key: str, step: WantedStep) -> None:
        carried = {number for running in self._running.values() for number in running.events}
        events = tuple(event for event in self.state.outbox if event.seq not in carried)
        outbox = Outbox(snapshot=snapshot(self.state, workflow.now()), events=events) if events else None
        update: dict[str, object] = {"outbox": outbox}
        if isinstance(step.contract, ModelActivity):  # None in a child: the root of its tree sets the limits
            update |= {"token_budget": self.state.token_budget, "cost_budget": self.state.cost_budget}
        self._running[key] = Running(
            task=asyncio.create_task(self._run(step, step.input.model_copy(update=update))),
            queue=queue_of(step.contract),
            began=workflow.now(),
            events=tuple(event.seq for event in events),
        )

    async def _run(self, step: WantedStep, what: Any) -> Any:
        # The alarm's commands come before those of the steps. A worker without a cache may get the end of a step and a
        # message in one activation that were in two before. Then, too, the alarm is set before the step is started again.
        await asyncio.sleep(0)
        returned: Any = step.contract.output
        output = await workflow.execute_activity(
            step.contract.name,
            what,
            result_type=returned | Pending if isinstance(step.contract, ModelActivity) else returned,
            summary=Readable(step.summary),
            **options_of(step, self.state.start.settings),
        )
        if step.contract is BRANCH and output.child is not None:
            await start_child(output.child)
        return output

    def _finish(self, key: str, running: Running) -> None:
        try:
            output = running.task.result()
        except ActivityError as error:
            ended: Success | StepFailure = failure_of(key, error, running.began, running.queue)
        else:
            ended = Success(output, running.events)
        machine.finish(self.state, key, ended, workflow.now())

    def _set_alarm(self, at: datetime) -> None:
        """Set the alarm to `at`. An earlier alarm is kept, because an additional wake changes nothing."""
        if self._alarm is not None:
            if self._alarm_at <= at:
                return
            self._alarm.cancel()
        self._alarm_at = at
        pause = max(at - workflow.now(), timedelta(0))
        self._alarm = asyncio.create_task(workflow.sleep(pause, summary=Readable("next deadline")))

    @property
    def _all_carried(self) -> bool:
        """Whether running steps carry the whole outbox."""
        events = {number for running in self._running.values() for number in running.events}
        return all(event.seq in events for event in self.state.outbox)

    @property
    def _draining(self) -> bool:
        """Whether the process is about to continue as new. Running steps may then finish, and no step is started."""
        info = workflow.info()
        long = info.is_continue_as_new_suggested() or info.get_current_history_length() > MAX_HISTORY
        return not self.state.phase.ended and (long or self.updates > MAX_UPDATES or self.state.upgrade_wanted)

    @property
    def _idle(self) -> bool:
        return not self._running and workflow.all_handlers_finished()

    def _result(self) -> ProcessResult:
        state = self.state
        return ProcessResult(
            process_id=state.process_id, outcome=state.phase, rounds=state.round, plan_revision=state.plan_revision
        )


def _rules_of_this_run(carried: int) -> int:
    """Return the newest rules of the build that ran the first workflow task of this run. Replays by other builds agree.

    A marker in history names the rules (`logic-2`, …). The first rules have no marker. `carried`: the rules of the
    previous run. Raises `RuntimeError` for unknown rules: the workflow task fails until a worker with these rules takes
    it.
    """
    if carried > LOGIC:
        raise RuntimeError(f"the process follows rules {carried}, and this build knows rules up to {LOGIC}")
    marked = (logic for logic in reversed(CARRIED_LOGIC) if logic > 1 and workflow.patched(rules_marker(logic)))
    rules = next(marked, 1)
    if rules not in CARRIED_LOGIC:
        raise RuntimeError(f"the process follows rules {rules}, and this build knows {CARRIED_LOGIC} only")
    return rules


def _give_up(task: asyncio.Task[Any]) -> None:
    """Cancel a step that is no longer wanted, and ignore its result."""
    task.cancel()
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
