"""Sign-in by OpenID Connect: redirect to the provider, return from it, and the page to connect an account.

Nothing is stored between the two requests. `state` is signed with the secret in the browser's cookie. The nonce and the
verifier are computed from both.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import asdict
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query
from fastapi.responses import RedirectResponse, Response
from itsdangerous import BadData, URLSafeTimedSerializer

from tongyao.app.context import OpenIDAccount, OpenIDFlow
from tongyao.app.errors import NotSignedIn
from tongyao.app.people.openid import connect_account, issue_openid_link, openid_provider
from tongyao.gateway.access.authentication import SESSION, place_of
from tongyao.gateway.console.pages import go_to, page
from tongyao.gateway.console.routes.enter import begin_session
from tongyao.gateway.console.visit import BASE, AnyVisit, Form, Visit, keep, signed_in, text_in

router = APIRouter(prefix="/openid")

_SECONDS: Final = 600
"""Limit of a sign-in. After this time it must be begun again."""


@router.get("")
async def go_to_provider(visit: AnyVisit, connect: Annotated[bool, Query()] = False) -> Response:
    """Redirect to the provider, to sign in, or with `connect` to connect an account with the visitor."""
    if connect:
        await signed_in(visit)
    state = _signer(visit, "state").dumps([secrets.token_urlsafe(16), connect])
    response = RedirectResponse(await openid_provider(visit.context).authorization_url(_flow(visit, state)), 303)
    if not visit.signed_in:
        keep(response, visit, SESSION, visit.secret)
    return response


@router.get("/back")
async def come_back(visit: AnyVisit, state: Annotated[str, Query(max_length=500)] = "") -> Response:
    """Take the provider's answer. Opens a session for a known account, and shows a page for any other account."""
    provider = openid_provider(visit.context)
    _, connects = _read(visit, "state", state)
    account = await provider.account(_flow(visit, state), visit.request.url.query)
    if not connects and (link := await issue_openid_link(visit.context, account)) is not None:
        return await begin_session(visit, link.secret, hours=provider.operator_hours if account.operator else None)
    offered = _signer(visit, "account").dumps(asdict(account)) if connects else ""
    return page(
        visit,
        "openid.html",
        status=200 if connects else 403,
        label=provider.label,
        shown=account.shown,
        account=offered,
    )


@router.post("")
async def connect(visit: AnyVisit, form: Form) -> Response:
    """Connect the account that the page showed and the visitor confirmed."""
    account = OpenIDAccount(**_read(visit, "account", text_in(form, "account")))
    await connect_account(visit.context, visit.caller, account)
    return go_to("/me?done=connected")


def _flow(visit: Visit, state: str) -> OpenIDFlow:
    here = visit.context.public_url.rstrip("/") or place_of(visit.request)
    nonce, verifier = (
        hmac.new(visit.secret.encode(), f"{name}/{state}".encode(), hashlib.sha256).hexdigest()
        for name in ("nonce", "verifier")
    )
    return OpenIDFlow(f"{here}{BASE}/openid/back", state, nonce, verifier)


def _signer(visit: Visit, what: str) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(visit.secret, salt=f"tongyao.console.openid.{what}")


def _read(visit: Visit, what: str, signed: str) -> Any:
    """Return the value that was signed for this browser. Raises `NotSignedIn`."""
    try:
        return _signer(visit, what).loads(signed, max_age=_SECONDS)
    except BadData:
        raise NotSignedIn("sign_in_foreign", "this sign-in was not begun in this browser, or too long ago") from None
