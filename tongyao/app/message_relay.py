"""The durable door (docs/protocol.md §8): a message is a row first, then an update; it is repeated until its verdict is in."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import structlog
from temporalio.client import Client, WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from tongyao.app.errors import BadInput
from tongyao.protocol.contracts.process import REFUSED
from tongyao.protocol.model.messages import Decide, Message, SelectParticipants
from tongyao.protocol.rules.refusals import Refusal, Verdict
from tongyao.records.library import Library
from tongyao.records.process.messages import StoredMessage, Words

log = structlog.get_logger()

RETRY_SECONDS = (0.5, 1, 2, 5, 10, 30, 60)
"""How long after a failed delivery the next is tried, by the number of tries; the last one repeats."""

DELIVERY_SECONDS = 10.0


class Door:
    """Takes messages in, and carries them to their processes."""

    def __init__(self, library: Library, client: Client) -> None:
        self._library = library
        self.client = client

    async def send(
        self,
        process_id: str,
        message: Message,
        *,
        author_id: str,
        door: str,
        words: Words | None = None,
        wait: float = DELIVERY_SECONDS,
    ) -> StoredMessage:
        """Store a message and try to deliver it within `wait` seconds.

        Returns what is stored: with its verdict, or without one; then the relay goes on, and `Messages.get` tells later.
        Raises `BadInput` where somebody is named who has no profile, and as `Messages.put`.
        """
        await self._known(message)
        stored = await self._library.messages.put(process_id, message, author_id=author_id, door=door, words=words)
        if stored.verdict is not None:
            return stored
        try:
            async with asyncio.timeout(wait) as time_left:
                while await self._library.messages.is_behind(stored.id):
                    await asyncio.sleep(0.05)  # the relay is at it; a correction never overtakes what it corrects
                time_left.reschedule(None)
            await self.deliver(stored, wait=wait)
        except TimeoutError:
            log.info("message waits", message=stored.id, process=process_id, kind=stored.kind, why="behind another")
        return await self._library.messages.get(stored.id)

    async def _known(self, message: Message) -> None:
        """A process cannot look people up: who is chosen or added must be there when it is said."""
        if isinstance(message, SelectParticipants | Decide):
            named = [choice.profile_id for choice in message.participants]
            known = await self._library.profiles.get_many(named)
            if unknown := [one for one in named if one not in known]:
                raise BadInput("unknown_profiles", f"there is no profile {', '.join(unknown)}", field="participants")

    async def deliver(self, stored: StoredMessage, *, wait: float = DELIVERY_SECONDS) -> bool:
        """One try. True: the verdict is stored. An update with the message's id is applied once, however often it is sent."""
        handle = self.client.get_workflow_handle(stored.process_id)
        try:
            async with asyncio.timeout(wait):
                verdict = await handle.execute_update(
                    stored.kind,
                    stored.message,
                    id=stored.id,
                    result_type=Verdict,
                    rpc_timeout=timedelta(seconds=wait),
                )
        except WorkflowUpdateFailedError as failed:
            verdict = _refusal(failed)
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                return await self._later(stored, error.status.name)
            verdict = await self._without_workflow(stored)
            if verdict is None:
                return await self._later(stored, "not started yet")
        except (TimeoutError, WorkflowUpdateRPCTimeoutOrCancelledError):
            return await self._later(stored, "no worker answered")
        await self._library.messages.verdict(stored.id, verdict)
        return True

    async def relay(self, stop: asyncio.Event, *, idle: float = 0.5) -> None:
        """Deliver what waits, until `stop`. Any number of relays may run; each message is with one of them at a time."""
        while not stop.is_set():
            due = await self._library.messages.due()
            await asyncio.gather(*(self.deliver(message) for message in due), return_exceptions=True)
            if not due:
                try:
                    await asyncio.wait_for(stop.wait(), idle)
                except TimeoutError:
                    continue

    async def _later(self, stored: StoredMessage, why: str) -> bool:
        delay = RETRY_SECONDS[min(stored.attempts, len(RETRY_SECONDS) - 1)]
        log.info("message waits", message=stored.id, process=stored.process_id, kind=stored.kind, why=why)
        await self._library.messages.postpone(stored.id, delay)
        return False

    async def _without_workflow(self, stored: StoredMessage) -> Verdict | None:
        """The server knows no running workflow: it has ended, or it was announced and is not started yet."""
        row = await self._library.processes.get(stored.process_id)
        return Verdict.refused(Refusal.ENDED) if row.started else None


def _refusal(failed: WorkflowUpdateFailedError) -> Verdict:
    cause = failed.cause
    if isinstance(cause, ApplicationError) and cause.type == REFUSED and cause.details:
        return Verdict.model_validate(cause.details[0])
    if isinstance(cause, ApplicationError) and cause.type == "AcceptedUpdateCompletedWorkflow":
        return Verdict.refused(Refusal.ENDED)
    return Verdict.refused(Refusal.NOT_TRUSTED)
