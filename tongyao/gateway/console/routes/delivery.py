"""The page of the visitor's own part of a plan: to read it, to answer it, and to give feedback later."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response
from starlette.datastructures import FormData

from tongyao.app.action_permissions import Action
from tongyao.app.errors import BadInput, Problem, Refused
from tongyao.app.feedback import read_feedback
from tongyao.app.processes import party_view, read_delivery
from tongyao.gateway.console import asks, reading
from tongyao.gateway.console.afterwards import answered_until, say_what_came, tell_those_who_commit
from tongyao.gateway.console.pages import go_to, page
from tongyao.gateway.console.visit import Form, SignedIn, Visit, text_in
from tongyao.protocol.documents.plan_answers import own_answer_in_words
from tongyao.protocol.model.ids import Id
from tongyao.protocol.model.messages import MAX_CONTACT

router = APIRouter(prefix="/processes/{process_id}/delivery")


@router.get("")
async def show_delivery(visit: SignedIn, process_id: Id, done: str = "") -> Response:
    return await _page(visit, process_id, done=done[:20])


@router.post("")
async def answer(visit: SignedIn, form: Form, process_id: Id) -> Response:
    """Take an answer to the plan, a contact, or feedback."""
    do = text_in(form, "answer")
    try:
        if do == "contact":
            await tell_those_who_commit(visit, process_id, form)
            return go_to(f"/processes/{process_id}/delivery?done=contact")
        if do == "came_of_it":
            await say_what_came(visit, process_id, form)
            return go_to(f"/processes/{process_id}/delivery?done=came_of_it")
        await _answer(visit, process_id, do, text_in(form, do), form)
    except (BadInput, Refused) as problem:
        return await _page(visit, process_id, problem=problem, written=form)
    return go_to(f"/processes/{process_id}/delivery?done={do}")


async def _answer(visit: Visit, process_id: str, do: str, words: str, form: FormData) -> None:
    """Send an answer to the plan. Raises `BadInput` if the field of another answer contains text, so no text is lost.

    With a commitment the message contains the contact. With a proposal the contact is stored separately.
    """
    if do not in ("commit", "decline", "propose"):
        raise BadInput("no_such_answer", "choose one of the buttons", field="answer")
    if do == "propose" and not words.strip():
        raise BadInput("proposal_empty", "say what should be different", field="propose")
    if other := next(
        (choice for choice in ("propose", "decline") if choice != do and text_in(form, choice).strip()), ""
    ):
        raise BadInput("words_of_another_answer", "empty the field of the other answer first", field=other)
    contact = text_in(form, "contact")
    if len(contact) > MAX_CONTACT:
        raise BadInput("too_long", f"this is too long: at most {MAX_CONTACT:,} characters", field="contact")
    delivery = await read_delivery(visit.context.repositories, visit.caller, process_id)
    message = {"kind": "answer_plan", "revision": delivery.plan_revision, "answer": do, "text": words}
    if do == "commit":
        message["contact"] = contact
    await asks.send(visit, process_id, message, form)
    if do == "propose":
        await tell_those_who_commit(visit, process_id, form)


async def _page(
    visit: Visit, process_id: str, *, done: str = "", problem: Problem | None = None, written: FormData | None = None
) -> Response:
    """Return the page. `written`: the form of a refused answer."""
    delivery = await read_delivery(visit.context.repositories, visit.caller, process_id)
    access = await visit.access(process_id, Action.READ_DELIVERY)
    view = await party_view(visit.context.repositories, access)
    ask = await asks.waiting_in(visit, process_id, "answer")
    answers = await visit.context.repositories.plans.answers(process_id)
    mine = [given for given in answers if (given.alias, given.revision) == (access.alias, delivery.plan_revision)]
    return page(
        visit,
        "delivery.html",
        view=view,
        delivery=delivery,
        title=reading.title_of(view),
        **reading.delivery_values(view, delivery),
        ask=ask,
        may_answer=ask is not None or view.own_answer == "possible",
        own_answer_in_words=own_answer_in_words,
        answered=mine[-1] if mine else None,
        before=[
            given.decision
            for given in answers
            if given.alias == access.alias and given.revision < delivery.plan_revision
        ],
        told=await read_feedback(visit.context, process_id, access.alias),
        ended=access.process.ended_at,
        until=await answered_until(visit, process_id),
        done=done,
        problem=problem,
        written=written or {},
    )
