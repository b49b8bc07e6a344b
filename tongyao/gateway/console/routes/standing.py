"""The page of standing tensions: the visitor's, and those that the visitor could answer (docs/protocol.md §7.8)."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response
from pydantic import ValidationError

from tongyao.app.errors import BadInput, Problem, not_valid
from tongyao.app.standing import KeepLookingBody, keep_looking, read_standing, step_forward
from tongyao.gateway.console.asks import scene_titles
from tongyao.gateway.console.pages import go_to, page
from tongyao.gateway.console.visit import Form, SignedIn, Visit, text_in

router = APIRouter(prefix="/standing")


@router.get("")
async def show_standing(visit: SignedIn, done: str = "") -> Response:
    return await _page(visit, done=done[:20])


@router.post("")
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
        return await _page(visit, problem=problem)
    except ValidationError as error:
        return await _page(visit, problem=not_valid(error))
    return go_to(f"/standing?done={do}")


async def _page(visit: Visit, *, done: str = "", problem: Problem | None = None) -> Response:
    await visit.limits.count_search(visit.caller)
    found = await read_standing(visit.context, visit.caller)
    status = 422 if problem is not None else 200
    titles = await scene_titles(visit)
    return page(visit, "standing.html", status=status, found=found, done=done, problem=problem, scenes=titles)
