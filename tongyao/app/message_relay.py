"""Delivers messages to workflows (docs/protocol.md §8.2). A message is stored as a row first and is then sent as an update,
again and again until the verdict of the workflow is stored.
"""

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
from tongyao.records.process.messages import MessageText, StoredMessage

log = structlog.get_logger()

RETRY_SECONDS = (0.5, 1, 2, 5, 10, 30, 60)
"""How long after a failed delivery the next is tried, by the number of tries; the last one repeats."""

DELIVERY_SECONDS = 10.0


class MessageRelay:
    """Stores messages and delivers them to their workflows."""

    def __init__(self, library: Library, client: Client) -> None:
        self._library = library
        self.client = client

    async def send(
        self,
        process_id: str,
        message: Message,
        *,
        author_id: str,
        via: str,
        text: MessageText | None = None,
        wait: float = DELIVERY_SECONDS,
    ) -> StoredMessage:
        """Store a message and try to deliver it within `wait` seconds.

        Returns the stored message. It has no verdict when no worker answered in time: `run` goes on delivering it, and
        `Messages.get` returns the verdict later. Raises `BadInput` for a named person without a profile, and what
        `Messages.put` raises.
        """
        await self._check_named_profiles(message)
        stored = await self._library.messages.put(process_id, message, author_id=author_id, via=via, text=text)
        if stored.verdict is not None:
            return stored
        try:
            async with asyncio.timeout(wait) as time_left:
                while await self._library.messages.is_behind(stored.id):
                    await asyncio.sleep(0.05)  # a correction never overtakes what it corrects
                time_left.reschedule(None)
            await self.deliver(stored, wait=wait)
        except TimeoutError:
            log.info("message waits", message=stored.id, process=process_id, kind=stored.kind, why="behind another")
        return await self._library.messages.get(stored.id)

    async def _check_named_profiles(self, message: Message) -> None:
        """A workflow cannot look up profiles, so whoever a message names must have one before it is stored."""
        if isinstance(message, SelectParticipants | Decide):
            named = [choice.profile_id for choice in message.participants]
            known = await self._library.profiles.get_many(named)
            if unknown := [one for one in named if one not in known]:
                raise BadInput("unknown_profiles", f"there is no profile {', '.join(unknown)}", field="participants")

    async def deliver(self, stored: StoredMessage, *, wait: float = DELIVERY_SECONDS) -> bool:
        """Try once; returns whether the verdict is stored now. The update has the message's id, so the server applies it once."""
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
                return await self._postpone(stored, error.status.name)
            verdict = await self._without_workflow(stored)
            if verdict is None:
                return await self._postpone(stored, "not started yet")
        except (TimeoutError, WorkflowUpdateRPCTimeoutOrCancelledError):
            return await self._postpone(stored, "no worker answered")
        await self._library.messages.verdict(stored.id, verdict)
        return True

    async def run(self, stop: asyncio.Event, *, idle: float = 0.5) -> None:
        """Deliver pending messages until `stop`. Several relays may run: a message is leased to one of them at a time."""
        while not stop.is_set():
            due = await self._library.messages.due()
            await asyncio.gather(*(self.deliver(message) for message in due), return_exceptions=True)
            if not due:
                try:
                    await asyncio.wait_for(stop.wait(), idle)
                except TimeoutError:
                    continue

    async def _postpone(self, stored: StoredMessage, why: str) -> bool:
        delay = RETRY_SECONDS[min(stored.attempts, len(RETRY_SECONDS) - 1)]
        log.info("message waits", message=stored.id, process=stored.process_id, kind=stored.kind, why=why)
        await self._library.messages.postpone(stored.id, delay)
        return False

    async def _without_workflow(self, stored: StoredMessage) -> Verdict | None:
        """The server has no running workflow of this id. None: the process was announced and is not started yet."""
        row = await self._library.processes.get(stored.process_id)
        return Verdict.refused(Refusal.ENDED) if row.started else None


def _refusal(failed: WorkflowUpdateFailedError) -> Verdict:
    cause = failed.cause
    if isinstance(cause, ApplicationError) and cause.type == REFUSED and cause.details:
        return Verdict.model_validate(cause.details[0])
    if isinstance(cause, ApplicationError) and cause.type == "AcceptedUpdateCompletedWorkflow":
        return Verdict.refused(Refusal.ENDED)
    return Verdict.refused(Refusal.NOT_TRUSTED)
