"""Whether the records show what a message changed: a process decides at once, and its records follow a moment later."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final

from tongyao.app.context import AppContext
from tongyao.protocol.model.events import Ask, EventKind
from tongyao.protocol.model.ids import child_id
from tongyao.protocol.model.process import Phase
from tongyao.protocol.model.tension import Tension
from tongyao.records.process.messages import MessageUnknown, StoredMessage

_MOST_BEHIND: Final = timedelta(minutes=2)
"""An older message is taken as shown: what it changed may have been changed again since."""
_SKEW: Final = timedelta(minutes=1)
"""Largest difference of the clocks of the records and the process."""


async def wait_for_records(context: AppContext, message_id: str, *, seconds: float) -> None:
    """Return when the records show what this message changed, or after so many seconds."""
    stored = await context.repositories.messages.get(message_id)
    with suppress(TimeoutError), context.repositories.changes.watch(stored.process_id) as watch:
        async with asyncio.timeout(seconds):
            while await _behind(context, stored):
                await watch.wait(0.5)


async def not_shown_yet(context: AppContext, process_id: str, message_id: str) -> StoredMessage | None:
    """This message, while the records do not show yet what it changes; also while it has no verdict.

    None for a message that is shown, was refused, is of another process or does not exist.
    """
    try:
        stored = await context.repositories.messages.get(message_id)
    except MessageUnknown:
        return None
    return stored if stored.process_id == process_id and await _behind(context, stored) else None


async def tension_sent(context: AppContext, stored: StoredMessage) -> Tension | None:
    """The tension that a revision carries; None for other messages, and where it was erased."""
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
    """Whether the confirmation that waits is due no earlier than this message asked for."""
    least = stored.created_at + timedelta(seconds=int(stored.payload["seconds"])) - _SKEW
    waiting = await context.repositories.inbox.of_process(stored.process_id, open_only=True)
    return not any(
        step.ask == Ask.CONFIRM_TENSION and step.due_at is not None and step.due_at < least for step in waiting
    )


async def _child_decided(context: AppContext, stored: StoredMessage) -> bool:
    """Whether the residual of this message has its process, or the records say that it gets none."""
    residual = stored.payload["residual"]
    children = await context.repositories.lineage.children(stored.process_id)
    if any(child.id == child_id(stored.process_id, residual) for child in children):
        return True
    refused = await context.repositories.events.of_kind(stored.process_id, EventKind.CHILD_REFUSED)
    return any(
        refusal.at >= stored.created_at - _SKEW and refusal.data.get("residual") == residual for refusal in refused
    )
