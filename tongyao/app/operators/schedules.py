"""Creates, lists and pauses the Temporal Schedules of maintenance (docs/operations.md §11)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionExecutionStartWorkflow,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleDescription,
    ScheduleIntervalSpec,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleSpec,
    ScheduleState,
    ScheduleUpdate,
    ScheduleUpdateInput,
)
from temporalio.service import RPCError, RPCStatusCode

from tongyao.app.errors import NotFound
from tongyao.app.temporal_answers import if_known
from tongyao.protocol.contracts.maintenance import MAINTENANCE, MAINTENANCE_QUEUE, PURPOSES, Duty, schedule_id
from tongyao.protocol.contracts.process import Readable
from tongyao.protocol.model.value import Value

LONGEST_RUN: Final = timedelta(hours=2)
"""Longest time of a run with all attempts, also if no worker takes it. Until then, the duty's next run waits."""
CATCH_UP: Final = timedelta(minutes=10)
"""Time within which missed runs are made up for after Temporal was unreachable. A later run does the same work."""
MOST_JITTER: Final = timedelta(minutes=2)


class ScheduleLine(Value):
    """The state of a schedule. `last`: when its last run began. `result`: how that run ended, or `running`."""

    duty: Duty
    every_seconds: float
    paused: bool
    note: str
    last: datetime | None = None
    result: str = ""
    next: datetime | None = None


async def ensure_schedules(client: Client, every: Mapping[Duty, timedelta]) -> list[Duty]:
    """Create or update the schedules of these duties. Delete the schedules of all other duties and return them.

    A paused schedule stays paused. Idempotent. Raises `RPCError`.
    """
    off = [duty for duty in Duty if duty not in every]
    for duty, interval in every.items():
        await _ensure(client, duty, interval)
    for duty in off:
        await if_known(client.get_schedule_handle(schedule_id(duty)).delete())
    return off


async def _ensure(client: Client, duty: Duty, every: timedelta) -> None:
    try:
        await client.create_schedule(schedule_id(duty), _schedule(duty, every, ScheduleState(note=PURPOSES[duty])))
    except ScheduleAlreadyRunningError:

        def brought_up_to_date(given: ScheduleUpdateInput) -> ScheduleUpdate:
            state = given.description.schedule.state
            if not state.paused:
                state.note = PURPOSES[duty]
            return ScheduleUpdate(_schedule(duty, every, state))

        await client.get_schedule_handle(schedule_id(duty)).update(brought_up_to_date)


def _schedule(duty: Duty, every: timedelta, state: ScheduleState) -> Schedule:
    return Schedule(
        action=ScheduleActionStartWorkflow(
            MAINTENANCE,
            id=schedule_id(duty),
            task_queue=MAINTENANCE_QUEUE,
            execution_timeout=LONGEST_RUN,
            static_summary=Readable(PURPOSES[duty]),
        ),
        spec=ScheduleSpec(intervals=[ScheduleIntervalSpec(every=every)], jitter=min(every / 10, MOST_JITTER)),
        policy=SchedulePolicy(overlap=ScheduleOverlapPolicy.SKIP, catchup_window=CATCH_UP),
        state=state,
    )


async def read_schedules(client: Client) -> list[ScheduleLine]:
    """Return the existing schedules, in the order of `Duty`."""
    lines = []
    for duty in Duty:
        described = await if_known(client.get_schedule_handle(schedule_id(duty)).describe())
        if described is not None:
            lines.append(await _line(client, duty, described))
    return lines


async def _line(client: Client, duty: Duty, described: ScheduleDescription) -> ScheduleLine:
    schedule, info = described.schedule, described.info
    last, result = None, ""
    if info.recent_actions:
        last = info.recent_actions[-1].started_at
        started = info.recent_actions[-1].action
        if isinstance(started, ScheduleActionExecutionStartWorkflow):
            result = await _status(client, started)
    return ScheduleLine(
        duty=duty,
        every_seconds=schedule.spec.intervals[0].every.total_seconds() if schedule.spec.intervals else 0.0,
        paused=schedule.state.paused,
        note=schedule.state.note or "",
        last=last,
        result=result,
        next=info.next_action_times[0] if info.next_action_times and not schedule.state.paused else None,
    )


async def _status(client: Client, started: ScheduleActionExecutionStartWorkflow) -> str:
    handle = client.get_workflow_handle(started.workflow_id, first_execution_run_id=started.first_execution_run_id)
    described = await if_known(handle.describe())
    if described is None:
        return "deleted"
    return described.status.name.lower() if described.status is not None else ""


async def pause_schedule(client: Client, duty: Duty, *, paused: bool, login: str) -> None:
    """Pause or resume a schedule. The note of a paused schedule names `login`. Raises `NotFound`."""
    handle = client.get_schedule_handle(schedule_id(duty))
    try:
        if paused:
            await handle.pause(note=f"paused by {login}")
        else:
            await handle.unpause(note=PURPOSES[duty])
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
        raise NotFound(
            "no_schedule",
            f"there is no schedule of {duty.value!r}: `tongyao prepare` creates the schedules that the settings list",
        ) from None
