"""Sign-in with a personal link, a token or OpenID Connect, registration, sign-out, and the choice of the language."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import asdict, replace
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query
from fastapi.responses import RedirectResponse, Response
from itsdangerous import BadData, URLSafeTimedSerializer

from tongyao.app.context import OpenIDAccount, OpenIDFlow
from tongyao.app.errors import BadInput, NotSignedIn, Problem, Unauthenticated, validated
from tongyao.app.people.openid import connect_account, issue_openid_link, openid_provider
from tongyao.app.people.profiles import RegisterBody, people_by_scene, register
from tongyao.app.people.sessions import MOST_DAYS, close_session, open_session
from tongyao.gateway.access.authentication import SESSION, caller_of, place_of
from tongyao.gateway.console.asks import scenes_there
from tongyao.gateway.console.pages import go_to, page
from tongyao.gateway.console.texts import preferred
from tongyao.gateway.console.visit import (
    BASE,
    LANGUAGE,
    AnyVisit,
    Form,
    Visit,
    keep,
    signed_in,
    text_in,
)
from tongyao.protocol.rules.consent import Origin
from tongyao.records.people.tokens import Issued

router = APIRouter()


@router.get("/enter")
async def show_way_in(
    visit: AnyVisit,
    link: Annotated[str, Query(max_length=200)] = "",
    done: Annotated[str, Query(pattern="^(erased|)$")] = "",
) -> Response:
    """Show the sign-in page. `done`: the action that has just ended.

    A GET does not use up a personal link, because programs that scan mail also follow links.
    """
    return await _way_in(visit, link=link, done=done)


async def _way_in(
    visit: Visit,
    *,
    link: str = "",
    done: str = "",
    failed: bool = False,
    given: dict[str, str] | None = None,
    problem: Problem | None = None,
) -> Response:
    """Return the sign-in page. `failed`: the link or token was invalid. Then the page offers no registration."""
    scenes = await scenes_there(visit) if visit.context.registration_open and not failed else []
    people = await people_by_scene(visit.context) if scenes else {}
    return page(
        visit,
        "enter.html",
        status=401 if failed else 200,
        link=link,
        done=done,
        failed=failed,
        scenes=scenes,
        people=people,
        fullest=max((scene.id for scene in scenes if not scene.sample), key=lambda id: people.get(id, 0), default=""),
        mail_here="mail" in visit.context.notifiers,
        hours=visit.context.options.session_hours,
        openid=visit.context.openid,
        given=given or {},
        problem=problem,
    )


@router.post("/enter")
async def come_in(visit: AnyVisit, form: Form) -> Response:
    try:
        return await begin_session(visit, text_in(form, "secret").strip())
    except Unauthenticated:
        return await _way_in(visit, failed=True)


@router.post("/join")
async def join(visit: AnyVisit, form: Form) -> Response:
    """Register a person from an introduction, and open a session. The next page shows the person's token once."""
    await visit.count_registration()
    given = {name: text_in(form, name).strip() for name in ("scene", "name", "text", "email")}
    try:
        body = validated(RegisterBody, {**given, "email": given["email"] or None})
        made = await register(visit.context, visit.caller, body, key=text_in(form, "key") or None, origin=Origin.API)
    except BadInput as problem:
        return await _way_in(visit, given=given, problem=problem)
    if made.token is None:  # the form was sent twice, and the first session has begun already
        return go_to("/")
    issued = await _opened(visit, made.token)
    inside = replace(visit, secret=issued.secret, token=issued.token, caller=caller_of(issued.token))
    response = page(inside, "welcome.html", key=made.token, until=issued.token.expires_at)
    _keep_session(response, visit, issued)
    return response


async def begin_session(visit: Visit, secret: str, *, hours: int | None = None) -> RedirectResponse:
    """Open a session with a link or a token. An earlier session of this browser ends. Raises `Unauthenticated`."""
    issued = await _opened(visit, secret, hours)
    response = go_to("/calls" if issued.token.role == "calls" else "/")
    _keep_session(response, visit, issued)
    return response


async def _opened(visit: Visit, secret: str, hours: int | None = None) -> Issued:
    issued = await open_session(visit.context, secret, place=place_of(visit.request), hours=hours)
    await close_session(visit.context, visit.secret)
    return issued


def _keep_session(response: Response, visit: Visit, issued: Issued) -> None:
    """Set the session cookie for `MOST_DAYS`. The records decide when the session ends, and extend a session in use."""
    keep(response, visit, SESSION, issued.secret, seconds=MOST_DAYS * 24 * 3600)


@router.post("/leave")
async def go_out(visit: AnyVisit, form: Form) -> Response:
    await close_session(visit.context, visit.secret)
    response = go_to("/enter")
    response.delete_cookie(SESSION, path=BASE)
    return response


@router.post("/language")
async def choose_language(visit: AnyVisit, form: Form) -> Response:
    back = text_in(form, "back")
    response = go_to(back.removeprefix(BASE) if back.startswith(f"{BASE}/") else "/")
    keep(response, visit, LANGUAGE, preferred(text_in(form, "language"), None), seconds=366 * 24 * 3600)
    return response


openid_routes = APIRouter(prefix="/openid")

_SECONDS: Final = 600
"""Limit of a sign-in. After this time it must be begun again."""


@openid_routes.get("")
async def go_to_provider(visit: AnyVisit, connect: Annotated[bool, Query()] = False) -> Response:
    """Redirect to the provider for a sign-in, or with `connect` to connect an account with the visitor."""
    if connect:
        await signed_in(visit)
    state = _signer(visit, "state").dumps([secrets.token_urlsafe(16), connect])
    response = RedirectResponse(await openid_provider(visit.context).authorization_url(_flow(visit, state)), 303)
    if not visit.signed_in:
        keep(response, visit, SESSION, visit.secret)
    return response


@openid_routes.get("/back")
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


@openid_routes.post("")
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
