"""Behind `log` (what operators did), `project-again` (the records made anew from a workflow) and `signal` (a payload signed).

docs/operations.md §6.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tongyao.commands.context import OPERATOR, app_context, records_context
from tongyao.records.process.operators import OperatorAct


async def acts(process: str | None, operator: str | None, limit: int) -> list[OperatorAct]:
    async with records_context() as context:
        return await context.repositories.operators.acts(process_id=process, login=operator, limit=limit)


async def project_process_again(process: str) -> int:
    from tongyao.app.operators.project_again import project_again

    async with app_context() as context:
        return await project_again(context.repositories, context.client, process, login=OPERATOR.login, via="cli")


async def signed(process: str, kind: str, payload: dict[str, Any], lifetime: timedelta) -> dict[str, Any]:
    from tongyao.app.operators.signals import signed_payload

    async with app_context() as context:
        return await signed_payload(context, OPERATOR, process, kind, payload, lifetime=lifetime)
