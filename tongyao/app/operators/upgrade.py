"""Moving open processes to the newest rules in bulk (docs/operations.md §5)."""

from __future__ import annotations

import asyncio
from typing import Final

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import Caller, permit
from tongyao.app.context import AppContext
from tongyao.app.errors import Problem
from tongyao.protocol.model.messages import Author, Upgrade
from tongyao.protocol.model.value import Value
from tongyao.protocol.rules.refusals import Verdict

AT_ONCE: Final = 8
"""Messages that are sent side by side."""

WAIT_SECONDS: Final = 8.0
"""Seconds that each process is waited for. The message is stored before, so the relay delivers it later."""


class Upgraded(Value):
    """`result`: `applied`, `waiting` for a worker, the code of a refusal, or `would be upgraded` of a dry run."""

    process_id: str
    phase: str
    result: str


async def upgrade(
    context: AppContext, caller: Caller, *, key: str, only: str | None = None, dry_run: bool = False, via: str
) -> list[Upgraded]:
    """Send `upgrade` to every open process, newest first: each continues as new once no step of it runs.

    `only`: only this process. `dry_run`: only list them. The same `key` upgrades none of them twice.
    """
    permit(caller, Action.LIST_PROCESSES)
    message = Upgrade(key=key, author=Author(role="operator"))
    free = asyncio.Semaphore(AT_ONCE)

    async def upgrade_process(process_id: str, phase: str) -> Upgraded:
        result = "would be upgraded"
        if not dry_run:
            async with free:
                try:
                    sent = await context.relay.send(
                        process_id, message, author_id=caller.id, via=via, login=caller.login, wait=WAIT_SECONDS
                    )
                    result = _result(sent.verdict)
                except Problem as refused:
                    result = refused.code
        return Upgraded(process_id=process_id, phase=phase, result=result)

    open_processes = [row async for row in context.repositories.processes.every(open=True) if only in (None, row.id)]
    return list(await asyncio.gather(*(upgrade_process(row.id, row.phase) for row in open_processes)))


def _result(verdict: Verdict | None) -> str:
    if verdict is None:
        return "waiting"
    return "applied" if verdict.accepted else verdict.code
