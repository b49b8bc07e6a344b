"""Delivers messages to workflows (docs/protocol.md §8.2).

A message is stored as a row first. It is then sent as an update until the verdict of the workflow is stored. Only the
workflow's own verdict is final. After any other failure the delivery is retried: an unreachable server, a worker that
does not know the kind of the message, or an answer that is no verdict.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import structlog
from pydantic import ValidationError
from temporalio.client import Client, WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode

from tongyao.app.errors import BadInput, Refused
from tongyao.app.messaging.message_trace import message_span, note_message
from tongyao.protocol.contracts.process import REFUSED
from tongyao.protocol.model.messages import Decide, Message, SelectParticipants
from tongyao.protocol.rules.refusals import MessageVerdict, Refusal
from tongyao.records.people.notifications import OPERATORS, Notice
from tongyao.records.process.changes import SAFETY_SECONDS, Watch
from tongyao.records.process.gateway_outages import BEAT_SECONDS
from tongyao.records.process.messages import LEASE_SECONDS, MessageText, StoredMessage, TooManyMessages
from tongyao.records.repositories import Repositories
from tongyao.texts.catalogue import in_both

log = structlog.get_logger()

RETRY_SECONDS: Final = (0.5, 1, 2, 5, 10, 30, 60)
"""Seconds from a failed delivery to the next, by the number of attempts. The last value repeats."""

SET_ASIDE_AFTER: Final = 20
"""Number of answers without a verdict after which a message is set aside and later messages of its lane are sent. This
takes about a quarter of an hour. Workers of two versions run at the same time for a shorter time."""

SET_ASIDE_SECONDS: Final = 600.0
"""Seconds between two attempts to deliver a message that was set aside."""

_NOT_YET: Final = frozenset(
    {
        Refusal.NOT_NOW,
        Refusal.NO_SEATS_YET,
        Refusal.UNKNOWN_ALIAS,
        Refusal.DEMANDER_APART,
        Refusal.PROXY_SPEAKS,
        Refusal.NO_ONE_DECLINED,
        Refusal.NO_ONE_PROPOSED,
        Refusal.WRONG_ROUND,
        Refusal.WRONG_REVISION,
        Refusal.UNKNOWN_INVITATION,
        Refusal.UNKNOWN_RESIDUAL,
        Refusal.UNKNOWN_CHILD,
        Refusal.NOTHING_TO_EXTEND,
        Refusal.ASK_OVER,
    }
)
"""Refusals after a reset that may mean: the process has not come to this message again."""

DELIVERY_SECONDS: Final = 10.0
AT_ONCE: Final = 20
"""Most concurrent deliveries of one relay."""

MOST_PAUSE_SECONDS: Final = 0.5
"""Longest pause, in seconds, between a sender's checks whether the preceding message of the lane was delivered."""

SENDER_FIRST_SECONDS: Final = 0.1
"""Seconds that the relay waits before it delivers a new message. Usually its sender delivers it in this time."""

_WITHOUT_RECORDS_SECONDS: Final = 2.0
_OUTCOME_SECONDS: Final = 2.0


@dataclass(frozen=True)
class _Trouble:
    """Why there is no verdict (`what`, a fixed word). `answered`: by the workflow, so the message is at fault."""

    what: str
    answered: bool = False


class MessageRelay:
    """Stores messages and delivers them to their workflows."""

    def __init__(self, repositories: Repositories, client: Client) -> None:
        self._repositories = repositories
        self.client = client

    async def send(
        self,
        process_id: str,
        message: Message,
        *,
        author_id: str,
        via: str,
        login: str = "",
        text: MessageText | None = None,
        wait: float = DELIVERY_SECONDS,
    ) -> StoredMessage:
        """Store a message and try to deliver it within `wait` seconds. `login`: the name of an operator who sends it.

        Returns the stored message. It has no verdict if no worker answered in time. Then `run` continues the delivery,
        and `Messages.get` returns the verdict later. Raises `BadInput` if a named person has no profile, `Refused` if
        the process has too many messages (nothing was stored), and the errors of `Messages.put`.
        """
        stored = await self.store(process_id, message, author_id=author_id, via=via, login=login, text=text)
        return await self.forward(stored, wait=wait)

    async def store(
        self,
        process_id: str,
        message: Message,
        *,
        author_id: str,
        via: str,
        login: str = "",
        text: MessageText | None = None,
    ) -> StoredMessage:
        """Store a message: the first half of `send`. Raises as `send`."""
        await self._check_named_profiles(message)
        try:
            return await self._repositories.messages.put(
                process_id, message, author_id=author_id, via=via, login=login, text=text
            )
        except TooManyMessages:
            raise Refused(MessageVerdict.refused(Refusal.TOO_MANY_MESSAGES), "") from None

    async def forward(self, stored: StoredMessage, *, wait: float = DELIVERY_SECONDS) -> StoredMessage:
        """Try to deliver a stored message within `wait` seconds: the second half of `send`. Returns its state then."""
        note_message(stored.id, stored.process_id)
        loop, pause = asyncio.get_running_loop(), 0.05
        end = loop.time() + wait
        # Time is checked between queries: a lease taken by a query that is then cancelled would have no holder.
        while stored.verdict is None:
            if (taken := await self._take(stored, wait)) is not None:
                return await self.deliver(taken, wait=wait)
            if loop.time() + pause > end:
                log.info("message waits", why="behind another", **_named(stored))
                return stored
            await asyncio.sleep(pause)  # earlier messages of the lane go first
            pause = min(2 * pause, MOST_PAUSE_SECONDS)
            stored = await self._repositories.messages.get(stored.id)
        return stored

    async def deliver(self, stored: StoredMessage, *, wait: float = DELIVERY_SECONDS) -> StoredMessage:
        """Make one attempt to deliver a leased message. Returns it as stored afterwards, with its verdict if there is
        one.

        The workflow applies a message once, because it knows the number of the last applied message of each lane. A
        message that had a verdict before a reset waits while the process has not come to it again.
        """
        try:
            if stored.decided_before and await self._seat_has_another_person(stored):
                return await self._wait_after_reset(stored, "seat_of_another")
            with message_span(stored.id, process_id=stored.process_id, kind=stored.kind):
                answer = await self._try(stored, wait)
            if isinstance(answer, _Trouble):
                return await self._postpone(stored, answer)
            if stored.decided_before and answer.code in _NOT_YET:
                return await self._wait_after_reset(stored, answer.code)
            if answer.accepted:
                await self._overtake(stored)
            return await self._repositories.messages.verdict(stored, answer)
        except asyncio.CancelledError:
            with suppress(Exception):
                await asyncio.shield(self._repositories.messages.postpone(stored.id, 0, trouble="relay_stopped"))
            raise

    async def run(self, stop: asyncio.Event, *, idle: float = SAFETY_SECONDS) -> None:
        """Deliver pending messages until `stop`, and record in the database that a gateway is open.

        It queries for messages at a notification, when a message is due, and every `idle` seconds. Several relays may
        run: one message of a lane at a time is leased to one of them. While the database is unreachable, it waits.
        After `stop` it completes the running deliveries. If it is cancelled, it cancels them, and their leases end.
        """
        heartbeat = asyncio.create_task(self._beat(stop))
        deliveries: set[asyncio.Task[None]] = set()
        with self._repositories.changes.watch_messages() as watch:
            stopping = asyncio.create_task(_wake_at(stop, watch))
            try:
                while not stop.is_set():
                    pause = idle
                    try:
                        due = await self._due(AT_ONCE - len(deliveries))
                        if not due:
                            pause = min(idle, await self._repositories.messages.next_due() or idle)
                    except Exception as error:  # the relay continues after any error of the records
                        log.error("messages wait for the records", error=type(error).__name__)
                        due, pause = (), _WITHOUT_RECORDS_SECONDS
                    for message in due:
                        delivery = asyncio.create_task(self._deliver_or_log(message))
                        deliveries.add(delivery)
                        delivery.add_done_callback(deliveries.discard)
                        delivery.add_done_callback(lambda _: watch.wake())
                    if not due:
                        await watch.wait(pause)
                        await asyncio.sleep(min(idle, SENDER_FIRST_SECONDS))
                await asyncio.gather(heartbeat, stopping, *deliveries)
            finally:  # a cancelled delivery ends its lease
                for task in (left := [heartbeat, stopping, *deliveries]):
                    task.cancel()
                await asyncio.gather(*left, return_exceptions=True)

    async def _due(self, limit: int) -> Sequence[StoredMessage]:
        return await self._repositories.messages.due(limit) if limit > 0 else ()

    async def _deliver_or_log(self, message: StoredMessage) -> None:
        try:
            await self.deliver(message)
        except Exception as error:  # the message stays stored, and is retried when its lease has ended
            log.error("message not delivered", error=type(error).__name__, **_named(message))

    async def _beat(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            try:
                if (outage := await self._repositories.door.beat()) is not None:
                    log.warning("no message could be handed in for a time", seconds=round(outage.total_seconds()))
            except Exception as error:
                log.error("the records do not answer: no message can be handed in", error=type(error).__name__)
            with suppress(TimeoutError):
                async with asyncio.timeout(BEAT_SECONDS):
                    await stop.wait()

    async def _check_named_profiles(self, message: Message) -> None:
        """Check that people named in a message have profiles, which a workflow cannot look up. Raises `BadInput`."""
        if isinstance(message, SelectParticipants | Decide):
            named = [choice.profile_id for choice in message.participants]
            known = await self._repositories.profiles.known(named)
            if unknown := [lane for lane in named if lane not in known]:
                en, zh = in_both("app", "refusal.unknown_in_message", ids=", ".join(unknown))
                raise BadInput("unknown_profiles", en, field="participants", ids=unknown, zh=zh)

    async def _take(self, stored: StoredMessage, wait: float) -> StoredMessage | None:
        return await self._repositories.messages.take(stored.id, lease=wait + LEASE_SECONDS)

    async def _try(self, stored: StoredMessage, wait: float) -> MessageVerdict | _Trouble:
        """Send the update, which `workflows/handlers.py` registers under the kind of the message. Returns the verdict,
        or the reason why there is none."""
        handle = self.client.get_workflow_handle(stored.process_id)
        try:
            async with asyncio.timeout(wait):
                verdict: MessageVerdict = await handle.execute_update(
                    stored.kind,
                    stored.message,
                    id=_update_id(stored),
                    result_type=MessageVerdict,
                    rpc_timeout=timedelta(seconds=wait),
                )
                return verdict
        except WorkflowUpdateFailedError as failed:
            answer = _refusal(failed)
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                return _Trouble(error.status.name.lower())
            answer = _Trouble("not_found")
        except (TimeoutError, WorkflowUpdateRPCTimeoutOrCancelledError):
            return _Trouble("no_worker")
        except Exception as error:  # the verdict cannot be read here
            return _Trouble(type(error).__name__)
        if answer in (_Trouble("not_found"), _CLOSED) and await self._has_ended(stored.process_id):
            return MessageVerdict.refused(Refusal.ENDED)
        return answer

    async def _has_ended(self, process_id: str) -> bool:
        """Whether the end of the process is recorded. Until then, a closed run may be followed by another run."""
        return (await self._repositories.processes.get(process_id)).ended_at is not None

    async def _postpone(self, stored: StoredMessage, trouble: _Trouble) -> StoredMessage:
        messages = self._repositories.messages
        gives_up = trouble.answered and stored.failures + 1 >= SET_ASIDE_AFTER
        set_aside = gives_up or stored.set_aside_at is not None
        await messages.postpone(
            stored.id,
            SET_ASIDE_SECONDS if set_aside else _delay(stored),
            trouble=trouble.what,
            failed=trouble.answered,
            set_aside=set_aside,
        )
        if set_aside and stored.set_aside_at is None:
            log.error("message set aside", why=trouble.what, tries=stored.attempts, **_named(stored))
            await self._tell_operators(stored, "set_aside")
        else:
            log.warning("message waits", why=trouble.what, tries=stored.attempts, **_named(stored))
        return await messages.get(stored.id)

    async def _wait_after_reset(self, stored: StoredMessage, why: str) -> StoredMessage:
        """Let the message and the later ones of its lane wait. After many attempts the message is set aside."""
        set_aside = stored.attempts >= SET_ASIDE_AFTER
        seconds = SET_ASIDE_SECONDS if set_aside else _delay(stored)
        await self._repositories.messages.postpone(stored.id, seconds, trouble=why, set_aside=set_aside)
        log.info("message waits after a reset", why=why, tries=stored.attempts, **_named(stored))
        return await self._repositories.messages.get(stored.id)

    async def _seat_has_another_person(self, stored: StoredMessage) -> bool:
        """Whether somebody else has the author's seat now. After a reset other people may be chosen."""
        of, _, person = stored.author_id.partition(":")
        seats = await self._repositories.seats.seats(stored.process_id) if of == "participant" else []
        return any(seat.alias == stored.author.alias and seat.person != person for seat in seats)

    async def _overtake(self, applied: StoredMessage) -> None:
        """Refuse the earlier messages of the lane that were set aside, because `applied` was applied after them."""
        for earlier in await self._repositories.messages.set_aside_before(applied):
            verdict = await self._outcome(earlier) or MessageVerdict.refused(Refusal.OVERTAKEN)
            await self._repositories.messages.verdict(earlier, verdict)
            if verdict.code == Refusal.OVERTAKEN:
                log.error("message refused: a later one was applied", **_named(earlier))

    async def _outcome(self, stored: StoredMessage) -> MessageVerdict | None:
        """Return the verdict of an earlier attempt that timed out here; None if the workflow never received it."""
        update = self.client.get_workflow_handle(stored.process_id).get_update_handle(
            _update_id(stored), result_type=MessageVerdict
        )
        try:
            verdict: MessageVerdict = await update.result(rpc_timeout=timedelta(seconds=_OUTCOME_SECONDS))
            return verdict
        except WorkflowUpdateFailedError as failed:
            answer = _refusal(failed)
            return answer if isinstance(answer, MessageVerdict) else None
        except (RPCError, WorkflowUpdateRPCTimeoutOrCancelledError):
            return None

    async def _tell_operators(self, stored: StoredMessage, what: str) -> None:
        about = {"what": what, "kind": stored.kind}
        await self._repositories.notifications.tell(
            Notice(source=f"message/{stored.id}", person=OPERATORS, process_id=stored.process_id, about=about)
        )


async def _wake_at(stop: asyncio.Event, watch: Watch) -> None:
    await stop.wait()
    watch.wake()


_CLOSED: Final = _Trouble("run_closed")
"""The run accepted the message and closed before it answered. It may have continued as new."""


def _refusal(failed: WorkflowUpdateFailedError) -> MessageVerdict | _Trouble:
    """Return the verdict if the workflow itself refused the update. Any other error of an update is a `_Trouble`."""
    cause = failed.cause
    if not isinstance(cause, ApplicationError):
        return _Trouble("failed", answered=True)
    if cause.type == "AcceptedUpdateCompletedWorkflow":
        return _CLOSED
    if cause.type == REFUSED and cause.details:
        with suppress(ValidationError):
            return MessageVerdict.model_validate(cause.details[0])
    return _Trouble(cause.type or "failed", answered=True)


def _update_id(stored: StoredMessage) -> str:
    """Return the id of the message's update. After a reset Temporal may hold the former update and never answer it."""
    return f"{stored.id}/{stored.sent_again}" if stored.sent_again else stored.id


def _delay(stored: StoredMessage) -> float:
    return RETRY_SECONDS[min(stored.attempts, len(RETRY_SECONDS)) - 1]


def _named(stored: StoredMessage) -> dict[str, str]:
    return {"message": stored.id, "process": stored.process_id, "kind": stored.kind, "lane": stored.lane}
