"""Starting a process: one box, one button; what the intent may still lack; what it may cost."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response
from pydantic import ValidationError

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import permit
from tongyao.app.choosing.intent_help import LENSES, Found, read_intent
from tongyao.app.errors import BadInput, NotAllowed, Problem, not_valid
from tongyao.app.people.profiles import list_scenes
from tongyao.app.processes import list_processes
from tongyao.app.start import StartProcessBody, start_process
from tongyao.gateway.api.common import action
from tongyao.gateway.console.pages import go_to, page
from tongyao.gateway.console.texts import say
from tongyao.gateway.console.visit import Form, SignedIn, Visit, text_in

router = APIRouter()

DRAFT: Final = "start"
QUESTIONS: Final = ("changes", "stands", "barriers", "gives")
"""What an intent may still lack, in the order T, I, B, E; each answer is added to the box in the person's own words."""
LENS_OF: Final = dict(zip(LENSES, QUESTIONS, strict=True))


@router.get("/start", openapi_extra=action(Action.START_PROCESS))
async def show_start(visit: SignedIn) -> Response:
    permit(visit.caller, Action.START_PROCESS)
    draft = await visit.context.repositories.drafts.get(_person(visit), DRAFT)
    return await _page(visit, {"intent": draft.text if draft else ""})


@router.post("/start", openapi_extra=action(Action.START_PROCESS))
async def start(visit: SignedIn, form: Form) -> Response:
    permit(visit.caller, Action.START_PROCESS)
    given = {name: text_in(form, name) for name in ("intent", "scene", "budget", "strategy", *QUESTIONS)}
    intent = "\n".join(one.strip() for one in (given["intent"], *(given[name] for name in QUESTIONS)) if one.strip())
    drafts, do = visit.context.repositories.drafts, text_in(form, "do")
    if intent and do != "read":
        await drafts.keep(_person(visit), DRAFT, intent[:100_000])
    if do == "keep":
        return Response(status_code=204)
    if do == "read":
        found = await read_intent(visit.context, visit.caller, given["intent"])
        if visit.request.headers.get("accept") == "application/json":
            return JSONResponse({LENS_OF[one.lens]: _read_words(visit, one) for one in found})
        return await _page(visit, given, found=found)
    if do == "add":
        return await _page(visit, {**given, "intent": intent})
    try:
        body = _body(intent, given)
        process_id = await start_process(visit.context, visit.caller, body, key=text_in(form, "key") or None)
    except BadInput as problem:
        return await _page(visit, {**given, "intent": intent}, problem=problem)
    await drafts.remove(_person(visit), DRAFT)
    return go_to(f"/processes/{process_id}")


def _body(intent: str, given: dict[str, str]) -> StartProcessBody:
    """Raises `BadInput`."""
    if not intent:
        raise BadInput("intent_missing", "write what you want first, in your own words")
    if not given["scene"]:
        raise BadInput("scene_missing", "choose where people are looked for", field="scene")
    settings: dict[str, Any] = {"cost_budget": given["budget"].strip()} if given["budget"].strip() else {}
    try:
        return StartProcessBody(intent=intent, scene=given["scene"], strategy=given["strategy"], settings=settings)
    except ValidationError as error:
        raise not_valid(error) from None


def _read_words(visit: Visit, one: Found) -> str:
    return say(visit.language, f"start.read_{one.source}", text=one.text)


async def _page(
    visit: Visit, given: dict[str, str], *, found: Sequence[Found] | None = None, problem: Problem | None = None
) -> Response:
    """`found`: what the intent says already; None: nobody has asked."""
    past = await list_processes(visit.context, visit.caller, open=False, limit=20)
    costs = sorted(one.cost for one in past.processes if one.cost)
    usual: Decimal | None = costs[len(costs) // 2] if costs else None
    return page(
        visit,
        "start.html",
        status=422 if problem else 200,
        scenes=await list_scenes(visit.context),
        given=given,
        questions=QUESTIONS,
        read=None if found is None else {LENS_OF[one.lens]: _read_words(visit, one) for one in found},
        reads=visit.context.sort_intent is not None,
        usual=usual,
        problem=problem,
    )


def _person(visit: Visit) -> str:
    """Raises `NotAllowed` for operators, who start processes for somebody by the API."""
    if not visit.caller.person:
        raise NotAllowed("operators start processes for people by the API: here it is for yourself only")
    return visit.caller.person
