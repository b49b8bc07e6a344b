"""Sign-in with a personal link or a token, registration, sign-out, and the choice of the language."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import RedirectResponse, Response

from tongyao.app.errors import BadInput, Problem, Unauthenticated, validated
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
