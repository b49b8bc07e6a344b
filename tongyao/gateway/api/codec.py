"""The codec server for Temporal's command line, whose users bring an operator's token (docs/temporal.md §3)."""

from __future__ import annotations

from fastapi import APIRouter

from tongyao.app.operators.payloads import decode_payloads, encode_payloads
from tongyao.gateway.api.common import Caller, Context
from tongyao.gateway.codec import WirePayloads, wired

router = APIRouter(prefix="/codec", tags=["operations"])


@router.post("/decode")
async def decode(context: Context, caller: Caller, payloads: WirePayloads) -> WirePayloads:
    """Decrypt payloads of Temporal. Who did it, and how many, stands in the operators' log."""
    return wired(await decode_payloads(context, caller, payloads.read(), via="api"))


@router.post("/encode")
async def encode(context: Context, caller: Caller, payloads: WirePayloads) -> WirePayloads:
    """Encrypt payloads, for signals that are sent by hand."""
    return wired(await encode_payloads(context, caller, payloads.read()))
