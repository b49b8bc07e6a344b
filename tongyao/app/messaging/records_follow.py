"""Checks whether the records show the effect of a message. A process decides at once, and its records follow later."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final

from tongyao.app.context import AppContext
from tongyao.protocol.model.events import AskName, EventKind
from tongyao.protocol.model.ids import child_id
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.tension import Tension
from tongyao.records.process.messages import MessageUnknown, StoredMessage

_MOST_BEHIND: Final = timedelta(minutes=2)
"""The effect of an older message counts as shown, because a later message may have changed the same data."""
_SKEW: Final = timedelta(minutes=1)
"""Largest difference between the clocks of the records and the process."""


async def wait_for_records(context: AppContext, message_id: str, *, seconds: float) -> None:
    """Return when the records show the effect of this message, or after `seconds`."""
    stored = await context.repositories.messages.get(message_id)
    with suppress(TimeoutError), context.repositories.changes.watch(stored.process_id) as watch:
        async with asyncio.timeout(seconds):
            while await _behind(context, stored):
                await watch.wait(0.5)


async def not_shown_yet(context: AppContext, process_id: str, message_id: str) -> StoredMessage | None:
    """Return the message while the records do not show its effect yet, also while it has no verdict.

    None if the effect is shown, or if the message was refused, belongs to another process or does not exist.
    """
    try:
        stored = await context.repositories.messages.get(message_id)
    except MessageUnknown:
        return None
    return stored if stored.process_id == process_id and await _behind(context, stored) else None


async def tension_sent(context: AppContext, stored: StoredMessage) -> Tension | None:
    """Return the tension of a `revise_tension` message; None for another message, or if the tension was erased."""
    if stored.kind != "revise_tension" or stored.text_id is None:
        return None
    texts = await context.repositories.texts.get_many([stored.text_id], erased="")
    return Tension.model_validate_json(texts[stored.text_id]) if texts.get(stored.text_id) else None


async def _behind(context: AppContext, stored: StoredMessage) -> bool:
    if stored.verdict is None:
        stored = await context.repositories.messages.get(stored.id)
    if stored.verdict is None:
        return True
    if not stored.verdict.accepted or datetime.now(UTC) - stored.created_at > _MOST_BEHIND:
        return False
    process = await context.repositories.processes.get(stored.process_id)
    match stored.kind:
        case "revise_tension":
            return process.phase == Phase.CONFIRMING and process.tension_text_id != stored.text_id
        case "confirm_tension":
            return process.phase == Phase.CONFIRMING
        case "select_participants":
            return process.phase == Phase.SELECTING
        case "extend_deadline":
            return process.phase == Phase.CONFIRMING and not await _extended(context, stored)
        case "resume":
            resumed = await context.repositories.events.of_kind(stored.process_id, EventKind.RESUMED)
            return bool(process.suspended) and not any(process.at >= stored.created_at - _SKEW for process in resumed)
        case "approve_residual":
            return not await _child_decided(context, stored)
    return False


async def _extended(context: AppContext, stored: StoredMessage) -> bool:
    """Whether the deadline of the open confirmation is at or after the time that the message requested."""
    least = stored.created_at + timedelta(seconds=int(stored.payload["seconds"])) - _SKEW
    waiting = await context.repositories.inbox.of_process(stored.process_id, open_only=True)
    return not any(
        step.ask == AskName.CONFIRM_TENSION and step.due_at is not None and step.due_at < least for step in waiting
    )


async def _child_decided(context: AppContext, stored: StoredMessage) -> bool:
    """Whether the residual of this message has a child, or the records state that none was started."""
    residual = stored.payload["residual"]
    children = await context.repositories.lineage.children(stored.process_id)
    if any(child.id == child_id(stored.process_id, residual) for child in children):
        return True
    refused = await context.repositories.events.of_kind(stored.process_id, EventKind.CHILD_REFUSED)
    return any(
        refusal.at >= stored.created_at - _SKEW and refusal.data.get("residual") == residual for refusal in refused
    )
