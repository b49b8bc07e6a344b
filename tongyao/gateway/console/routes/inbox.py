"""The inbox, the first page of everybody: what waits for the visitor, most urgent first, answered in place."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query
from fastapi.responses import Response
from starlette.datastructures import FormData

from tongyao.app.action_permissions import Action
from tongyao.app.errors import BadInput, Problem, Refused
from tongyao.app.messaging.own_words import preview
from tongyao.app.messaging.wire import Id
from tongyao.app.people.consents import ConsentBody, set_consent
from tongyao.gateway.access.action_marks import action
from tongyao.gateway.console import asks
from tongyao.gateway.console.asks import Answering, keep_draft, one_waiting, projection_message, waiting
from tongyao.gateway.console.home import Home, home_of
from tongyao.gateway.console.pages import go_to, page
from tongyao.gateway.console.visit import Form, SignedIn, Visit, dollars_in, lines_in, text_in
from tongyao.protocol.rules.consent import Consent

router = APIRouter()


@router.get("/", openapi_extra=action(Action.READ_INBOX))
async def show_inbox(
    visit: SignedIn,
    done: Annotated[str, Query(max_length=20, pattern="^[a-z_]*$")] = "",
    of: Annotated[str, Query(max_length=200)] = "",
    round: Annotated[int, Query(ge=0, le=1_000)] = 0,
    decided: Annotated[str, Query(max_length=300)] = "",
) -> Response:
    """`done`: what was just answered. `of`: in which process. `round`: in which words count that came late. `decided`: the id of the
    ask that was just answered, which the records may still hold open.
    """
    found, total = await waiting(visit)
    asks = [one for one in found if one.id != decided]
    total -= len(found) - len(asks)
    home = await home_of(visit, asks)
    return page(
        visit, "inbox.html", asks=asks, total=total, done=_since(done, of, asks, home), of=of, round=round, home=home
    )


def _since(done: str, of: str, asks: list[Answering], home: Home) -> str:
    """What was just answered in a round, and whether that round has closed since: the next one asks already, or the plan is written."""
    if done not in ("send", "nothing_new", "proxy") or not of:
        return done
    waiting = [one.ask for one in asks if one.ask.process_id == of]
    if any(one.ask == "projection" for one in waiting) and done != "proxy":
        return f"{done}_next"
    written = any(one.ask == "answer" for one in waiting) or any(one.id == of for one in home.plans)
    return f"{done}_over" if written else done


@router.get("/asks/{process_id}/{ask}/{number}", openapi_extra=action(Action.READ_INBOX))
async def show_ask(visit: SignedIn, process_id: Id, ask: Id, number: int) -> Response:
    return page(visit, "ask.html", one=await one_waiting(visit, process_id, ask, number))


@router.post("/asks/{process_id}/projection/{number}", openapi_extra=action(Action.SEND_MESSAGE))
async def answer_turn(visit: SignedIn, form: Form, process_id: Id, number: int) -> Response:
    """What somebody says in a round, or does instead. Every button keeps what is written, too."""
    one = await one_waiting(visit, process_id, "projection", number)
    do = text_in(form, "do")
    if "words" in form:
        await keep_draft(visit, one, form)
    if do == "keep":
        return Response(status_code=204)
    if do == "preview":
        one.preview = await preview(visit.context, visit.caller, process_id, one.words, _names(form))
        return page(visit, "ask.html", one=one)
    if do == "leave":
        one.leaving = True
        return page(visit, "ask.html", one=one)
    try:
        message = _message(do, one)
        if message["kind"] == "submit_projection" and not message.get("nothing_new"):
            message["names"] = _names(form)
        receipt = await asks.send(visit, process_id, message, form)
    except (BadInput, Refused) as problem:
        return _again(visit, one, problem, form)
    if do in ("send", "leave_now"):
        await visit.context.repositories.drafts.remove(visit.caller.person, one.id)
    done = "waiting" if receipt.state == "waiting" else "later" if receipt.later else do
    done = "gap" if one.ask.of_gaps and done != "waiting" else done
    over = f"&decided={quote(one.id, safe='')}" if do in ("proxy", "leave_now") else ""
    return go_to(f"/?done={done}&of={quote(process_id)}&round={receipt.round or 0}{over}")


@router.post("/asks/{process_id}/{ask}/{number}", openapi_extra=action(Action.SEND_MESSAGE))
async def answer_other(visit: SignedIn, form: Form, process_id: Id, ask: Id, number: int) -> Response:
    """A decision, a residual, a yes or no."""
    one = await one_waiting(visit, process_id, ask, number)
    try:
        message = _choice(one, form)
        if text_in(form, "do") == "scene" and one.ask.consent is not None:
            allow = ConsentBody(consent=Consent.ALLOW)
            await set_consent(visit.context, visit.caller, visit.caller.person, one.ask.consent.scene, allow)
        receipt = await asks.send(visit, process_id, message, form)
    except (BadInput, Refused) as problem:
        return _again(visit, one, problem, form)
    answered = f"consent_{text_in(form, 'do')}" if ask == "consent" else "answered"
    return go_to(f"/?done={'waiting' if receipt.state == 'waiting' else answered}&decided={quote(one.id, safe='')}")


def _names(form: Form) -> list[str] | None:
    """The names that the author confirmed for these words; None where they have not seen a preview of them."""
    if "names" not in form or text_in(form, "previewed").split() != text_in(form, "words").split():
        return None
    return lines_in(form, "names")


def _message(do: str, one: Answering) -> dict[str, Any]:
    match do:
        case "send":
            return projection_message(one)
        case "nothing_new":
            return {"kind": "submit_projection", "round": one.ask.round, "nothing_new": True}
        case "proxy":
            return {"kind": "switch_endpoint", "endpoint": "proxy"}
        case "more_time":
            return {"kind": "extend_deadline", "seconds": turn_seconds(one)}
        case "leave_now":
            return {"kind": "leave"}
    raise BadInput("no_such_answer", "choose one of the buttons", field="do")


def turn_seconds(one: Answering) -> int:
    """The length of the turn: as much may be added, once."""
    if one.ask.due_at is None:
        return one.ask.remaining_seconds or 3600
    due, opened = datetime.fromisoformat(one.ask.due_at), datetime.fromisoformat(one.ask.opened_at)
    return max(60, int((due - opened).total_seconds()))


def _choice(one: Answering, form: FormData) -> dict[str, Any]:
    do = text_in(form, "do")
    match one.ask.ask:
        case "decision" if do in ("replan", "conclude"):
            return _replan(one) if do == "replan" else {"kind": "conclude"}
        case "decision":
            return _decision(do, form)
        case "residual" | "hole" if do in ("yes", "no"):
            return {"kind": "approve_residual", "residual": one.ask.subject, "approve": do == "yes"}
        case "hole" if do == "replan":
            return _replan(one)
        case "consent" if do in ("once", "scene", "myself", "no"):
            speaks = {"endpoint": "human"} if do == "myself" else {}
            return {"kind": "consent", "allow": do != "no", "invitation": one.ask.round, **speaks}
        case "resume":
            return {"kind": "resume"}
        case "confirm_tension":
            return {"kind": "confirm_tension"}
    raise BadInput("no_such_answer", "choose one of the buttons", field="do")


def _decision(do: str, form: FormData) -> dict[str, Any]:
    message: dict[str, Any] = {"kind": "decide", "decision": do}
    if do == "add_participants":
        message["participants"] = [one for one in form.getlist("person") if isinstance(one, str)]
    if do == "raise_budget":
        given = {"tokens": text_in(form, "tokens").strip(), "cost": dollars_in(form, "cost")}
        message |= {name: limit for name, limit in given.items() if limit}
    return message


def _replan(one: Answering) -> dict[str, Any]:
    answers = one.ask.view.answers if one.ask.view and one.ask.view.answers else {}
    return {
        "kind": "replan",
        "without": [alias for alias, answer in answers.items() if answer == "decline"],
        "proposals": [alias for alias, answer in answers.items() if answer == "propose"],
    }


def _again(visit: Visit, one: Answering, problem: Problem, form: FormData) -> Response:
    """The same page with what was wrong; nothing that was written is lost."""
    one.problem = problem
    return page(visit, "ask.html", status=409 if isinstance(problem, Refused) else 422, one=one, written=form)
