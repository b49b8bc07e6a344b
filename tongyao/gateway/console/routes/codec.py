"""The codec server for the Temporal Web UI. It authenticates by the operator's console cookie (docs/temporal.md §3)."""

from __future__ import annotations

from fastapi import APIRouter, Request

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import permit
from tongyao.app.operators.payloads import decode_payloads, encode_payloads
from tongyao.gateway.access.codec_cors import origin_of
from tongyao.gateway.codec import WirePayloads, wired
from tongyao.gateway.console.visit import SignedIn, Visit
from tongyao.gateway.problems import HttpProblem

router = APIRouter(prefix="/codec")


@router.post("/decode")
async def decode(request: Request, visit: SignedIn, payloads: WirePayloads) -> WirePayloads:
    _of_the_ui(request, visit)
    return wired(await decode_payloads(visit.context, visit.caller, payloads.read(), via="temporal_ui"))


@router.post("/encode")
async def encode(request: Request, visit: SignedIn, payloads: WirePayloads) -> WirePayloads:
    _of_the_ui(request, visit)
    return wired(await encode_payloads(visit.context, visit.caller, payloads.read()))


def _of_the_ui(request: Request, visit: Visit) -> None:
    """Raise `HttpProblem` (403) if the page is not the Web UI's. A browser sends the cookie for all pages of a site."""
    permit(visit.caller, Action.DECODE_PAYLOADS)
    ui = origin_of(visit.context.temporal_ui)
    if not ui or request.headers.get("origin") != ui:
        raise HttpProblem(
            403, "not_the_temporal_ui", "only pages at the address in TONGYAO_TEMPORAL_UI_URL may send requests here"
        )
