"""The page to start a process: a field for the intent, help with missing parts, and a budget."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from decimal import Decimal
from typing import Any, Final

from fastapi import APIRouter
from fastapi.responses import Response, StreamingResponse

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import permit
from tongyao.app.choosing.intent_help import (
    Found,
    Suggestion,
    ask_engine,
    most_of_reading,
    suggest_from_profile,
)
from tongyao.app.errors import BadInput, NotAllowed, NotOffered, Problem, QuotaReached, Unavailable, validated
from tongyao.app.people.profiles import people_by_scene, read_profile
from tongyao.app.processes import list_processes, read_process
from tongyao.app.start import StartProcessBody, start_process
from tongyao.app.writing import writing
from tongyao.gateway.console.asks import scenes_there
from tongyao.gateway.console.intent_highlights import under
from tongyao.gateway.console.pages import go_to, page, told
from tongyao.gateway.console.texts import say
from tongyao.gateway.console.visit import Form, SignedIn, Visit, dollars_in, text_in
from tongyao.gateway.problems import HttpProblem
from tongyao.protocol.model.tension import Lens

router = APIRouter()

DRAFT: Final = "start"
QUESTIONS: Final = ("changes", "stands", "barriers", "gives")
"""Questions about parts that an intent may lack, in the order T, I, B, E. Answers are added to the field verbatim."""
_EXAMPLES: Final = 4
_COMPARED: Final = 5
"""Number of newest processes whose intents are compared with a form's intent, to find a form that was sent twice."""
NDJSON: Final = "application/x-ndjson"
LENS_OF: Final = dict(zip(Lens, QUESTIONS, strict=True))


@router.get("/start")
async def show_start(visit: SignedIn) -> Response:
    permit(visit.caller, Action.START_PROCESS)
    draft = await visit.context.repositories.drafts.get(_person(visit), DRAFT)
    own = (await read_profile(visit.context, visit.caller, _person(visit))).scene
    return await _page(visit, {"intent": draft.text if draft else "", "scene": own})


@router.post("/start")
async def start(visit: SignedIn, form: Form) -> Response:
    permit(visit.caller, Action.START_PROCESS)
    given = {name: text_in(form, name) for name in ("intent", "scene", "budget", "strategy", *QUESTIONS)}
    intent = _whole(visit, given)
    drafts, do = visit.context.repositories.drafts, text_in(form, "do")
    if intent and do != "ask":
        async with writing(visit.context.repositories, visit.caller):
            await drafts.keep(_person(visit), DRAFT, intent[:100_000])
    if do == "keep":
        return Response(status_code=204)
    if do == "ask":
        return await _asked(visit, given)
    if do == "suggest":
        return await _suggested(visit, {**given, "intent": intent})
    if do == "add":
        return await _page(visit, {**given, "intent": intent})
    if intent and not text_in(form, "again") and (begun := await _begun(visit, intent)):
        await drafts.remove(_person(visit), DRAFT)
        return await _page(visit, {**given, "intent": intent}, begun=begun)
    try:
        body = _body(intent, {**given, "budget": dollars_in(form, "budget")})
        process_id = await start_process(visit.context, visit.caller, body, key=text_in(form, "key") or None)
    except BadInput as problem:
        return await _page(visit, {**given, "intent": intent}, problem=problem)
    await drafts.remove(_person(visit), DRAFT)
    return go_to(f"/processes/{process_id}")


async def _begun(visit: Visit, intent: str) -> str:
    """Return the id of the visitor's open process with this intent (a form sent again), or an empty string."""
    newest = await list_processes(visit.context.repositories, visit.caller, open=True, limit=_COMPARED)
    for process in newest.processes:
        if (await read_process(visit.context.repositories, visit.caller, process.id)).intent == intent:
            return process.id
    return ""


def _whole(visit: Visit, given: dict[str, str]) -> str:
    """Return the words of the field, followed by each answer under a heading of its question."""
    language = visit.language
    parts = [given["intent"].strip()]
    parts += [under(lens, given[name].strip(), language) for lens, name in LENS_OF.items() if given[name].strip()]
    return "\n\n".join(filter(None, parts))


async def _asked(visit: Visit, given: dict[str, str]) -> Response:
    """Let the engine read the intent. A script gets the results as a stream of JSON lines, a browser gets the page."""
    try:
        await visit.limits.count_reading(visit.caller)
        readings = await ask_engine(visit.context, visit.caller, given["intent"])
    except (BadInput, QuotaReached, HttpProblem) as problem:
        if visit.request.headers.get("accept") == NDJSON:
            return _lines(_told(visit, problem))
        return await _page(visit, given, problem=problem)
    if visit.request.headers.get("accept") == NDJSON:
        return _lines(_as_read(visit, readings))
    try:
        found = [partial async for partial in readings][-1]
    except Unavailable as problem:
        return await _page(visit, given, problem=problem)
    return await _page(visit, given, found=found)


async def _suggested(visit: Visit, given: dict[str, str]) -> Response:
    try:
        await visit.limits.count_reading(visit.caller)
        suggestions = await suggest_from_profile(visit.context, visit.caller)
    except (BadInput, NotOffered, QuotaReached, HttpProblem, Unavailable) as problem:
        return await _page(visit, given, problem=problem)
    return await _page(visit, given, suggestions=suggestions)


def _lines(lines: AsyncIterator[str]) -> Response:
    return StreamingResponse(lines, media_type=NDJSON)


async def _as_read(visit: Visit, readings: AsyncIterator[Sequence[Found]]) -> AsyncIterator[str]:
    """Yield JSON lines: each time the results so far by question, at the end `whole`, or after an error `problem`."""
    try:
        async for found in readings:
            yield _line({"found": {LENS_OF[part.lens]: _read_words(visit, part) for part in found}})
    except Unavailable as problem:
        async for line in _told(visit, problem):
            yield line
    else:
        yield _line({"whole": True})


async def _told(visit: Visit, problem: Problem) -> AsyncIterator[str]:
    yield _line({"problem": told(problem, visit.language)})


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"


def _body(intent: str, given: dict[str, str]) -> StartProcessBody:
    """Return the request. In its settings, the demander must confirm each child's tension. Raises `BadInput`."""
    if not intent:
        raise BadInput("intent_missing", "write what you want first, in your own words")
    if not given["scene"]:
        raise BadInput("scene_missing", "choose where people are looked for", field="scene")
    settings: dict[str, Any] = {"confirm_children": True}
    if given["budget"]:
        settings["cost_budget"] = given["budget"]
    named = {name: given[name] for name in ("scene", "strategy")}
    return validated(StartProcessBody, {**named, "intent": intent, "settings": settings})


def _read_words(visit: Visit, found: Found) -> str:
    return say(visit.language, f"start.read_{found.source}", text=found.text)


async def _page(
    visit: Visit,
    given: dict[str, str],
    *,
    found: Sequence[Found] | None = None,
    suggestions: Sequence[Suggestion] | None = None,
    problem: Problem | None = None,
    begun: str = "",
) -> Response:
    """Return the page. `found`: the parts that the intent contains; None if the engine was not asked.

    `suggestions`: intents from the profile, or None. `begun`: the id of an open process with the same intent.
    """
    past = await list_processes(visit.context.repositories, visit.caller, open=False, limit=20)
    costs = sorted(process.cost for process in past.processes if process.cost)
    usual: Decimal | None = costs[len(costs) // 2] if costs else None
    of_all = None if usual else await visit.context.repositories.processes.usual_cost()
    options = visit.context.options
    scenes = await scenes_there(visit)
    return page(
        visit,
        "start.html",
        status=409 if begun else 200,
        begun=begun,
        scenes=scenes,
        examples=[
            words[visit.language] for scene in scenes for words in scene.sample_intents if visit.language in words
        ][:_EXAMPLES],
        given=given,
        suggestions=suggestions,
        questions=QUESTIONS,
        read=None if found is None else {LENS_OF[part.lens]: _read_words(visit, part) for part in found},
        most_of_reading=await most_of_reading(visit.context, visit.caller.person, given["intent"]),
        people=await people_by_scene(visit.context),
        costs=visit.context.models_cost,
        usual=usual,
        of_all=of_all,
        limit=min(options.cost_budget, visit.context.ceilings.cost_budget),
        problem=problem,
    )


def _person(visit: Visit) -> str:
    """Return the visitor's person. Raises `NotAllowed` for operators, who start processes through the API."""
    if not visit.caller.person:
        raise NotAllowed(
            "operators start processes for other people through the API: here you can start one only for yourself"
        )
    return visit.caller.person
