"""Sends one message to many open processes: `resume` after a repair, and `upgrade` (docs/operations.md)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import Caller, permit
from tongyao.app.context import AppContext
from tongyao.app.errors import Problem
from tongyao.app.messaging.messages import send_message
from tongyao.app.messaging.records_follow import wait_for_records
from tongyao.protocol.model.messages import MESSAGE_BODY, Author, Upgrade
from tongyao.protocol.model.value import Value
from tongyao.records.process.process_rows import ProcessRow

AT_ONCE: Final = 8
"""Messages that are sent concurrently."""
WAIT_SECONDS: Final = 8.0
"""Seconds to wait for the verdict on an upgrade. The relay delivers the stored message later if needed."""


class SentInBulk(Value):
    """`result`: `applied`, `waiting` for a worker, the code of a refusal, or, in a dry run, the intended action."""

    process_id: str
    phase: str
    suspended: tuple[str, ...]
    result: str


async def resume_all(
    context: AppContext,
    caller: Caller,
    *,
    key: str,
    cause: str | None = None,
    scene: str | None = None,
    only: str | None = None,
    dry_run: bool = False,
    via: str,
) -> list[SentInBulk]:
    """Send `resume` to every suspended open process, newest first. `cause`: only processes with a cause of this code.

    `only`: only this process. `dry_run`: only list the processes. The same `key` resumes no process twice.
    Returns when the records show the effects, or when the time for a verdict is over.
    """
    permit(caller, Action.LIST_PROCESSES)
    body = MESSAGE_BODY.validate_python({"kind": "resume"})
    applied: list[str] = []

    async def resume(process_id: str) -> str:
        receipt = await send_message(context, caller, process_id, body, key=key, via=via)
        applied.extend([receipt.id] if receipt.state == "applied" else [])
        return receipt.state

    wanted = {"suspended": True, "cause": cause, "scene": scene}
    done = await _to_each(context, resume, "" if not dry_run else "would be resumed", only, **wanted)
    with suppress(TimeoutError):
        async with asyncio.timeout(context.options.answer_seconds):
            for message in applied:
                await wait_for_records(context, message, seconds=context.options.answer_seconds)
    return done


async def upgrade(
    context: AppContext, caller: Caller, *, key: str, only: str | None = None, dry_run: bool = False, via: str
) -> list[SentInBulk]:
    """Send `upgrade` to every open process, newest first. Each continues as new when none of its steps runs.

    `only`, `dry_run`, `key`: as for `resume_all`.
    """
    permit(caller, Action.LIST_PROCESSES)
    message = Upgrade(key=key, author=Author(role="operator"))

    async def upgrade_process(process_id: str) -> str:
        sent = await context.relay.send(
            process_id, message, author_id=caller.id, via=via, login=caller.login, wait=WAIT_SECONDS
        )
        if sent.verdict is None:
            return "waiting"
        return "applied" if sent.verdict.accepted else sent.verdict.code

    return await _to_each(context, upgrade_process, "" if not dry_run else "would be upgraded", only)


async def _to_each(
    context: AppContext, send: Callable[[str], Awaitable[str]], instead: str, only: str | None, **wanted: Any
) -> list[SentInBulk]:
    """Call `send` for each open process. In a dry run, `instead` is not empty: it is the result, and nothing is
    sent."""
    free = asyncio.Semaphore(AT_ONCE)

    async def to_one(row: ProcessRow) -> SentInBulk:
        async with free:
            try:
                result = instead or await send(row.id)
            except Problem as refused:  # the process has moved on or ended in the meantime
                result = refused.code
        return SentInBulk(process_id=row.id, phase=row.phase, suspended=row.suspended, result=result)

    every = context.repositories.processes.every(open=True, **wanted)
    rows = [row async for row in every if only in (None, row.id)]
    return list(await asyncio.gather(*(to_one(row) for row in rows)))
