"""Erasing a person, whoever asks for it: the API, the command line, or an operator (docs/erasure.md).

The order matters. First nobody reads or asks for their words any more, and what was made of them is rewritten or removed.
Steps that were under way may still write down what they had read before: they are waited for, and what they wrote is
rewritten as well. Then the key is destroyed; last, the histories go in which an operator signalled their words by hand.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol

import structlog
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import PendingActivityState
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.service import RPCError, RPCStatusCode

from tongyao.app.message_relay import MessageRelay
from tongyao.protocol.model.messages import Author, Cancel, Leave
from tongyao.protocol.model.process import DEMANDER
from tongyao.protocol.model.value import Value
from tongyao.records.library import Library
from tongyao.records.privacy import erasure

log = structlog.get_logger()

PATIENCE_SECONDS = 180.0
"""How long steps under way are waited for: a little longer than a proxy's own limit."""


class Forgetting(Protocol):
    """Whatever keeps something of a person outside the records' own tables: an index, a memory."""

    async def forget(self, owner: str) -> None:
        """Keep nothing of this person any more; again is harmless."""
        ...


class Erased(Value):
    """What was done; with `steps_under_way`, the key is still to be destroyed. `left` and `cancelled`: open processes; `histories`: deleted now, `histories_later`: at their end."""

    person: str
    texts: int
    rewritten: int
    removed: int
    left: tuple[str, ...] = ()
    cancelled: tuple[str, ...] = ()
    histories: tuple[str, ...] = ()
    histories_later: int = 0
    steps_under_way: int = 0


_UNDER_WAY: set[asyncio.Task[Erased]] = set()


def _ended(task: asyncio.Task[Erased]) -> None:
    _UNDER_WAY.discard(task)
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("erasure interrupted: `tongyao reconcile` goes on with it", error=type(error).__name__)


class Erasing:
    """Erases people. Where it is interrupted, `sweep` goes on."""

    def __init__(self, library: Library, relay: MessageRelay, forgetting: Sequence[Forgetting] = ()) -> None:
        self._records = erasure.Erasing(library.pool)
        self._relay, self._client, self._forgetting = relay, relay.client, forgetting

    async def erase_soon(self, person: str) -> None:
        """Hide everything of theirs at once, and go on with the rest; `sweep` finishes what is interrupted.

        Raises `PersonUnknown`.
        """
        await self._records.begin(person)
        task = asyncio.create_task(self.erase(person), name="erase")
        _UNDER_WAY.add(task)
        task.add_done_callback(_ended)

    async def erase(self, person: str, *, patience: float = PATIENCE_SECONDS) -> Erased:
        """Erase a person; returns when it is done, or when patience ends: then `sweep` destroys the key later. Raises `PersonUnknown`, `DatabaseUnreachable`."""
        seats = await self._records.begin(person)
        left = [seat for seat in seats if seat.open and seat.alias != DEMANDER]
        cancelled = [seat for seat in seats if seat.open and seat.alias == DEMANDER]
        operator = Author(role="operator")
        for seat in left:
            leave = Leave(key=f"erased/{seat.alias}", author=operator, alias=seat.alias)
            await self._relay.send(seat.process_id, leave, author_id="operator:erasure", via="erasure")
        for seat in cancelled:
            cancel = Cancel(key="erased", author=operator, branch=True)
            await self._relay.send(seat.process_id, cancel, author_id="operator:erasure", via="erasure")
        for kept in self._forgetting:
            await kept.forget(person)
        await self._records.rewrite(person)
        busy = await self._quiet([seat.process_id for seat in seats], datetime.now(UTC), patience)
        await self._records.rewrite(person)
        if busy:
            log.warning("erasure waits for steps under way: `tongyao reconcile` goes on with it", steps=busy)
            stone = await self._records.tombstone(person)
        else:
            stone = await self._records.finish(person)
        histories = await self._delete_histories()
        log.info("erased", texts=stone.report.get("texts", 0), processes=len(seats), steps_under_way=busy)
        return Erased(
            person=person,
            texts=stone.report.get("texts", 0),
            rewritten=stone.report.get("rewritten", 0),
            removed=stone.report.get("removed", 0),
            left=tuple(seat.process_id for seat in left),
            cancelled=tuple(seat.process_id for seat in cancelled),
            histories=tuple(histories),
            histories_later=await self._records.histories_waiting(),
            steps_under_way=busy,
        )

    async def sweep(self) -> tuple[list[str], list[str]]:
        """Finish erasures that were interrupted, and delete histories of processes that have ended since.

        Returns the people erased now, and the processes whose history went.
        """
        people = await self._records.unfinished()
        for person in people:
            await self.erase(person)
        return people, await self._delete_histories()

    async def _quiet(self, processes: Sequence[str], since: datetime, patience: float) -> int:
        """Wait until no step is under way that began before `since`; returns how many are when patience ends."""
        loop = asyncio.get_running_loop()
        end = loop.time() + patience
        open_ones = await self._records.open_in_trees(processes)
        while (busy := sum([await self._under_way(one, since) for one in open_ones])) and loop.time() < end:
            await asyncio.sleep(0.25)
        return busy

    async def _under_way(self, process_id: str, since: datetime) -> int:
        try:
            description = await self._client.get_workflow_handle(process_id).describe()
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return 0
            raise
        return sum(
            one.state != PendingActivityState.PENDING_ACTIVITY_STATE_SCHEDULED
            and one.last_started_time.ToDatetime(tzinfo=UTC) < since
            for one in description.raw_description.pending_activities
        )

    async def _delete_histories(self) -> list[str]:
        """Their content is in the records; Temporal's copy goes with everything an operator typed into it."""
        deleted = []
        for process_id in await self._records.histories():
            request = DeleteWorkflowExecutionRequest(
                namespace=self._client.namespace, workflow_execution=WorkflowExecution(workflow_id=process_id)
            )
            try:
                await self._client.workflow_service.delete_workflow_execution(request)
            except RPCError as error:
                if error.status is not RPCStatusCode.NOT_FOUND:  # forgotten already: retention was over
                    log.warning("history not deleted yet", process=process_id, why=error.status.name)
                    continue
            await self._records.history_deleted(process_id)
            deleted.append(process_id)
        return deleted
