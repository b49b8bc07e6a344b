"""The plan: every claim with what it rests on, the tasks, what nobody here has, and the same as a file to keep."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from tongyao.app.action_permissions import Action, Role
from tongyao.app.authorization import ProcessAccess, authorize_in_process
from tongyao.app.choosing.child_cost import ChildCost, child_cost
from tongyao.app.choosing.open_residuals import open_residuals
from tongyao.app.errors import NotFound, Refused
from tongyao.app.messaging.messages import send_message
from tongyao.app.messaging.party_events import read_history
from tongyao.app.messaging.wire import MESSAGE_BODY, Id, checked_key
from tongyao.app.processes import party_view
from tongyao.gateway.api.common import action
from tongyao.gateway.console import plans, reading
from tongyao.gateway.console.pages import go_to, page
from tongyao.gateway.console.report import report_html
from tongyao.gateway.console.visit import Form, SignedIn, Visit, text_in
from tongyao.protocol.model.plan import Plan
from tongyao.protocol.rules.read_access import PartyView

router = APIRouter(prefix="/processes/{process_id}")


@router.get("/plan", openapi_extra=action(Action.READ_PLAN))
async def show_plan(visit: SignedIn, process_id: Id) -> Response:
    return await _plan(visit, process_id)


@router.get("/plan.md", openapi_extra=action(Action.READ_PLAN))
async def download_markdown(visit: SignedIn, process_id: Id) -> Response:
    _, _, plan = await _read(visit, process_id)
    return _file(plan.markdown, "text/markdown; charset=utf-8", f"{process_id}-plan.md")


@router.get("/report.html", openapi_extra=action(Action.READ_PLAN))
async def download_report(visit: SignedIn, process_id: Id) -> Response:
    """Of what the visitor may see; without the audit, which is the operators'."""
    access, view, _ = await _read(visit, process_id)
    history = await read_history(visit.context, visit.caller, process_id, limit=500)
    limit = int(access.process.settings.get("max_rounds") or 7)
    report = report_html(view, language=visit.language, news=reading.news_by_round(history.events), max_rounds=limit)
    return _file(report, "text/html; charset=utf-8", f"{process_id}-report.html")


@router.post("/residuals", openapi_extra=action(Action.SEND_MESSAGE))
async def take_back(visit: SignedIn, form: Form, process_id: Id) -> Response:
    """Take a residual back to the field: a process of its own begins with it."""
    body = MESSAGE_BODY.validate_python({"kind": "approve_residual", "residual": text_in(form, "residual")})
    key = checked_key(text_in(form, "key"))
    try:
        await send_message(visit.context, visit.caller, process_id, body, key=key, via="console")
    except Refused as refused:
        return await _plan(visit, process_id, refused=refused)
    return go_to(f"/processes/{process_id}/plan#lacking")


async def _plan(visit: Visit, process_id: str, *, refused: Refused | None = None) -> Response:
    access, view, plan = await _read(visit, process_id)
    repositories = visit.context.repositories
    asked: list[str] = []
    children: list[str] = []
    cost: ChildCost | None = None
    if access.role is Role.DEMANDER:
        open_asks = await repositories.inbox.of_process(process_id, open_only=True)
        asked = [one.subject for one in open_asks if one.ask == "residual"]
        asked += [one.id for one in await open_residuals(repositories, access.process)]
        cost = await child_cost(visit.context, access) if asked else None
        children = [row.id for row in await repositories.lineage.children(process_id)]
    return page(
        visit,
        "plan.html",
        status=409 if refused else 200,
        refused=refused,
        view=view,
        plan=plan,
        title=reading.title_of(view) or process_id,
        **plans.values_of(view, plan),
        residuals=plans.residual_states(process_id, plan, asked=asked, children=children),
        cost=cost,
        is_demander=access.role is Role.DEMANDER,
    )


async def _read(visit: Visit, process_id: str) -> tuple[ProcessAccess, PartyView, Plan]:
    """Raises `NotFound` where there is no plan, or none that the visitor may see."""
    access = await authorize_in_process(visit.context.repositories, visit.caller, process_id, Action.READ_PLAN)
    view = await party_view(visit.context, access)
    if view.plan is None:
        raise NotFound("no_plan_yet", f"{process_id} has no plan (yet)")
    return access, view, view.plan


def _file(text: str, kind: str, name: str) -> Response:
    """A file to keep. `name` holds the id of a process: letters, digits, dots and hyphens."""
    safe = "".join(one if one.isascii() and (one.isalnum() or one in ".-_") else "-" for one in name)
    return Response(text, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{safe}"'})
