"""Figures over all processes, for operators."""

from __future__ import annotations

from fastapi import APIRouter

from tongyao.app.operators.operations import Operations, read_operations
from tongyao.gateway.api.common import Caller, Context

router = APIRouter(prefix="/operations", tags=["operations"])


@router.get("")
async def show_operations(context: Context, caller: Caller) -> Operations:
    """What runs, waits, is suspended by cause, has failed; model calls and messages of the last day. No text of a person."""
    return await read_operations(context, caller)
