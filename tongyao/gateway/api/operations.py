"""Figures over all processes, for operators."""

from __future__ import annotations

from fastapi import APIRouter

from tongyao.app.action_permissions import Action
from tongyao.app.operators.operations import Operations, read_operations
from tongyao.gateway.access.action_marks import action
from tongyao.gateway.api.common import Caller, Context

router = APIRouter(prefix="/operations", tags=["operations"])


@router.get("", openapi_extra=action(Action.READ_OPERATIONS))
async def show_operations(context: Context, caller: Caller) -> Operations:
    """What runs, waits, is suspended by cause, has failed; model calls and messages of the last day. No text of a person."""
    return await read_operations(context, caller)
