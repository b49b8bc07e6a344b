"""The page of one process, its buttons, and the stream that notifies the page of changes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query
from fastapi.responses import Response
from sse_starlette import EventSourceResponse, ServerSentEvent

from tongyao.app.action_permissions import Action, Role
from tongyao.app.authorization import ProcessAccess
from tongyao.app.choosing.choices import engine_of
from tongyao.app.errors import BadInput, Problem, Refused, Unavailable, validated
from tongyao.app.forks import ForkBody, fork_process
from tongyao.app.messaging.party_events import MAX_TOKEN, read_history
from tongyao.app.messaging.records_follow import not_shown_yet
from tongyao.app.processes import ProcessSummary, list_processes, party_view, read_process, summary
from tongyao.app.why import Why, why_for
from tongyao.gateway.access.authentication import session_of
from tongyao.gateway.console import asks, reading
from tongyao.gateway.console.afterwards import afterwards, answered_until
from tongyao.gateway.console.live import Live
from tongyao.gateway.console.pages import SharedPage, go_to, in_temporal, shared_page
from tongyao.gateway.console.visit import Form, SignedIn, Visit, text_in
from tongyao.protocol.documents.plan_answers import answered_by, own_answer_in_words
from tongyao.protocol.life.asks import moment
from tongyao.protocol.model.ids import Id
from tongyao.protocol.model.process import Phase
from tongyao.protocol.rules.read_access import PartyView
from tongyao.records.database import RecordsError
from tongyao.single_flight import SingleFlight

router = APIRouter(prefix="/processes")

_WHY_SECONDS: Final = 2.0
_CHECK_SECONDS: Final = 15.0
MESSAGES: Final[dict[str, dict[str, Any]]] = {
    "conclude": {"kind": "conclude"},
    "cancel": {"kind": "cancel"},
    "resume": {"kind": "resume"},
    "take_over": {"kind": "switch_endpoint", "endpoint": "human"},
    "proxy": {"kind": "switch_endpoint", "endpoint": "proxy"},
    "leave": {"kind": "leave"},
}
"""The messages that the buttons of the page send."""
_WHILE: Final = {
    "confirm_tension": (Phase.CONFIRMING, Phase.DISCOVERING),
    "select_participants": (Phase.SELECTING, Phase.CONSENTING),
    "conclude": (Phase.CRYSTALLIZING,),
}
"""For each message, the phases in which its receipt is shown. Afterwards the page itself shows the effect."""
_FOUND: Final = 3
"""Limit of the claims of a child's plan on the page of its parent."""
_CHOSEN: Final = (Phase.SELECTING, Phase.CRYSTALLIZING)
"""The phases in which the page shows the demander how many of the chosen people gave their consent."""


@router.get("/{process_id}")
async def show_process(
    visit: SignedIn,
    process_id: Id,
    message: Annotated[str, Query(max_length=200)] = "",
    sure: Annotated[str, Query(pattern="^(leave|cancel|)$")] = "",
) -> Response:
    shared: SingleFlight[SharedPage] = visit.request.app.state.process_pages
    key = (visit.reader, process_id, message, sure)
    made = await shared.get_later(key, lambda: _page(visit, process_id, message=message, sure=sure))
    return made.of(visit)


@router.post("/{process_id}")
async def act(visit: SignedIn, form: Form, process_id: Id) -> Response:
    """Send the message of a button. `leave` and `cancel` need a confirmation first."""
    do = text_in(form, "do")
    if do not in MESSAGES:
        raise BadInput("no_such_answer", "choose one of the buttons", field="do")
    if do in ("leave", "cancel") and text_in(form, "sure") != "yes":
        return go_to(f"/processes/{process_id}?sure={do}#acts")
    try:
        shown = {"ask": text_in(form, "ask")} if do == "conclude" else {}
        receipt = await asks.send(visit, process_id, MESSAGES[do] | shown, form)
    except Refused as refused:
        return (await _page(visit, process_id, problem=refused)).of(visit, status=409)
    return go_to(f"/processes/{process_id}?message={receipt.id}")


@router.post("/{process_id}/fork")
async def what_if(visit: SignedIn, form: Form, process_id: Id) -> Response:
    """Start a fork of the process with the changes in the form."""
    rounds = text_in(form, "max_rounds").strip()
    given = {
        "round": text_in(form, "round").strip() or "1",
        "without": [one for one in form.getlist("without") if isinstance(one, str)],
        "settings": {"max_rounds": rounds} if rounds else {},
    }
    try:
        body = validated(ForkBody, given)
        forked = await fork_process(visit.context, visit.caller, process_id, body, key=text_in(form, "key") or None)
    except BadInput as problem:
        return (await _page(visit, process_id, problem=problem)).of(visit, status=422)
    return go_to(f"/processes/{forked.id}")


async def _page(
    visit: Visit,
    process_id: str,
    *,
    message: str = "",
    sure: str = "",
    problem: Problem | None = None,
) -> SharedPage:
    # The events are read first, so none of them is newer than the view.
    history = await read_history(visit.context, visit.caller, process_id, limit=None)
    access = await visit.access(process_id)
    view = await party_view(visit.context.repositories, access)
    aliases, rounds = reading.grid(view)
    receipt = await asks.receipt_of(visit, message)
    behind = receipt is not None and await not_shown_yet(visit.context, process_id, message) is not None
    if receipt is not None and receipt.kind in _WHILE and view.phase not in _WHILE[receipt.kind] and not behind:
        receipt = None  # the page itself shows the effect
    shown = await summary(visit.context.repositories, access)
    mine = await asks.waiting_in(visit, process_id) if shown.waits_for_you and not behind else None
    seen = reading.observations(view)
    return shared_page(
        visit,
        "process.html",
        view=view,
        access=access,
        received=bool(await visit.context.repositories.inbox.received(process_id, access.alias)),
        answers_said=_answers_said(visit, view),
        consents=reading.consents(history.events) if access.role is Role.DEMANDER and view.phase in _CHOSEN else None,
        summary=shown,
        shown_event=history.next or "",
        mine=mine.model_copy(update={"view": view}) if mine else None,
        others_until=await answered_until(visit, process_id) if mine and mine.ask != "answer" else None,
        place_of_ask=asks.place_of,
        title=reading.title_of(view),
        why=await _why(visit, access),
        step=reading.step_of(view.phase),
        steps=reading.STEPS,
        without_model=await engine_of(visit.context.repositories, process_id, "observe") == "extractive",
        stands=reading.table(view),
        observed=seen[-1] if seen else None,
        earlier=seen[-2::-1],
        matrix=reading.matrix(view),
        sources=reading.sources_of(view),
        cited=reading.cited,
        concludes=moment("conclude", Phase.CRYSTALLIZING, view.round, 0),
        own_turn=f"/asks/{process_id}/{asks.own_turn(access, view.round).id}",
        aliases=aliases,
        rounds=rounds,
        own=reading.own_in(view, view.round),
        last_said=reading.last_said(view),
        max_rounds=access.process.max_rounds,
        budget=access.process.settings.get("cost_budget"),
        costs=visit.context.models_cost,
        receipt=receipt,
        behind=behind,
        sure=sure,
        problem=problem,
        speaks=await _speaks(visit, access),
        forks=await _forks(visit, access),
        is_demander=access.role is Role.DEMANDER,
        children=await _branches(visit, access, view),
        now=await afterwards(visit, access, view),
        is_operator=access.role is Role.OPERATOR,
        in_temporal=in_temporal(visit.context.temporal_ui, process_id) if access.role is Role.OPERATOR else "",
        ended=access.process.ended_at,
    )


def _answers_said(visit: Visit, view: PartyView) -> str:
    """Return a sentence about the answers to the plan: for the demander about all, for a participant about their
    own."""
    if view.asked:
        return answered_by(reading.answers_in(view), visit.language, still_open=view.phase is Phase.ANSWERING)
    told = view.own_answer in ("possible", "over", "unasked")
    return own_answer_in_words(view.own_answer, visit.language) if view.own_answer and told else ""


@dataclass(frozen=True)
class Branch:
    """A child of a process, with its children. `found`: the first possible results of its plan, unless the plan above
    already cites this child."""

    id: str
    title: str
    phase: str
    found: tuple[str, ...]
    children: tuple[Branch, ...]


async def _branches(visit: Visit, access: ProcessAccess, view: PartyView) -> tuple[Branch, ...]:
    """Return the tree below a process. Empty for a participant."""
    return () if access.role is Role.PARTICIPANT else await _below(visit, access.process.id, view)


async def _below(visit: Visit, process_id: str, above: PartyView) -> tuple[Branch, ...]:
    folded = {source.split("/")[0] for claim in (above.plan.claims() if above.plan else ()) for source in claim.sources}
    branches = []
    for child in (await list_processes(visit.context.repositories, visit.caller, parent=process_id)).processes:
        view = await read_process(visit.context.repositories, visit.caller, child.id)
        found = view.plan.possible[:_FOUND] if view.plan and child.id not in folded else ()
        children = await _below(visit, child.id, view)
        branches.append(
            Branch(child.id, reading.title_of(view), child.phase, tuple(claim.text for claim in found), children)
        )
    return tuple(branches)


async def _speaks(visit: Visit, access: ProcessAccess) -> str:
    """Return the visitor's endpoint: `proxy`, `human` or `agent`. Empty without a seat."""
    seats = await visit.context.repositories.seats.seats(access.process.id) if access.seated else []
    return next((seat.endpoint for seat in seats if seat.alias == access.alias), "")


async def _forks(visit: Visit, access: ProcessAccess) -> list[ProcessSummary]:
    """Return the forks of a process. Empty for a participant."""
    if access.role is Role.PARTICIPANT:
        return []
    return (await list_processes(visit.context.repositories, visit.caller, origin=access.process.id)).processes


async def _why(visit: Visit, access: ProcessAccess) -> Why | None:
    """Return the reason why the process waits; None if the workflow cannot be reached."""
    try:
        async with asyncio.timeout(_WHY_SECONDS):
            return await why_for(visit.context, access, language=visit.language)
    except (Unavailable, TimeoutError):
        return None


@router.get("/{process_id}/live")
async def stream_changes(
    visit: SignedIn, process_id: Id, shown: Annotated[str | None, Query(max_length=MAX_TOKEN)] = None
) -> Response:
    """Stream the server-sent event `changed` when the page has something new. Ends with the session.

    `shown`: the last event that the page takes into account. After the end of the process the answer is 204.
    """
    live: Live = visit.request.app.state.live
    access = await visit.access(process_id, Action.READ_EVENTS)
    if access.process.ended_at is not None:
        return Response(status_code=204)
    live.admit(visit.caller)
    return EventSourceResponse(_changes(visit, live, process_id, shown), ping=15)


async def _still_signed_in(visit: Visit) -> bool:
    """Return whether the session is valid. True while the records are unavailable; the stream then sends nothing."""
    try:
        return not (await session_of(visit.context, visit.request))[0].anonymous
    except RecordsError:
        return True


async def _changes(visit: Visit, live: Live, process_id: str, shown: str | None) -> AsyncIterator[ServerSentEvent]:
    with live.counted(visit.caller):
        changes = live.changes(visit.caller, process_id, shown)
        following = asyncio.ensure_future(anext(changes))
        try:
            check_at = 0.0
            while True:
                if time.monotonic() >= check_at:
                    if not await _still_signed_in(visit):
                        return
                    check_at = time.monotonic() + _CHECK_SECONDS
                done, _ = await asyncio.wait({following}, timeout=check_at - time.monotonic())
                if done:
                    following.result()
                    yield ServerSentEvent("", event="changed")
                    following = asyncio.ensure_future(anext(changes))
        except RecordsError:
            return  # the browser opens the stream again by itself
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
            await changes.aclose()  # type: ignore[attr-defined]  # it is a generator
