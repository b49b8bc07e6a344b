"""Erasing a person (docs/erasure.md).

The order is important. First, the person's texts become unreadable, and texts made from them are rewritten or removed.
Running steps may still store texts that they read before, so the erasure waits for them and rewrites the texts again.
Then the key is destroyed. Last, the histories with signals that may contain the person's texts are deleted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import structlog
from temporalio.api.enums.v1 import PendingActivityState
from temporalio.client import Client
from temporalio.service import RPCError

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import Caller, authorize_for_profile, invited_author
from tongyao.app.context import AppContext
from tongyao.app.temporal_answers import delete_history, if_known
from tongyao.app.try_each import try_each
from tongyao.app.writing import writing
from tongyao.protocol.model.ids import invitation_of
from tongyao.protocol.model.messages import Author, Cancel, ConsentAnswer, Leave
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.value import Value
from tongyao.records.privacy import erasure

log = structlog.get_logger()

PATIENCE_SECONDS = 180.0
"""Seconds to wait for running steps: a little longer than the timeout of a proxy."""


class Erased(Value):
    """Result of an erasure. `steps_under_way`: number of steps that still run; until they end, the key is not
    destroyed. `left`, `cancelled`: open processes.

    `histories` were deleted now. `histories_later` will be deleted when their processes have ended.
    """

    person: str
    texts: int
    rewritten: int
    removed: int
    left: tuple[str, ...] = ()
    cancelled: tuple[str, ...] = ()
    histories: tuple[str, ...] = ()
    histories_later: int = 0
    steps_under_way: int = 0


async def erase(context: AppContext, caller: Caller, person: str, *, patience: float = PATIENCE_SECONDS) -> Erased:
    """Erase a person. If steps still run after `patience` seconds, the key is destroyed later, by `finish_erasures`.

    Raises `NotAllowed`, `PersonUnknown`, `DatabaseUnreachable`.
    """
    authorize_for_profile(caller, person, Action.DELETE_PROFILE)
    return await _erase(context, person, patience)


class Concerned(Value):
    """Processes that an erasure would change. `left`, `cancelled`: open processes. `ended`: number of the others."""

    person: str
    left: tuple[str, ...]
    cancelled: tuple[str, ...]
    ended: int


async def concerned_by_erasure(context: AppContext, caller: Caller, person: str) -> Concerned:
    """Return the effects of `erase` without changing anything. Raises `NotAllowed`, `PersonUnknown`."""
    authorize_for_profile(caller, person, Action.DELETE_PROFILE)
    records = erasure.Erasing(context.repositories.pool)
    if not await records.knows(person):
        raise erasure.PersonUnknown(f"there is nobody {person!r} here: neither a profile nor a demander")
    seats = await records.seats(person)
    return Concerned(
        person=person,
        left=tuple(seat.process_id for seat in seats if seat.open and seat.alias != DEMANDER),
        cancelled=tuple(seat.process_id for seat in seats if seat.open and seat.alias == DEMANDER),
        ended=len({seat.process_id for seat in seats if not seat.open}),
    )


async def erase_soon(context: AppContext, caller: Caller, person: str) -> None:
    """Make a person's texts unreadable at once, and erase the person in the background or with `finish_erasures`.

    Raises `NotAllowed`, `NotFound`, `ProfileUnknown`.
    """
    authorize_for_profile(caller, person, Action.DELETE_PROFILE)
    await context.repositories.profiles.get(person)
    async with writing(context.repositories, caller, person):
        await erasure.Erasing(context.repositories.pool).begin(person)
    task = asyncio.create_task(_erase(context, person, PATIENCE_SECONDS), name="erase")
    _BACKGROUND.add(task)
    task.add_done_callback(_ended)


async def finish_erasures(
    context: AppContext, *, patience: float = PATIENCE_SECONDS, most: int | None = None
) -> tuple[list[str], list[str]]:
    """Continue at most `most` interrupted erasures, and delete histories of processes that have ended since.

    The erasures whose last attempt is oldest come first. Returns the people, and the processes whose history was
    deleted. If an erasure fails, its error is raised after all were tried.
    """
    histories = await _delete_histories(context)
    unfinished = (await erasure.Erasing(context.repositories.pool).unfinished())[:most]
    people = await try_each(unfinished, lambda person: _erase(context, person, patience), what="an erasure")
    return people, histories


_BACKGROUND: set[asyncio.Task[Erased]] = set()
"""Keeps references to running tasks, because asyncio keeps only weak ones."""


def _ended(task: asyncio.Task[Erased]) -> None:
    _BACKGROUND.discard(task)
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("erasure interrupted: the duty `erasures` goes on with it", error=type(error).__name__)


async def _erase(context: AppContext, person: str, patience: float) -> Erased:
    records = erasure.Erasing(context.repositories.pool)
    seats = await records.begin(person)
    left = [seat for seat in seats if seat.open and seat.alias != DEMANDER]
    cancelled = [seat for seat in seats if seat.open and seat.alias == DEMANDER]
    operator = Author(role="operator")
    await _leave(context, [seat for seat in left if not seat.seating])
    for seat in cancelled:
        cancel = Cancel(key="erased", author=operator, branch=True)
        await context.relay.send(seat.process_id, cancel, author_id="operator:erasure", via="erasure")
    for process_id, alias in await records.questions(person):
        no = ConsentAnswer(
            key=f"erased/{alias}",
            author=Author(role="invited", alias=alias),
            invitation=invitation_of(alias),
            allow=False,
        )
        await context.relay.send(process_id, no, author_id=invited_author(person), via="erasure")
    for store in context.personal_data_stores:
        await store.forget(person)
    await records.rewrite(person)
    processes = await records.open_in_trees([seat.process_id for seat in seats])
    running = await _wait_for_steps(context.client, processes, datetime.now(UTC), patience)
    await _leave(context, [seat for seat in left if seat.seating])  # the step that seated them has ended
    await records.rewrite(person)
    if running:
        log.warning("erasure waits for steps under way: the duty `erasures` goes on with it", steps=running)
        tombstone = await records.tombstone(person)
    else:
        tombstone = await records.finish(person)
    histories = await _delete_histories(context)
    log.info("erased", texts=tombstone.report.get("texts", 0), processes=len(seats), steps_under_way=running)
    return Erased(
        person=person,
        texts=tombstone.report.get("texts", 0),
        rewritten=tombstone.report.get("rewritten", 0),
        removed=tombstone.report.get("removed", 0),
        left=tuple(seat.process_id for seat in left),
        cancelled=tuple(seat.process_id for seat in cancelled),
        histories=tuple(histories),
        histories_later=await records.histories_waiting(),
        steps_under_way=running,
    )


async def _leave(context: AppContext, seats: Sequence[erasure.SeatToErase]) -> None:
    for seat in seats:
        leave = Leave(key=f"erased/{seat.alias}", author=Author(role="operator"), alias=seat.alias)
        await context.relay.send(seat.process_id, leave, author_id="operator:erasure", via="erasure")


async def _wait_for_steps(client: Client, processes: Sequence[str], since: datetime, patience: float) -> int:
    """Wait until no step runs that began before `since`. Returns the number that still run after `patience` seconds."""
    loop = asyncio.get_running_loop()
    end = loop.time() + patience
    while (
        running := sum([await _running_steps(client, process, since) for process in processes])
    ) and loop.time() < end:
        await asyncio.sleep(0.25)
    return running


async def _running_steps(client: Client, process_id: str, since: datetime) -> int:
    description = await if_known(client.get_workflow_handle(process_id).describe())
    return sum(
        pending.state != PendingActivityState.PENDING_ACTIVITY_STATE_SCHEDULED
        and pending.last_started_time.ToDatetime(tzinfo=UTC) < since
        for pending in (description.raw_description.pending_activities if description is not None else ())
    )


async def _delete_histories(context: AppContext) -> list[str]:
    """Delete the workflow histories of ended processes with signals that may contain texts of erased people."""
    records = erasure.Erasing(context.repositories.pool)
    deleted = []
    for process_id in await records.histories():
        try:
            await delete_history(context.client, process_id)
        except RPCError as error:
            log.warning("history not deleted yet", process=process_id, why=error.status.name)
            continue
        await records.history_deleted(process_id)
        deleted.append(process_id)
    return deleted
