"""The page of the plan (claims with their sources, tasks, residuals), downloads, and the page of a delivery."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response
from starlette.datastructures import FormData

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import ProcessAccess
from tongyao.app.errors import BadInput, NotFound, Problem, Refused, validated
from tongyao.app.feedback import read_feedback
from tongyao.app.messaging.body_conversion import checked_key
from tongyao.app.messaging.messages import send_message
from tongyao.app.messaging.records_follow import wait_for_records
from tongyao.app.processes import party_view, read_delivery
from tongyao.gateway.console import asks, reading
from tongyao.gateway.console.afterwards import afterwards, answered_until, say_what_came, tell_those_who_commit
from tongyao.gateway.console.pages import go_to, page
from tongyao.gateway.console.report import report_html
from tongyao.gateway.console.visit import Form, SignedIn, Visit, text_in
from tongyao.protocol.documents.plan_answers import own_answer_in_words
from tongyao.protocol.model.ids import Id, child_id, hole_of
from tongyao.protocol.model.messages import MAX_CONTACT, MESSAGE_BODY
from tongyao.protocol.model.plan import Plan
from tongyao.protocol.rules.read_access import PartyView

router = APIRouter(prefix="/processes/{process_id}")


@router.get("/plan")
async def show_plan(visit: SignedIn, process_id: Id, done: str = "") -> Response:
    return await _plan(visit, process_id, done=done[:20])


@router.post("/plan")
async def tell_what_came(visit: SignedIn, form: Form, process_id: Id) -> Response:
    """Store the visitor's feedback on the plan, or the contact for people who commit. It replaces the earlier one."""
    tells = text_in(form, "answer") == "contact"
    try:
        await (tell_those_who_commit if tells else say_what_came)(visit, process_id, form)
    except BadInput as problem:
        return await _plan(visit, process_id, problem=problem)
    return go_to(f"/processes/{process_id}/plan?done={'contact' if tells else 'came_of_it'}")


@router.get("/plan.md")
async def download_markdown(visit: SignedIn, process_id: Id) -> Response:
    _, _, plan = await _read(visit, process_id)
    return _file(plan.markdown, "text/markdown; charset=utf-8", f"{process_id}-plan.md")


@router.get("/report.html")
async def download_report(visit: SignedIn, process_id: Id) -> Response:
    """Return the report with everything that the visitor may see, without the audit, which is for operators."""
    access, view, _ = await _read(visit, process_id)
    report = report_html(view, language=visit.language, max_rounds=access.process.max_rounds)
    return _file(report, "text/html; charset=utf-8", f"{process_id}-report.html")


@router.post("/residuals")
async def take_back(visit: SignedIn, form: Form, process_id: Id) -> Response:
    """Take a residual back to the field. A child process starts with it."""
    residual = text_in(form, "residual")
    key = checked_key(text_in(form, "key"))
    try:
        body = validated(MESSAGE_BODY, {"kind": "approve_residual", "residual": residual})
        receipt = await send_message(visit.context, visit.caller, process_id, body, key=key, via="console")
        there = receipt.id == child_id(process_id, residual)  # true if the process has ended: the child was started
        if receipt.state == "applied" and not there:
            await wait_for_records(visit.context, receipt.id, seconds=visit.context.options.answer_seconds)
    except (BadInput, Refused) as problem:
        return await _plan(visit, process_id, problem=problem)
    return go_to(f"/processes/{process_id}/plan#{_place_of(residual)}")


def _place_of(residual: str) -> str:
    """Return the anchor of the page's section with this residual."""
    return "declined" if hole_of(residual) else "open"


async def _plan(visit: Visit, process_id: str, *, done: str = "", problem: Problem | None = None) -> Response:
    access, view, plan = await _read(visit, process_id)
    return page(
        visit,
        "plan.html",
        problem=problem,
        done=done,
        view=view,
        plan=plan,
        title=reading.title_of(view),
        **reading.plan_values(view, plan),
        now=await afterwards(visit, access, view),
        until=await answered_until(visit, process_id),
    )


async def _read(visit: Visit, process_id: str) -> tuple[ProcessAccess, PartyView, Plan]:
    """Return the access, the view and the plan. Raises `NotFound` if there is no plan that the visitor may see."""
    access = await visit.access(process_id, Action.READ_PLAN)
    view = await party_view(visit.context.repositories, access)
    if view.plan is None:
        raise NotFound("no_plan_yet", f"{process_id} has no plan (yet)")
    return access, view, view.plan


def _file(text: str, kind: str, name: str) -> Response:
    """Return a download. Characters of `name` other than ASCII letters, digits, `.`, `-` and `_` become `-`."""
    safe = "".join(letter if letter.isascii() and (letter.isalnum() or letter in ".-_") else "-" for letter in name)
    return Response(text, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{safe}"'})


delivery_routes = APIRouter(prefix="/processes/{process_id}/delivery")


@delivery_routes.get("")
async def show_delivery(visit: SignedIn, process_id: Id, done: str = "") -> Response:
    return await _page(visit, process_id, done=done[:20])


@delivery_routes.post("")
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
    """Send an answer to the plan. Raises `BadInput` if the field of another answer contains text, which would be lost.

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
