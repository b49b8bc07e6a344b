"""The visitor's own pages: profile, mandate, words of the proxy, channels, agent, devices, export, erasure, and
standing tensions.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakValueDictionary

from fastapi import APIRouter
from fastapi.responses import Response
from pydantic import ValidationError
from starlette.datastructures import FormData

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import authorize_for_profile
from tongyao.app.errors import BadInput, NotFound, Problem, not_valid, validated
from tongyao.app.notifications import channels
from tongyao.app.people import agents, erasure, profiles, tokens
from tongyao.app.people.consents import SceneConsentBody, read_consents, set_consent
from tongyao.app.people.openid import connected_account, disconnect_account
from tongyao.app.people.sessions import issue_link, link_address
from tongyao.app.standing import KeepLookingBody, keep_looking, read_standing, step_forward
from tongyao.gateway.access.authentication import SESSION, place_of
from tongyao.gateway.console.asks import scene_titles
from tongyao.gateway.console.pages import go_to, page
from tongyao.gateway.console.visit import BASE, Form, SignedIn, Visit, lines_in, text_in
from tongyao.gateway.long_json import long_json
from tongyao.protocol.model.projection import Item, Projection

router = APIRouter(prefix="/me")

_MOST_VERSIONS: Final = 10
_MOST_SAID: Final = 40
_MOST_CHARS: Final = 10_000
"""Characters of each version of a profile on the page. The export contains the whole text."""


@dataclass(frozen=True)
class Said:
    """One item that was said for the visitor, and its turn."""

    process_id: str
    turn: Projection
    item: Item


@router.get("")
async def show_me(visit: SignedIn, done: str = "") -> Response:
    return await _page(visit, done=done[:20])


@router.post("")
async def change(visit: SignedIn, form: Form) -> Response:
    """Take any form of the page. The field `do` names the form."""
    do = text_in(form, "do")
    try:
        if do == "link":
            issued = await issue_link(visit.context, visit.caller, visit.caller.person)
            return await _page(visit, link=link_address(place_of(visit.request), issued.secret))
        if do == "erase":
            return await _erase(visit, form)
        done = await _write_profile(visit, form) if do == "profile" else await _change(visit, do, form)
    except BadInput as problem:
        return await _page(visit, problem=problem, refused=form)
    return go_to(f"/me?done={done}")


async def _write_profile(visit: Visit, form: FormData) -> str:
    """Store the profile. Returns the change: `same`, `profile` or `name`. Raises `BadInput`, also for an old form."""
    context, caller, me = visit.context, visit.caller, visit.caller.person
    text, name = text_in(form, "text").strip(), text_in(form, "name").strip()
    if not text:
        raise BadInput("profile_empty", "the profile is empty: write who you are and what you do", field="text")
    async with _one_at_a_time(me):
        kept = await profiles.read_profile(context, caller, me)
        if (text, name or kept.name) == (kept.text, kept.name):
            return "same"
        if text_in(form, "version") != str(kept.version):
            raise BadInput("profile_older", "another version was saved after this form was opened", field="version")
        written = await profiles.write_profile(
            context, caller, me, validated(profiles.ProfileBody, {"text": text, "name": name or None})
        )
    return "profile" if written.version != kept.version else "name"


async def _change(visit: Visit, do: str, form: FormData) -> str:
    context, caller, me = visit.context, visit.caller, visit.caller.person
    match do:
        case "mandate":
            await profiles.set_mandate(context, caller, me, _mandate(form))
        case "consent":
            said = validated(SceneConsentBody, {"consent": text_in(form, "consent")})
            await set_consent(context, caller, me, text_in(form, "scene"), said)
        case "mail":
            await visit.count_registration()
            address = validated(channels.MailBody, {"address": text_in(form, "address").strip()})
            await channels.set_mail(context, caller, me, address, language=visit.language)
        case "code":
            code = validated(channels.CodeBody, {"code": text_in(form, "code").strip()})
            await channels.confirm(context, caller, me, "mail", code)
        case "no_mail":
            await channels.remove_channel(context, caller, me, "mail")
        case "no_agent":
            await agents.remove_source(context, caller, me)
        case "no_account":
            await disconnect_account(context, caller)
        case "revoke":
            await tokens.revoke_token(context, caller, text_in(form, "token"))
        case _:
            raise BadInput("no_such_answer", "choose one of the buttons", field="do")
    return do


def _mandate(form: FormData) -> profiles.MandateBody:
    lists = {name: lines_in(form, name) for name in ("topics", "never", "answerers")}
    given = {"may_speak": text_in(form, "may_speak") == "yes", "addition": text_in(form, "addition"), **lists}
    return validated(profiles.MandateBody, given)


async def _erase(visit: Visit, form: FormData) -> Response:
    """Erase the visitor. The visitor must type a word of the page, because the erasure cannot be undone."""
    if text_in(form, "sure").strip().lower() not in ("erase", "抹去"):
        raise BadInput("not_sure", "type the word to say that you mean it", field="sure")
    await erasure.erase_soon(visit.context, visit.caller, visit.caller.person)
    response = go_to("/enter?done=erased")
    response.delete_cookie(SESSION, path=BASE)
    return response


@router.get("/export")
async def export(visit: SignedIn) -> Response:
    """Return all stored data of the visitor as a file."""
    async with _one_at_a_time(visit.caller.person):
        found = await profiles.export_profile(visit.context, visit.caller, visit.caller.person)
    return long_json(found, indent=1, headers={"Content-Disposition": 'attachment; filename="tongyao-export.json"'})


async def _page(
    visit: Visit, *, done: str = "", link: str = "", problem: Problem | None = None, refused: FormData | None = None
) -> Response:
    """Return the page. `refused`: the form that caused the `problem`."""
    authorize_for_profile(visit.caller, visit.caller.person, Action.READ_PROFILE_TEXT)
    async with _one_at_a_time(visit.caller.person):
        return await _made(visit, done=done, link=link, problem=problem, refused=refused)


async def _made(visit: Visit, *, done: str, link: str, problem: Problem | None, refused: FormData | None) -> Response:
    context, caller, me = visit.context, visit.caller, visit.caller.person
    try:
        agent = await agents.read_source(context, caller, me)
    except NotFound:
        agent = None
    return page(
        visit,
        "me.html",
        profile=await profiles.read_profile(context, caller, me),
        versions=await _versions(visit),
        most_versions=_MOST_VERSIONS,
        most_chars=_MOST_CHARS,
        consents=await read_consents(context, caller, me),
        scenes=await scene_titles(visit),
        mandate=await profiles.read_mandate(context, caller, me),
        said=await _said(visit),
        channels=await channels.list_channels(context, caller, me),
        mail_here="mail" in context.notifiers,
        agent=agent,
        openid=context.openid,
        account=await connected_account(context, caller),
        tokens=[
            token for token in await tokens.list_tokens(context, caller) if not (token.revoked_at or token.expired)
        ],
        done=done,
        link=link,
        problem=problem,
        wrong=text_in(refused, "do") if refused else "",
        refused=refused,
    )


async def _said(visit: Visit) -> list[Said]:
    """Return the latest items that were said for the visitor, at most `_MOST_SAID`, newest process first."""
    context, caller, me = visit.context, visit.caller, visit.caller.person
    return [
        Said(process_id, turn, item)
        for process_id, found in (await profiles.said_for(context, caller, me)).items()
        for turn in found.turns
        for item in turn.items
    ][:_MOST_SAID]


async def _versions(visit: Visit) -> list[dict[str, Any]]:
    """Return every version of the profile. The newest versions have the beginning of their text."""
    context, caller, me = visit.context, visit.caller, visit.caller.person
    kept = [version.model_dump() for version in await profiles.list_versions(context, caller, me)]
    for version in kept[-_MOST_VERSIONS:]:
        version["text"] = (await profiles.read_version(context, caller, me, version["version"]))[: _MOST_CHARS + 1]
    return kept


_PAGES: Final = WeakValueDictionary[str, asyncio.Lock]()


def _one_at_a_time(person: str) -> asyncio.Lock:
    """Return a person's lock for making this page or an export. Both hold all texts of the person in memory."""
    return _PAGES.setdefault(person, asyncio.Lock())


standing_routes = APIRouter(prefix="/standing")


@standing_routes.get("")
async def show_standing(visit: SignedIn, done: str = "") -> Response:
    return await _standing_page(visit, done=done[:20])


@standing_routes.post("")
async def change_standing(visit: SignedIn, form: Form) -> Response:
    """Take any form of the page. The field `do` names the form."""
    do = text_in(form, "do")
    try:
        if do == "forward":
            await visit.limits.count_search(visit.caller)
            await step_forward(visit.context, visit.caller, text_in(form, "standing"))
        elif do in ("keep", "show", "hide", "close"):
            visible = {"show": True, "hide": False}.get(do)
            body = KeepLookingBody(residual=text_in(form, "residual"), looking=do != "close", visible=visible)
            await keep_looking(visit.context, visit.caller, text_in(form, "process"), body)
        else:
            raise BadInput("no_such_answer", "choose one of the buttons", field="do")
    except BadInput as problem:
        return await _standing_page(visit, problem=problem)
    except ValidationError as error:
        return await _standing_page(visit, problem=not_valid(error))
    return go_to(f"/standing?done={do}")


async def _standing_page(visit: Visit, *, done: str = "", problem: Problem | None = None) -> Response:
    await visit.limits.count_search(visit.caller)
    found = await read_standing(visit.context, visit.caller)
    status = 422 if problem is not None else 200
    titles = await scene_titles(visit)
    return page(visit, "standing.html", status=status, found=found, done=done, problem=problem, scenes=titles)
