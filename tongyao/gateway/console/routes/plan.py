"""The page of the plan: claims with their sources, tasks, residuals; and downloads of the plan and of a report."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from tongyao.app.action_permissions import Action
from tongyao.app.authorization import ProcessAccess
from tongyao.app.errors import BadInput, NotFound, Problem, Refused, validated
from tongyao.app.messaging.messages import send_message
from tongyao.app.messaging.records_follow import wait_for_records
from tongyao.app.messaging.wire import checked_key
from tongyao.app.processes import party_view
from tongyao.gateway.console import reading
from tongyao.gateway.console.afterwards import afterwards, answered_until, say_what_came, tell_those_who_commit
from tongyao.gateway.console.pages import go_to, page
from tongyao.gateway.console.report import report_html
from tongyao.gateway.console.visit import Form, SignedIn, Visit, text_in
from tongyao.protocol.model.ids import Id, child_id, hole_of
from tongyao.protocol.model.messages import MESSAGE_BODY
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
    """Return the section of the page that shows this residual."""
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
