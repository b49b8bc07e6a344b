"""Routes for operators: figures of all processes, and the codec server for Temporal's CLI (docs/temporal.md §3)."""

from __future__ import annotations

from fastapi import APIRouter

from tongyao.app.operators.operations import Operations, decode_payloads, read_operations
from tongyao.gateway.api.common import Caller, Context
from tongyao.gateway.codec import WirePayloads, wired

router = APIRouter(prefix="/operations", tags=["operations"])
codec = APIRouter(prefix="/codec", tags=["operations"])
"""A router without the check of query parameters, because Temporal's UI and command line choose their parameters."""


@router.get("")
async def show_operations(context: Context, caller: Caller) -> Operations:
    """Numbers of processes by state and by cause of suspension. Figures of the last day's model calls and messages."""
    return await read_operations(context, caller)


@codec.post("/decode")
async def decode(context: Context, caller: Caller, payloads: WirePayloads) -> WirePayloads:
    """Decrypt payloads of Temporal. The operators' log records the caller and the number of payloads."""
    return wired(await decode_payloads(context, caller, payloads.read(), via="api"))
