"""Resuming suspended processes in bulk, once a cause that many share is mended (docs/operations.md)."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import Caller, permit
from tongyao.app.context import AppContext
from tongyao.app.errors import Problem
from tongyao.app.messaging.messages import send_message
from tongyao.app.messaging.records_follow import wait_for_records
from tongyao.app.messaging.wire import MESSAGE_BODY
from tongyao.protocol.model.value import Value


class Resumed(Value):
    """`result`: `applied`, `waiting` for a worker, the code of a refusal, or `would be resumed` of a dry run."""

    process_id: str
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
) -> list[Resumed]:
    """Send `resume` to every open process that is suspended, newest first.

    `cause`: only those with a cause of this code. `only`: only this process. `dry_run`: only list them. The same `key` resumes none of them twice.
    It returns when the records show what is resumed, or after as long as a message waits for its verdict.
    """
    permit(caller, Action.LIST_PROCESSES)
    body = MESSAGE_BODY.validate_python({"kind": "resume"})
    done: list[Resumed] = []
    applied: list[str] = []
    async for row in context.repositories.processes.every(open=True, suspended=True, cause=cause, scene=scene):
        if only not in (None, row.id):
            continue
        result = "would be resumed"
        if not dry_run:
            try:
                receipt = await send_message(context, caller, row.id, body, key=key, via=via)
                result = receipt.state
                applied += [receipt.id] if result == "applied" else []
            except Problem as refused:  # it has gone on, or ended, meanwhile
                result = refused.code
        done.append(Resumed(process_id=row.id, suspended=row.suspended, result=result))
    with suppress(TimeoutError):
        async with asyncio.timeout(context.options.answer_seconds):
            for message in applied:
                await wait_for_records(context, message, seconds=context.options.answer_seconds)
    return done
